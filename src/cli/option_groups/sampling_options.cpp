#include "cli/option_groups/sampling_options.h"

#include <spdlog/fmt/fmt.h>

namespace headlight::cli {

void add_sampling_options(Options& options, const GenerateOptions& defaults) {
  const auto number = [](double value) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  };
  const SamplingOptions& sampling = defaults.sampling;
  options
      .value("max_new_tokens", "Generate at most this number of tokens",
             std::to_string(defaults.max_new_tokens))
      .value("temperature",
             "Sample with this temperature; 0: always choose the most probable token",
             number(sampling.temperature))
      .value("top_k", "Choose among the N most probable tokens; 0: all",
             std::to_string(sampling.top_k))
      .value("top_p",
             "Choose among the most probable tokens whose probabilities sum to this; 1: all",
             number(sampling.top_p))
      .value("min_p", "Drop tokens with less than this share of the highest probability; 0: none",
             number(sampling.min_p))
      .value("repetition_penalty",
             "Penalise tokens that occur in the prompt or output; 1: off, above 1: fewer repeats",
             number(sampling.repetition_penalty))
      .value("repetition_window", "Penalise repeats of the last N tokens only; 0: of all tokens",
             std::to_string(sampling.repetition_window))
      .value("seed", "Seed of the random choices", std::to_string(sampling.seed));
  options.alias("temp", "temperature")
      .alias("n", "max_new_tokens")
      .alias("predict", "max_new_tokens")
      .alias("n_predict", "max_new_tokens");
}

GenerateOptions sampling_options(const Options& options) {
  GenerateOptions result;
  result.max_new_tokens = options.integer("max_new_tokens");
  result.sampling.temperature = options.number("temperature");
  result.sampling.top_k = options.integer("top_k");
  result.sampling.top_p = options.number("top_p");
  result.sampling.min_p = options.number("min_p");
  result.sampling.repetition_penalty = options.number("repetition_penalty");
  result.sampling.repetition_window = options.integer("repetition_window");
  result.sampling.seed = seed_option(options);
  return result;
}

}  // namespace headlight::cli
