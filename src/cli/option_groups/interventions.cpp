#include "cli/option_groups/interventions.h"

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/terminal/log.h"
#include "headlight/interpret/features/sparse_autoencoder.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/interpret/scores/head_score_file.h"

namespace headlight::cli {

void add_intervene_options(Options& options) {
  options.value("intervene",
                "Change activations, e.g. \"off 5.1, mlp.3\" (see headlight generate --help all)");
  if (!options.has("scores")) {
    options.value("scores",
                  "File heads.json from headlight heads, for classes of heads in --intervene");
  }
  add_sae_option(options);
  options.paths({"scores"});
}

void add_sae_option(Options& options) {
  options.value("sae",
                "Folders of sparse autoencoders or transcoders of SAELens, separated by commas: "
                "their features are the points feature.LAYER.NUMBER");
}

void attach_features(const Options& options, const std::vector<Gpt*>& models) {
  const std::vector<std::string> folders = split_at_commas(options.text("sae"));
  require(!folders.empty() || !options.given("sae"), "--sae: expected a folder, got none");
  std::map<Gpt*, std::vector<std::shared_ptr<const SparseAutoencoder>>> attached;
  for (const std::string& folder : folders) {
    const auto autoencoder = in_place(
        "--sae: ", [&] { return std::make_shared<const SparseAutoencoder>(load_sae(folder)); });
    std::vector<Error> faults;
    for (Gpt* model : models) {
      try {
        auto all = attached[model];
        all.push_back(autoencoder);
        model->attach_features(feature_maps(all, *model));
        attached[model] = std::move(all);
      } catch (const Error& error) {
        faults.push_back(error);
      }
    }
    require(faults.size() < models.size(), "--sae: ", shown(folder), ": ",
            faults.empty() ? "" : faults.front().what());
  }
}

std::map<HeadId, HeadScore> scores_option(const Options& options, const LanguageModel& model) {
  if (!options.given("scores")) {
    return {};
  }
  const std::string scores = options.text("scores");
  HeadScoreFile file = read_head_scores(scores.substr(0, scores.find(',')), model);
  if (!file.doubt.empty()) {
    log_warning(file.doubt);
  }
  return std::move(file.scores);
}

void intervene(const Options& options, const LoadedModel& loaded, bool uses_scores) {
  attach_features(options, {loaded.model.get()});
  if (!options.given("intervene")) {
    if (!uses_scores) {
      refuse_options(options, {"scores"}, "needs --intervene");
    }
    return;
  }
  const Interventions::Options resources{.tokenizer = loaded.tokenizer.get(),
                                         .scores = scores_option(options, *loaded.model)};
  const std::vector<Change> changes = read_changes(options.text("intervene"));
  std::vector<std::string> texts;
  for (const Change& change : changes) {
    texts.insert(texts.end(), {change.source.text, change.source.less});
  }
  warn_about_special_names(texts, *loaded.tokenizer, "--intervene");
  loaded.model->attach(std::make_shared<Interventions>(*loaded.model, changes, resources));
}

}  // namespace headlight::cli
