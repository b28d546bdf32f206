#include "serve/http/http_answer.h"

#include <boost/beast/http/status.hpp>
#include <cstdio>

namespace headlight::serve {
namespace {

// Returns "Not Found" for 404.
std::string_view status_name(int status) {
  const auto name =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {name.data(), name.size()};
}

}  // namespace

std::string answer_head(const HttpResponse& response,
                        std::initializer_list<HttpHeaders> more_headers, BodyFraming framing,
                        bool keeps_connection) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     std::string(status_name(response.status)) + "\r\n";
  const auto add = [&](const HttpHeaders& headers) {
    for (const auto& [name, value] : headers) {
      head += name + ": " + value + "\r\n";
    }
  };
  add(response.headers);
  for (const HttpHeaders& headers : more_headers) {
    add(headers);
  }
  if (framing == BodyFraming::length) {
    add({{"Content-Length", std::to_string(response.body.size())}});
  } else if (framing == BodyFraming::chunks) {
    add({{"Transfer-Encoding", "chunked"}});
  }
  add({{"Connection", keeps_connection ? "keep-alive" : "close"}});
  return head + "\r\n";
}

std::string body_chunk(std::string_view piece) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  return size + std::string(piece) + "\r\n";
}

std::string last_chunk() { return "0\r\n\r\n"; }

}  // namespace headlight::serve
