#include "serve/metrics.h"

#include <cstdio>

#include "headlight/base/error.h"
#include "headlight/kernels/machine/memory.h"

namespace headlight::serve {
namespace {

std::string metric_title(const std::string& name, const char* type, const char* help) {
  return concat_text("# HELP headlight_", name, " ", help, "\n# TYPE headlight_", name, " ", type,
                     "\n");
}

// `label`: such as {path="/health"}.
template <class Number>
std::string metric_line(const std::string& name, const std::string& label, Number value) {
  char number[40];
  std::snprintf(number, sizeof number, " %.17g\n", static_cast<double>(value));
  return "headlight_" + name + label + number;
}

template <class Key>
std::string counts_text(const std::string& name, const char* label, const char* help,
                        const std::map<Key, Index>& counts) {
  std::string text = metric_title(name, "counter", help);
  for (const auto& [key, count] : counts) {
    text += metric_line(name, concat_text("{", label, "=\"", key, "\"}"), count);
  }
  return text;
}

std::string steps_text(const ComputeStatus& compute) {
  const std::string name = "step_seconds";
  std::string text = metric_title(name, "histogram",
                                  "Time of a step: one token for every text, and parts of prompts");
  for (std::size_t i = 0; i < ComputeStatus::kStepBounds.size(); ++i) {
    const std::string label = concat_text("{le=\"", ComputeStatus::kStepBounds[i], "\"}");
    text += metric_line(name + "_bucket", label, compute.steps_up_to[i]);
  }
  return text + metric_line(name + "_bucket", "{le=\"+Inf\"}", compute.steps) +
         metric_line(name + "_sum", "", compute.step_seconds) +
         metric_line(name + "_count", "", compute.steps);
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
  const auto add = [&](const std::string& name, const char* type, const char* help, auto value) {
    text += metric_title(name, type, help) + metric_line(name, "", value);
  };
  const EngineStatus& engines = compute.engines;
  add("connections", "gauge", "Open connections", connections);
  add("requests", "gauge", "Completions that run or wait", compute.requests);
  add("jobs", "gauge", "Analyses that run or wait", compute.jobs);
  add("slices_total", "counter", "Time slices of analyses", compute.slices);
  add("analysed_tokens_total", "counter", "Tokens read by analyses, multiplied by passes",
      compute.job_tokens);
  add("texts", "gauge", "Texts that are being generated", engines.texts);
  add("prompt_tokens_total", "counter", "Tokens of prompts", engines.prompt_tokens);
  add("prompt_tokens_reused_total", "counter", "Prompt tokens reused from earlier requests",
      engines.reused_prompt_tokens);
  add("tokens_total", "counter", "Generated tokens", engines.tokens);
  add("context_tokens", "gauge", "Capacity for keys and values in tokens", compute.context_tokens);
  add("context_tokens_used", "gauge", "Capacity in use in tokens", engines.used_tokens);
  add("context_tokens_kept", "gauge", "Tokens of kept beginnings of prompts", engines.kept_tokens);
  add("texts_released", "gauge", "Texts that wait for room for their keys and values",
      engines.released);
  add("releases_total", "counter", "Times that a text gave its keys and values back",
      engines.releases);
  text += steps_text(compute);
  add("peak_memory_bytes", "gauge", "Peak memory use", peak_memory());
  const std::lock_guard lock(mutex_);
  text += counts_text("http_requests_total", "path", "Requests by path", requests_) +
          counts_text("http_refusals_total", "status", "Requests that were refused, by status",
                      refusals_);
  return text;
}

}  // namespace headlight::serve
