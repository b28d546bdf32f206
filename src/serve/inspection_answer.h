#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/json_answer.h"

namespace headlight::serve {

// Answer to an inspection: JSON, or server-sent events whose last one holds the JSON.
class InspectionAnswer {
 public:
  // `stream`: send events, with {"progress": 0.25} before the answer.
  InspectionAnswer(std::shared_ptr<HttpExchange> exchange, bool stream)
      : answer_(std::move(exchange)), stream_(stream) {}

  // Reports the completed share, 0 to 1, in steps of at least 0.01.
  void progress(double share);
  // Sends `json`, an object, with a member "warnings" if there are warnings.
  void end(std::string json, const std::vector<std::string>& warnings);
  // Sends the exception being handled.
  void fail() { answer_.fail(); }

 private:
  JsonAnswer answer_;
  bool stream_;
  double told_ = 0;
};

}  // namespace headlight::serve
