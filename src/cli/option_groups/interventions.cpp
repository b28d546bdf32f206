#include "cli/option_groups/interventions.h"

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/terminal/log.h"
#include "headlight/interpret/features/sparse_autoencoder.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/interpret/scores/head_score_file.h"
#include "headlight/nn/batch.h"
#include "interpret/point_values.h"

namespace headlight::cli {

void add_intervene_options(Options& options) {
  options.value("intervene",
                "Change activations, e.g. \"off 5.1, mlp.3\" (see headlight generate --help all)");
  if (!options.has("scores")) {
    options.value("scores",
                  "File heads.json from headlight heads, for classes of heads in --intervene");
  }
  options.value("sae",
                "Folders of sparse autoencoders or transcoders of SAELens, separated by commas: "
                "their features are the points feature.LAYER.NUMBER");
  options.paths({"scores"});
}

namespace {

// Throws Error unless the model computes the points of a map, with as many numbers.
void require_points(const FeatureMap& map, const Gpt& model) {
  const auto is_spot = [&](Point point, Index layer) {
    const PointInLayer spot{point, layer};
    return spot == map.input() || spot == map.output();
  };
  const PointValues values =
      values_of(model, make_batch({std::vector<std::int32_t>{0}}), is_spot, true);
  const auto value_at = [&](const char* about, const PointInLayer& spot) {
    const auto found = values.find(spot);
    require_value(found != values.end(), about, "this model does not compute ",
                  point_name(spot.first, spot.second));
    return found->second;
  };
  const Tensor input = value_at("hook_name", map.input());
  const Tensor output = value_at("hook_name_out", map.output());
  const Shape written = map.written(map.features(input), input).shape();
  require_value(written == output.shape(), "hook_name_out", "expected rows of shape ",
                output.shape(), ", got ", written);
}

// Attaches the autoencoders of --sae.
void attach_features(const Options& options, Gpt& model) {
  const std::vector<std::string> folders = split_at_commas(options.text("sae"));
  require(!folders.empty(), "--sae: expected a folder, got none");
  std::vector<std::shared_ptr<const SparseAutoencoder>> autoencoders;
  for (const std::string& folder : folders) {
    const auto autoencoder = in_place(
        "--sae: ", [&] { return std::make_shared<const SparseAutoencoder>(load_sae(folder)); });
    in_place("--sae: " + shown(folder) + ": ", [&] {
      for (const auto& [layer, map] : feature_maps({autoencoder})) {
        require_points(*map, model);
      }
    });
    autoencoders.push_back(autoencoder);
  }
  in_place("--sae: ", [&] { model.attach_features(feature_maps(autoencoders)); });
}

}  // namespace

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
  if (options.given("sae")) {
    attach_features(options, *loaded.model);
  }
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
