#include "serve/inspection_answer.h"

#include <utility>

#include "base/json.h"

namespace headlight::serve {

void InspectionAnswer::progress(double share) {
  constexpr double kStep = 0.01;
  if (stream_ && share >= told_ + kStep) {
    told_ = share;
    answer_.tell(Json{{"progress", share}}.dump());
  }
}

void InspectionAnswer::end(std::string json, const std::vector<std::string>& warnings) {
  if (!warnings.empty()) {
    json.insert(1, "\"warnings\":" + Json(warnings).dump() + ",");
  }
  if (!stream_) {
    answer_.send(std::move(json));
    return;
  }
  answer_.tell(json);
  answer_.end();
}

}  // namespace headlight::serve
