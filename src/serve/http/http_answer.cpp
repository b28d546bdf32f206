#include "serve/http/http_answer.h"

#include <boost/beast/http/status.hpp>
#include <cstdio>

namespace headlight::serve {
std::string answer_head(const HttpResponse& response,
                        std::initializer_list<HttpHeaders> more_headers, BodyFraming framing,
                        bool keeps_connection) {
  using boost::beast::http::status;
  const auto reason = boost::beast::http::obsolete_reason(static_cast<status>(response.status));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     std::string(reason.data(), reason.size()) + "\r\n";
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

}  // namespace headlight::serve
