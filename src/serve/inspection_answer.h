#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/json_answer.h"

namespace headlight::serve {

// The answer to a question of the page: JSON, or events of which the last holds it.
class InspectionAnswer {
 public:
  // Events {"progress": 0.25} come first when it is to `stream`.
  InspectionAnswer(std::shared_ptr<HttpExchange> exchange, bool stream)
      : answer_(std::move(exchange)), stream_(stream) {}

  // The share that is done, 0 to 1; told in steps that can be seen.
  void progress(double share);
  // `json`: an object, which gets the member "warnings" where there are some.
  void end(std::string json, const std::vector<std::string>& warnings);
  // With the exception that is being handled.
  void fail() { answer_.fail(); }

 private:
  JsonAnswer answer_;
  bool stream_;
  double told_ = 0;
};

}  // namespace headlight::serve
