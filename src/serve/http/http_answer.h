#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "serve/http/http.h"

// Bytes of an HTTP/1.1 answer (RFC 9112).
namespace headlight::serve {

enum class BodyFraming {
  length,     // Content-Length
  chunks,     // chunked
  until_end,  // the connection's end ends the body, for HTTP/1.0
};

// Returns the status line and the headers, with the empty line after them.
std::string answer_head(const HttpResponse& response,
                        std::initializer_list<HttpHeaders> more_headers, BodyFraming framing,
                        bool keeps_connection);
// Returns a chunk; an empty one ends the body.
std::string body_chunk(std::string_view piece);

}  // namespace headlight::serve
