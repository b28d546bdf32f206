#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "serve/http/http.h"

namespace headlight::serve {

HttpResponse json_response(std::string json);

// An answer in JSON: whole, or as server-sent events.
class JsonAnswer {
 public:
  explicit JsonAnswer(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}

  void send(std::string json) { exchange_->send(json_response(std::move(json))); }
  // An event.
  void tell(std::string_view json);
  // Behind the last one.
  void end();
  // With the exception that is being handled: as a whole answer, or as the last event.
  void fail();

 private:
  std::shared_ptr<HttpExchange> exchange_;
  bool has_begun_ = false;
};

}  // namespace headlight::serve
