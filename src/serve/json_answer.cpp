#include "serve/json_answer.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "serve/api_error.h"

namespace headlight::serve {

HttpResponse json_response(std::string json) {
  return {
      .status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(json)};
}

void JsonAnswer::tell(std::string_view json) {
  std::string event = "data: " + std::string(json) + "\n\n";
  std::replace(event.begin(), event.end() - 2, '\n', ' ');  // a line end would end the event
  if (std::exchange(has_begun_, true)) {
    exchange_->write(std::move(event));
    return;
  }
  exchange_->begin({.status = 200,
                    .headers = {{"Content-Type", "text/event-stream; charset=utf-8"},
                                {"X-Accel-Buffering", "no"}},
                    .body = std::move(event)});
}

void JsonAnswer::end() {
  exchange_->write("data: [DONE]\n\n");
  exchange_->end();
}

void JsonAnswer::fail() {
  HttpResponse response = current_error_response();
  if (!has_begun_) {
    exchange_->send(std::move(response));
    return;
  }
  tell(response.body);
  exchange_->end();
}

void InspectionAnswer::progress(double share) {
  constexpr double kStep = 0.01;
  if (stream_ && share >= told_ + kStep) {
    told_ = share;
    tell(Json{{"progress", share}}.dump());
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
  tell(json);
  end();
}

}  // namespace headlight::serve
