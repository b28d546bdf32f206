#include "generate/sampling_parameters.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"

namespace headlight {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

constexpr auto kParameters = std::to_array<SamplingParameter>(
    {{"temperature", "Sample with this temperature; 0: always choose the most probable token",
      &SamplingOptions::temperature, 0, 100},
     {"top_k", "Choose among the N most probable tokens; 0: all", &SamplingOptions::top_k, 0, kAny},
     {"top_p", "Choose among the most probable tokens whose probabilities sum to this; 1: all",
      &SamplingOptions::top_p, 0, 1},
     {"min_p", "Drop tokens with less than this share of the highest probability; 0: none",
      &SamplingOptions::min_p, 0, 1},
     {"repetition_penalty",
      "Penalise tokens that occur in the prompt or output; 1: off, above 1: fewer repeats",
      &SamplingOptions::repetition_penalty, 0.01, 100},
     {"repetition_window", "Penalise repeats of the last N tokens only; 0: of all tokens",
      &SamplingOptions::repetition_window, 0, kAny},
     {"presence_penalty", "Subtract this from the logits of tokens that the output has",
      &SamplingOptions::presence_penalty, -2, 2},
     {"frequency_penalty",
      "Subtract this from the logits of tokens for every time that the output has them",
      &SamplingOptions::frequency_penalty, -2, 2}});

constexpr std::size_t kMostBiases = 16'384;

}  // namespace

double SamplingParameter::value(const SamplingOptions& options) const {
  return std::visit([&](auto at) { return static_cast<double>(options.*at); }, member);
}

void SamplingParameter::set(SamplingOptions& options, double value) const {
  options.*std::get<double SamplingOptions::*>(member) = value;
}

void SamplingParameter::set(SamplingOptions& options, Index value) const {
  options.*std::get<Index SamplingOptions::*>(member) = value;
}

std::span<const SamplingParameter> sampling_parameters() { return kParameters; }

void SamplingOptions::validate() const {
  for (const SamplingParameter& parameter : kParameters) {
    const double value = parameter.value(*this);
    require_value(value >= parameter.least && value <= parameter.most, parameter.name,
                  "expected a number from ", parameter.least,
                  parameter.is_count() ? "" : concat_text(" to ", parameter.most), ", got ", value);
  }
  for (const TokenBias& bias : logit_bias) {
    require_value(bias.token >= 0 && std::isfinite(bias.bias), "logit_bias",
                  "expected ids from 0 with numbers, got ", bias.token, " with ", bias.bias);
  }
}

std::vector<TokenBias> read_logit_bias(const Json& biases, Index vocabulary) {
  require_value(biases.size() <= kMostBiases, "logit_bias", "expected at most ", kMostBiases,
                " tokens, got ", biases.size());
  std::vector<TokenBias> all;
  for (const auto& [key, number] : biases.members()) {
    // Only one form of each id, so that the ids differ as the keys do.
    const auto id = read_number<std::int32_t>(key);
    require_value(id && *id >= 0 && *id < vocabulary && key == std::to_string(*id), "logit_bias",
                  "expected token ids from 0 to ", vocabulary - 1, ", got ", in_quotes(key));
    require_value(number.is_number() && number.number() >= -100 && number.number() <= 100,
                  "logit_bias", "expected numbers from -100 to 100, got ", number.dump());
    all.push_back({*id, number.number()});
  }
  return all;
}

}  // namespace headlight
