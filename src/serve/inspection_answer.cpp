#include "serve/inspection_answer.h"

#include <utility>

#include "base/json.h"
#include "serve/api_error.h"

namespace headlight::serve {

void InspectionAnswer::progress(double share) {
  constexpr double kStep = 0.01;
  if (stream_ && share >= told_ + kStep) {
    told_ = share;
    tell(Json{{"progress", share}}.dump());
  }
}

void InspectionAnswer::end(std::string json) {
  if (!stream_) {
    exchange_->send({.status = 200,
                     .headers = {{"Content-Type", "application/json"}},
                     .body = std::move(json)});
    return;
  }
  tell(json);
  exchange_->write("data: [DONE]\n\n");
  exchange_->end();
}

void InspectionAnswer::fail() {
  HttpResponse response = current_error_response();
  if (!has_begun_) {
    exchange_->send(std::move(response));
    return;
  }
  tell(response.body);
  exchange_->end();
}

// An event; a line end within its JSON would end it.
void InspectionAnswer::tell(const std::string& json) {
  std::string event = "data: ";
  for (const char c : json) {
    event += c == '\n' ? ' ' : c;
  }
  event += "\n\n";
  if (std::exchange(has_begun_, true)) {
    exchange_->write(std::move(event));
    return;
  }
  exchange_->begin({.status = 200,
                    .headers = {{"Content-Type", "text/event-stream; charset=utf-8"},
                                {"X-Accel-Buffering", "no"}},
                    .body = std::move(event)});
}

}  // namespace headlight::serve
