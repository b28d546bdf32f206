#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "serve/http/exchange.h"

namespace headlight::serve {

HttpResponse json_response(std::string json);

// Returns a server-sent event with JSON. `name`: its type; "": none.
std::string event_text(std::string_view json, std::string_view name = {});

// JSON answer: one body, or server-sent events.
class JsonAnswer {
 public:
  explicit JsonAnswer(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}

  void send(std::string json) { exchange_->send(json_response(std::move(json))); }
  // Announces events. While none comes, the client gets comments.
  void await_events();
  // Sends an event.
  void send_event(std::string_view json, std::string_view name = {});
  // Ends the events, after [DONE] if `is_reported`.
  void end(bool is_reported = true);
  // Sends the exception being handled: as the whole answer, or as the last event, whose text
  // `event` returns for the error of an error_response().
  void fail(const std::function<std::string(int status, const Json& error)>& event);
  void fail();

 private:
  std::shared_ptr<HttpExchange> exchange_;
  bool has_begun_ = false;
};

// Answer to an inspection: JSON, or server-sent events whose last one holds the JSON.
class InspectionAnswer : public JsonAnswer {
 public:
  // `stream`: send events, with {"progress": 0.25} before the answer.
  InspectionAnswer(std::shared_ptr<HttpExchange> exchange, bool stream)
      : JsonAnswer(std::move(exchange)), stream_(stream) {}

  // Reports the completed share, 0 to 1, in steps of at least 0.01.
  void progress(double share);
  // Sends `json`, an object, with a member "warnings" if there are warnings.
  void finish(std::string json, const std::vector<std::string>& warnings);

 private:
  bool stream_;
  double sent_share_ = 0;
};

}  // namespace headlight::serve
