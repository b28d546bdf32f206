#include "headlight/runs/starting_model.h"

#include <algorithm>

#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/runs/config_source.h"

namespace headlight {
namespace {

constexpr std::string_view kBlockSize = "block_size";

void require_same(const ConfigField& field, const TrainConfig& run, const TrainConfig& model) {
  const std::string wanted = config_value(run, field);
  const std::string present = config_value(model, field);
  const bool fits =
      field.key == kBlockSize ? run.block_size <= model.block_size : wanted == present;
  require(fits, field.key, ": expected ", field.key == kBlockSize ? "at most " : "", present,
          ", as in the model that the run starts from, got ", wanted);
}

// Throws Error unless the run describes this model. Ignores redundant values.
void require_same_model(const TrainConfig& run, const TrainConfig& model, Index vocabulary) {
  GptConfig wanted = run.model(vocabulary);
  wanted.validate();
  const TrainConfig once = train_config_of(wanted.canonical()).resolved();
  for (const ConfigField& field : config_fields()) {
    if (field.role == ConfigRole::architecture) {
      require_same(field, once, model.resolved());
    }
  }
}

void require_same_tokenizer(const TrainConfig& run, const std::filesystem::path& model) {
  const std::string present(load_tokenizer(model)->kind());
  require_value(run.tokenizer == present, "tokenizer", "expected ", present,
                ", as in the model that the run starts from, got ", run.tokenizer);
}

}  // namespace

bool starts_from_model(const TrainConfig& config) { return config.init_from != "scratch"; }

void adopt_architecture(TrainConfig& config, const std::vector<std::string>& given) {
  if (!starts_from_model(config)) {
    return;
  }
  const std::filesystem::path directory = find_model_directory(config.init_from);
  const auto is_given = [&](std::string_view key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  if (is_given("tokenizer")) {
    require_same_tokenizer(config, directory);
  }
  const GptConfig of_file = read_effective_config(directory).canonical();
  const TrainConfig model = train_config_of(of_file);
  std::vector<std::string> adopted;
  for (const ConfigField& field : config_fields()) {
    if (field.role == ConfigRole::architecture && !is_given(field.key)) {
      adopted.emplace_back(field.key);
    }
  }
  copy_keys(model, adopted, config);
  require_same_model(config, model, of_file.vocab_size);
}

void fit_to_run(GptConfig& model, const TrainConfig& config) {
  require_same_model(config, train_config_of(model.canonical()), model.vocab_size);
  const GptConfig wanted = config.model(model.vocab_size);
  // Shorter training sequences do not change a model's context length. Only a table of learned
  // positions is cut, because its last rows would not be trained.
  if (model.position == PositionKind::learned) {
    model.block_size = wanted.block_size;
  }
  model.attention_dropout = wanted.attention_dropout;
  model.residual_dropout = wanted.residual_dropout;
  model.embedding_dropout = wanted.embedding_dropout;
}

}  // namespace headlight
