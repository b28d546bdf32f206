#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "serve/http/http.h"

namespace headlight::serve {

HttpResponse json_response(std::string json);

// JSON answer: one body, or server-sent events.
class JsonAnswer {
 public:
  explicit JsonAnswer(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}

  void send(std::string json) { exchange_->send(json_response(std::move(json))); }
  // Sends an event.
  void tell(std::string_view json);
  // Sends [DONE] after the last event.
  void end();
  // Sends the exception being handled: as the whole answer, or as the last event.
  void fail();

 private:
  std::shared_ptr<HttpExchange> exchange_;
  bool has_begun_ = false;
};

}  // namespace headlight::serve
