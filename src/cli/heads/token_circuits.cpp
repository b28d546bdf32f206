#include "cli/heads/token_circuits.h"

#include <algorithm>

#include "base/transformed.h"
#include "headlight/interpret/scores/token_circuits.h"
#include "show/report/parts/json_output.h"
#include "show/report/token_circuit_plot.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kMostTokens = 1024;  // rows of a figure

// Returns the ids without repetitions, in order.
CircuitTokens different_tokens(const std::vector<std::int32_t>& ids) {
  CircuitTokens tokens;
  for (const std::int32_t id : ids) {
    if (std::ranges::find(tokens, id) == tokens.end()) {
      tokens.push_back(id);
      require(tokens.size() <= kMostTokens, "--ov and --qk: expected at most ", kMostTokens,
              " different tokens; shorten the text with --max_tokens");
    }
  }
  return tokens;
}

}  // namespace

void add_token_circuit_options(Options& options) {
  options
      .flag("ov",
            "Draw, for the heads of --heads, how much attending to each token of the text raises "
            "the logits of its tokens (W_E W_V W_O W_U): ov_LAYER.HEAD.svg")
      .flag("qk",
            "Draw, for the heads of --heads, the scores of each token as a query for each as a key "
            "(W_E W_Q W_K W_E): qk_LAYER.HEAD.svg");
}

void check_token_circuits(const Options& options, const std::set<std::string>& formats) {
  if (!options.given("heads")) {
    refuse_options(options, {"ov", "qk"}, "needs --heads, such as 1.2");
  }
  if (!formats.contains("svg")) {
    refuse_options(options, {"ov", "qk"}, "needs --format svg");
  }
}

std::vector<std::pair<std::string, std::string>> token_circuit_figures(
    const Options& options, const LoadedModel& loaded, const HeadSet& heads,
    const std::vector<std::int32_t>& ids) {
  std::vector<std::pair<std::string, std::string>> figures;
  for (const auto& [name, kind] : kChoices<TokenCircuit>) {
    if (!options.given(std::string(name))) {
      continue;
    }
    const CircuitTokens tokens = different_tokens(ids);
    const std::vector<std::string> labels =
        transformed(tokens, [&](std::int32_t id) { return label_of_id(id, *loaded.tokenizer); });
    for (const HeadId& head : heads) {
      const Tensor values =
          (kind == TokenCircuit::ov ? ov_circuit : qk_circuit)(*loaded.model, head, tokens, tokens);
      figures.emplace_back(
          concat_text(name, "_", head_name(head), ".svg"),
          matrix_plot_svg(token_circuit_plot(kind, head, values, {labels, labels})));
    }
  }
  return figures;
}

}  // namespace headlight::cli
