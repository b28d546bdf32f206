#include "headlight/runs/starting_model.h"

#include <algorithm>
#include <cmath>

#include "base/strings/split.h"
#include "formats/adapter/adapter.h"
#include "headlight/datasets/text_files.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/runs/config_source.h"
#include "runs/conversations/conversations.h"

namespace headlight {
namespace {

constexpr std::string_view kBlockSize = "block_size";
constexpr double kLargestGrowth = 1024;  // of a context

// Returns the model with the context that the run asks for: a run with rope_scaling extends the
// context of a model without it.
GptConfig with_context_of(const TrainConfig& run, GptConfig model) {
  const RopeScaling scaling = run.gpt.rope.scaling;
  if (model.position != PositionKind::rope || model.rope.scaling != RopeScaling::none ||
      scaling == RopeScaling::none) {
    return model;
  }
  require_value(run.lora_rank == 0, "rope_scaling",
                "changes the context of the model, which an adapter cannot hold; train the weights "
                "(without lora_rank)");
  require_value(run.gpt.rope.factor > 1 && run.gpt.rope.factor <= kLargestGrowth, "rope_factor",
                "expected a number above 1 and at most ", kLargestGrowth,
                " beside rope_scaling, got ", run.gpt.rope.factor);
  model.rope.original_max_position_embeddings = model.block_size;
  model.rope.scaling = scaling;
  model.rope.factor = run.gpt.rope.factor;
  model.rope.low_freq_factor = run.gpt.rope.low_freq_factor;
  model.rope.high_freq_factor = run.gpt.rope.high_freq_factor;
  if (scaling == RopeScaling::yarn) {
    model.rope.attention_factor = yarn_attention_factor(run.gpt.rope.factor);
  }
  model.block_size = std::lround(static_cast<double>(model.block_size) * run.gpt.rope.factor);
  return model;
}

void require_same(const ConfigField& field, const TrainConfig& run, const TrainConfig& model) {
  const std::string wanted = config_value(run, field);
  const std::string present = config_value(model, field);
  const bool is_block = field.key == kBlockSize;
  const bool may_grow = is_block && model.gpt.position == PositionKind::rope &&
                        model.gpt.rope.scaling == RopeScaling::none;
  require(is_block ? run.gpt.block_size <= model.gpt.block_size : wanted == present, field.key,
          ": expected ", is_block ? "at most " : "", present,
          ", as in the model that the run starts from, got ", wanted,
          may_grow ? "; rope_scaling = yarn with a rope_factor extends the context" : "");
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

// Longest sequence that fine-tuning uses without being asked; models may allow far longer ones.
constexpr Index kUsualBlock = 1024;

// A default for fine-tuning; nullptr: none.
struct TuningDefault {
  std::string_view key;
  const char* value;
  std::string_view instead = {};  // key that makes this one unnecessary
};

// Returns the kind of the first file of conversations in the data.
ConversationKind kind_of_data(const TrainConfig& config) {
  for (const TextFile& file : find_all_files(config.data)) {
    const ConversationKind kind = kind_of_conversations(file, config.jsonl);
    if (kind != ConversationKind::none) {
      return kind;
    }
  }
  return ConversationKind::none;
}

// Highest learning rate for weights or, with LoRA, for an adapter: as in TRL's trainers.
const char* default_rate(bool has_lora, bool has_pairs) {
  if (has_pairs) {
    return has_lora ? "1e-5" : "1e-6";
  }
  return has_lora ? "2e-4" : "2e-5";
}

void require_same_tokenizer(const TrainConfig& run, const std::filesystem::path& model) {
  const std::string present(load_tokenizer(model, run.base)->kind());
  require_value(run.tokenizer == present, "tokenizer", "expected ", present,
                ", as in the model that the run starts from, got ", run.tokenizer);
}

// Copies the kind and scale of an adapter that the run continues.
void adopt_adapter(TrainConfig& config, const std::filesystem::path& adapter,
                   const std::vector<std::string>& given) {
  const LoraOptions options = read_earlier_adapter(adapter).options;
  const auto is_given = [&](std::string_view key) { return std::ranges::count(given, key) > 0; };
  config.lora_alpha = is_given("lora_alpha") ? config.lora_alpha : options.alpha;
  config.rslora = is_given("rslora") ? config.rslora : options.rslora;
  config.dora = is_given("dora") ? config.dora : options.dora;
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
  const bool continues_adapter = config.lora_rank > 0 && is_adapter(directory);
  if (continues_adapter) {
    adopt_adapter(config, directory, given);
  }
  const GptConfig of_file =
      with_context_of(config, continues_adapter
                                  ? read_effective_config(base_of_adapter(directory, config.base))
                                  : read_effective_config(directory, {}, config.base))
          .canonical();
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

std::string fit_to_fine_tuning(TrainConfig& config, const std::vector<std::string>& given) {
  if (!starts_from_model(config)) {
    return "";
  }
  const ConversationKind kind = kind_of_data(config);
  const bool has_documents = kind != ConversationKind::none;
  const char* rate = default_rate(config.lora_rank > 0, kind == ConversationKind::pairs);
  const bool is_long = config.gpt.block_size > kUsualBlock;
  const TuningDefault settings[] = {{"learning_rate", rate},
                                    {"weight_decay", "0"},
                                    {"beta2", "0.999"},
                                    {"warmup_ratio", "0.03", "warmup_iters"},
                                    {"epochs", "3", "max_iters"},
                                    {"batch_size", "8"},
                                    {"block_size", is_long ? "1024" : nullptr},
                                    {"batching", has_documents ? "padded" : nullptr},
                                    {"eval_iters", "0"},
                                    {"log_interval", "10"}};
  const auto is_given = [&](std::string_view key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  std::vector<std::string> set;
  for (const TuningDefault& setting : settings) {
    if (setting.value != nullptr && !is_given(setting.key) && !is_given(setting.instead)) {
      set_config_value(config, setting.key, setting.value);
      set.push_back(concat_text(setting.key, " ", setting.value));
    }
  }
  return set.empty() ? "" : "defaults for fine-tuning: " + joined(set, ", ");
}

std::string fit_to_run(GptConfig& model, const TrainConfig& config) {
  const Index context = model.block_size;
  model = with_context_of(config, std::move(model));
  const std::string note =
      model.block_size == context
          ? ""
          : concat_text("the context grows from ", context, " to ", model.block_size,
                        " tokens: ", name_of(config.gpt.rope.scaling), ", factor ",
                        config.gpt.rope.factor);
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
  return note;
}

}  // namespace headlight
