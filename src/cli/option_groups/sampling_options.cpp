#include "cli/option_groups/sampling_options.h"

#include <spdlog/fmt/fmt.h>

#include <limits>

#include "base/strings/read_number.h"
#include "generate/sampling_parameters.h"

namespace headlight::cli {
namespace {

std::string number_text(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// The values of --logit_bias as the object that requests have.
Json biases_of(const std::vector<std::string>& values) {
  Json biases = Json::object();
  for (const std::string& text : values) {
    const std::size_t end = std::min(text.find('='), text.size());
    const auto number = read_number<double>(text.substr(std::min(end + 1, text.size())));
    require_value(number.has_value(), "logit_bias", "expected ID=NUMBER such as 42=-5, got '", text,
                  "'");
    biases[text.substr(0, end)] = *number;
  }
  return biases;
}

}  // namespace

void add_sampling_options(Options& options, const GenerateOptions& defaults) {
  options.value("max_new_tokens", "Generate at most this number of tokens",
                std::to_string(defaults.max_new_tokens));
  for (const SamplingParameter& parameter : sampling_parameters()) {
    const double value = parameter.value(defaults.sampling);
    options.value(
        std::string(parameter.name), std::string(parameter.help),
        parameter.is_count() ? std::to_string(static_cast<Index>(value)) : number_text(value));
  }
  options.values("logit_bias", "Add a number to the logit of a token: ID=NUMBER, e.g. 42=-5")
      .value("seed", "Seed of the random numbers", std::to_string(defaults.sampling.seed));
  options.alias("temp", "temperature")
      .alias("n", "max_new_tokens")
      .alias("predict", "max_new_tokens")
      .alias("n_predict", "max_new_tokens");
}

GenerateOptions sampling_options(const Options& options, GenerateOptions others) {
  others.max_new_tokens = options.integer("max_new_tokens");
  for (const SamplingParameter& parameter : sampling_parameters()) {
    const std::string name(parameter.name);
    if (parameter.is_count()) {
      parameter.set(others.sampling, options.integer(name));
    } else {
      parameter.set(others.sampling, options.number(name));
    }
  }
  if (options.given("logit_bias")) {
    others.sampling.logit_bias = read_logit_bias(biases_of(options.texts("logit_bias")),
                                                 std::numeric_limits<std::int32_t>::max());
  }
  others.sampling.seed = seed_option(options);
  return others;
}

}  // namespace headlight::cli
