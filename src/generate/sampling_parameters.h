#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "headlight/generate/sampler.h"

namespace headlight {

// A number of SamplingOptions, described once for options of commands, members of requests,
// arguments of Python and SamplingOptions::validate().
struct SamplingParameter {
  std::string_view name;
  std::string_view help;  // one sentence without its last point
  std::variant<double SamplingOptions::*, Index SamplingOptions::*> member;
  double least = 0;
  double most = 0;

  bool is_count() const { return member.index() == 1; }
  double value(const SamplingOptions& options) const;
  void set(SamplingOptions& options, double value) const;
  void set(SamplingOptions& options, Index value) const;
};

// Returns all but the seed and logit_bias, in the order of help.
std::span<const SamplingParameter> sampling_parameters();

// Reads {"ID": NUMBER}, with ids below `vocabulary` and numbers from -100 to 100. Throws Error
// about "logit_bias".
std::vector<TokenBias> read_logit_bias(const Json& biases, Index vocabulary);

}  // namespace headlight
