#pragma once

#include <map>
#include <mutex>
#include <string>

#include "serve/compute.h"

namespace headlight::serve {

// Counters for /metrics, in Prometheus' text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
class Metrics {
 public:
  void count_request(const std::string& path);
  void count_refusal(int status);
  std::string text(const ComputeStatus& compute, Index connections) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Index> requests_;  // by path
  std::map<int, Index> refusals_;          // by status
};

}  // namespace headlight::serve
