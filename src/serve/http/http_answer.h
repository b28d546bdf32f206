#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "serve/http/http.h"

// The bytes of an answer (RFC 9112).
namespace headlight::serve {

enum class BodyFraming {
  length,     // Content-Length tells it
  chunks,     // in pieces, of which the last is empty
  until_end,  // of the connection: HTTP/1.0 knows no chunks
};

// With its empty line.
std::string answer_head(const HttpResponse& response,
                        std::initializer_list<HttpHeaders> more_headers, BodyFraming framing,
                        bool keeps_connection);
// A piece that is not empty.
std::string body_chunk(std::string_view piece);
std::string last_chunk();

}  // namespace headlight::serve
