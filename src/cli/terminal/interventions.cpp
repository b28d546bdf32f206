#include "cli/terminal/interventions.h"

#include "cli/terminal/log.h"
#include "headlight/heads/head_score_file.h"
#include "headlight/heads/interventions.h"

namespace headlight::cli {

void add_intervene_options(Options& options) {
  options.value(
      "intervene",
      "Change what the model computes, as \"off 5.1, mlp.3\"; see headlight generate --help");
  if (!options.has("scores")) {
    options.value("scores", "heads.json of headlight heads, for --intervene with classes of heads");
  }
}

void intervene(const Options& options, const LoadedModel& loaded) {
  if (!options.given("intervene")) {
    return;
  }
  Interventions::Options resources{.tokenizer = loaded.tokenizer.get(), .scores = {}};
  if (options.given("scores")) {
    const std::string scores = options.text("scores");
    HeadScoreFile file = read_head_scores(scores.substr(0, scores.find(',')), *loaded.model);
    resources.scores = std::move(file.scores);
  }
  loaded.model->attach(std::make_shared<Interventions>(
      *loaded.model, read_changes(options.text("intervene")), resources));
}

}  // namespace headlight::cli
