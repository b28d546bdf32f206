#include "serve/json_answer.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "serve/api_error.h"

namespace headlight::serve {

namespace {

HttpResponse event_head() {
  return {.status = 200,
          .headers = {{"Content-Type", "text/event-stream; charset=utf-8"},
                      {"X-Accel-Buffering", "no"}}};
}

}  // namespace

HttpResponse json_response(std::string json) {
  return {
      .status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(json)};
}

std::string event_text(std::string_view json, std::string_view name) {
  std::string line(json);
  std::ranges::replace(line, '\n', ' ');  // a line end would end the event
  return concat_text(name.empty() ? "" : "event: ", name, name.empty() ? "" : "\n", "data: ", line,
                     "\n\n");
}

void JsonAnswer::await_events() { exchange_->await_stream(event_head(), ": waiting\n\n"); }

void JsonAnswer::send_event(std::string_view json, std::string_view name) {
  std::string event = event_text(json, name);
  if (std::exchange(has_begun_, true)) {
    exchange_->write(std::move(event));
    return;
  }
  HttpResponse head = event_head();
  head.body = std::move(event);
  exchange_->begin(std::move(head));
}

void JsonAnswer::end(bool is_reported) {
  if (is_reported) {
    exchange_->write("data: [DONE]\n\n");
  }
  exchange_->end();
}

void JsonAnswer::fail(const std::function<std::string(int status, const Json& error)>& event) {
  HttpResponse response = current_error_response();
  response.event = event(response.status, parse_json(response.body, "error")["error"]);
  if (!has_begun_) {
    exchange_->send(std::move(response));
    return;
  }
  exchange_->write(std::move(response.event));
  exchange_->end();
}

void JsonAnswer::fail() {
  fail([](int, const Json& error) { return event_text(Json{{"error", error}}.dump()); });
}

void InspectionAnswer::progress(double share) {
  constexpr double kStep = 0.01;
  if (stream_ && share >= sent_share_ + kStep) {
    sent_share_ = share;
    send_event(Json{{"progress", share}}.dump());
  }
}

void InspectionAnswer::finish(std::string json, const std::vector<std::string>& warnings) {
  if (!warnings.empty()) {
    json.insert(1, "\"warnings\":" + Json(warnings).dump() + ",");
  }
  if (!stream_) {
    send(std::move(json));
    return;
  }
  send_event(json);
  end();
}

}  // namespace headlight::serve
