#include "serve/metrics.h"

#include <cstdio>

#include "headlight/base/memory.h"

namespace headlight::serve {
namespace {

void add_value(std::string& text, const char* name, const char* type, const char* help,
               double value) {
  char line[400];
  std::snprintf(line, sizeof line, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type,
                name, value);
  text += line;
}

void add_steps(std::string& text, const ComputeStatus& compute) {
  text +=
      "# HELP headlight_step_seconds Time of a step: one token for every text, and parts of "
      "prompts\n# TYPE headlight_step_seconds histogram\n";
  char line[100];
  for (std::size_t i = 0; i < ComputeStatus::kStepBounds.size(); ++i) {
    std::snprintf(line, sizeof line, "headlight_step_seconds_bucket{le=\"%g\"} %lld\n",
                  ComputeStatus::kStepBounds[i], static_cast<long long>(compute.steps_up_to[i]));
    text += line;
  }
  std::snprintf(line, sizeof line,
                "headlight_step_seconds_bucket{le=\"+Inf\"} %lld\n"
                "headlight_step_seconds_sum %.9g\n",
                static_cast<long long>(compute.steps), compute.step_seconds);
  text += line;
  text += "headlight_step_seconds_count " + std::to_string(compute.steps) + "\n";
}

}  // namespace

void Metrics::count_request(const std::string& path) {
  const std::lock_guard lock(mutex_);
  ++requests_[path];
}

void Metrics::count_refusal(int status) {
  const std::lock_guard lock(mutex_);
  ++refusals_[status];
}

std::string Metrics::text(const ComputeStatus& compute, Index connections) const {
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, Index value) {
    add_value(text, name, type, help, static_cast<double>(value));
  };
  const EngineStatus& engines = compute.engines;
  add("headlight_connections", "gauge", "Open connections", connections);
  add("headlight_requests", "gauge", "Completions that run or wait", compute.requests);
  add("headlight_jobs", "gauge", "Analyses that run or wait", compute.jobs);
  add("headlight_slices_total", "counter", "Time slices of analyses", compute.slices);
  add_value(text, "headlight_analysed_tokens_total", "counter",
            "Tokens read by analyses, multiplied by passes", compute.job_tokens);
  add("headlight_texts", "gauge", "Texts that are being generated", engines.texts);
  add("headlight_prompt_tokens_total", "counter", "Tokens of prompts", engines.prompt_tokens);
  add("headlight_prompt_tokens_reused_total", "counter",
      "Prompt tokens reused from earlier requests", engines.reused_prompt_tokens);
  add("headlight_tokens_total", "counter", "Generated tokens", engines.tokens);
  add("headlight_context_tokens", "gauge", "Capacity for keys and values in tokens",
      compute.context_tokens);
  add("headlight_context_tokens_reserved", "gauge", "Capacity reserved for texts in tokens",
      engines.reserved_tokens);
  add("headlight_context_tokens_kept", "gauge", "Capacity of kept beginnings of prompts in tokens",
      engines.kept_tokens);
  add_steps(text, compute);
  add_value(text, "headlight_peak_memory_bytes", "gauge", "Peak memory use", peak_memory());
  const std::lock_guard lock(mutex_);
  text +=
      "# HELP headlight_http_requests_total Requests by path\n"
      "# TYPE headlight_http_requests_total counter\n";
  for (const auto& [path, count] : requests_) {
    text += "headlight_http_requests_total{path=\"" + path + "\"} " + std::to_string(count) + "\n";
  }
  text +=
      "# HELP headlight_http_refusals_total Requests that were refused, by status\n"
      "# TYPE headlight_http_refusals_total counter\n";
  for (const auto& [status, count] : refusals_) {
    text += "headlight_http_refusals_total{status=\"" + std::to_string(status) + "\"} " +
            std::to_string(count) + "\n";
  }
  return text;
}

}  // namespace headlight::serve
