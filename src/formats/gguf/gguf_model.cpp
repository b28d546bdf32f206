#include "headlight/formats/gguf/gguf_model.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>

#include "base/strings/printable.h"
#include "formats/gguf/gguf_blocks.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_header.h"
#include "formats/gguf/gguf_rope.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

// Returns llama_ftype, the type of most tensors.
std::uint32_t file_type(GgufType type) {
  switch (type) {
    case GgufType::f16:
      return 1;
    case GgufType::q8_0:
      return 7;
    case GgufType::bf16:
      return 32;
    case GgufType::q4_0:
      return 2;
    case GgufType::q4_k:
      return 14;
    case GgufType::q5_k:
      return 16;
    case GgufType::q6_k:
      return 18;
    default:
      return 0;
  }
}

// Removes windows that are at least as long as the context: they hide nothing.
GptConfig without_idle_windows(GptConfig config) {
  for (Index& window : config.windows) {
    window = window >= config.block_size ? 0 : window;
  }
  return config.canonical();
}

// Returns the keys that describe the model. Its name does not change ids in llama.cpp.
GgufMetadata general_keys(const Tokenizer& tokenizer, const GgufModelOptions& options) {
  GgufMetadata keys = options.general;
  const auto value_of = [&](const char* key, const std::string& fallback) -> GgufValue& {
    const auto found = std::ranges::find(keys, key, &GgufMetadata::value_type::first);
    return found != keys.end() ? found->second : keys.emplace_back(key, fallback).second;
  };
  value_of("general.type", "model");
  if (auto* name = std::get_if<std::string>(&value_of("general.name", options.name))) {
    *name = gguf_model_name(*name, tokenizer);
  }
  return keys;
}

GgufMetadata metadata_of(const GgufArchitecture& architecture, const GptConfig& config,
                         GgufMetadata general, GgufMetadata tokenizer, GgufType type) {
  GgufMetadata metadata = gguf_model_keys(architecture, config);
  std::ranges::move(general, std::back_inserter(metadata));
  metadata.emplace_back("general.file_type", file_type(type));
  if (gguf_integers(type)) {
    metadata.emplace_back("general.quantization_version", std::uint32_t{2});
  }
  std::ranges::move(tokenizer, std::back_inserter(metadata));
  return metadata;
}

double bits_of(GgufType type) {
  const GgufBlock block = gguf_block(type);
  return 8.0 * static_cast<double>(block.bytes) / static_cast<double>(block.elements);
}

// Returns the number of the layer of "blk.N.PART.weight"; none for other tensors or parts.
std::optional<Index> layer_of(std::string_view name, std::string_view part) {
  constexpr std::string_view kBegin = "blk.";
  const std::string end = concat_text(".", part, ".weight");
  if (!name.starts_with(kBegin) || !name.ends_with(end)) {
    return std::nullopt;
  }
  const std::string_view number =
      name.substr(kBegin.size(), name.size() - kBegin.size() - end.size());
  Index layer = 0;
  std::from_chars(number.data(), number.data() + number.size(), layer);
  return layer;
}

// Returns the type of a matrix whose rows are whole blocks, as llama-quantize chooses it. The
// matrix of logits has at least Q6_K, because predictions lose far more by rounding it than by
// rounding any other matrix. Among Q4_K, values and outputs of MLPs in the first layers have Q5_K.
GgufType wanted_type(const std::string& name, bool is_head, Index layers, GgufType type) {
  if (is_head) {
    return bits_of(type) < bits_of(GgufType::q6_k) ? GgufType::q6_k : type;
  }
  const bool has_more_bits =
      layer_of(name, "attn_v").value_or(layers) < std::min<Index>(4, layers) ||
      layer_of(name, "ffn_down").value_or(layers) < layers / 8;
  return type == GgufType::q4_k && has_more_bits ? GgufType::q5_k : type;
}

// Returns the type with blocks of 32 for rows that are not whole blocks of 256, as llama-quantize
// chooses it. F16 has no blocks.
GgufType type_of_small_blocks(GgufType type) {
  switch (type) {
    case GgufType::q4_k:
      return GgufType::q5_0;
    case GgufType::q5_k:
      return GgufType::q5_1;
    case GgufType::q6_k:
      return GgufType::q8_0;
    default:
      return GgufType::f16;
  }
}

// Returns the storage type of a tensor. llama.cpp needs vectors and learned positions in float32.
GgufType type_of(const std::string& name, const Shape& shape, GgufType type) {
  if (shape.rank() < 2 || name == "position_embd.weight") {
    return GgufType::f32;
  }
  for (const GgufType possible : {type, type_of_small_blocks(type)}) {
    if (shape.back() % gguf_block(possible).elements == 0) {
      return possible;
    }
  }
  return GgufType::f16;
}

NamedTensors tensors_of(const Gpt& model, const GgufArchitecture& architecture) {
  NamedTensors tensors = stored_tensors(model, architecture.layout);
  if (architecture.has_own_head && model.config().tie_weights) {
    tensors.emplace_back(architecture.layout.head, tensors.front().second);
  }
  if (model.config().rope.scaling == RopeScaling::llama3) {
    const std::vector<float> factors =
        llama3_factors(model.config().rope, block_plan(model.config(), 0).attention.head_width);
    tensors.emplace_back(kGgufRopeFactors,
                         Tensor::from(factors, {static_cast<Index>(factors.size())}));
  }
  return tensors;
}

// Returns the name of the matrix of logits, which may be that of the embedding.
const std::string& head_of(const NamedTensors& tensors, const GgufArchitecture& architecture) {
  const auto head =
      std::ranges::find(tensors, architecture.layout.head, &NamedTensors::value_type::first);
  return head == tensors.end() ? tensors.front().first : head->first;
}

// Returns the importance of a model's matrices by the names of their tensors.
MatrixImportance importance_of(const Gpt& model, const GgufArchitecture& architecture,
                               const MatrixImportance& given) {
  MatrixImportance result;
  for (const auto& [weight, tensor] : model.weights()) {
    if (const auto found = given.find(weight.name); found != given.end()) {
      for (const StoredTensor& stored : architecture.layout.tensors_of(weight, model.config())) {
        result[stored.name] = found->second;
      }
    }
  }
  return result;
}

// Matrices that cannot have the wanted type, by it and by the type that they have instead.
using NamesByType = std::map<std::pair<GgufType, GgufType>, std::vector<std::string>>;

void add_warnings(const GgufArchitecture& architecture, const NamesByType& others,
                  std::vector<std::string>& warnings) {
  for (const auto& [types, names] : others) {
    const auto& [wanted, type] = types;
    warnings.push_back(concat_text(
        names.size(), " matrices, ", in_quotes(names.front()), " first, are written as ",
        name_of(type), ": the length of their rows is not a multiple of ", name_of(wanted),
        "'s block size, ", gguf_block(wanted).elements));
  }
  if (architecture.name == "gptneox") {
    warnings.emplace_back(
        "llama.cpp computes GELU's tanh approximation, this model GELU: logits differ by about "
        "1e-3");
  }
}

}  // namespace

void require_gguf_model(const GptConfig& config) {
  gguf_architecture_for(without_idle_windows(config));
}

std::vector<std::string> write_gguf_model(const std::filesystem::path& path, const Gpt& model,
                                          const Tokenizer& tokenizer,
                                          const GgufModelOptions& options) {
  const GptConfig config = without_idle_windows(model.config());
  const GgufArchitecture& architecture = gguf_architecture_for(config);
  std::vector<GgufSource> sources;
  NamesByType others;
  const NamedTensors tensors = tensors_of(model, architecture);
  require_finite(tensors, shown(path) + ": ");
  const std::string& head = head_of(tensors, architecture);
  MatrixImportance importance = importance_of(model, architecture, options.importance);
  for (const auto& [name, tensor] : tensors) {
    const GgufType wanted = wanted_type(name, name == head, config.n_layer, options.type);
    const GgufType type = type_of(name, tensor.shape(), wanted);
    if (type != wanted && type != GgufType::f32) {
      others[{wanted, type}].push_back(name);
    }
    // A tied head that is written again has the embedding's.
    const std::string& measured = importance.contains(name) ? name : tensors.front().first;
    sources.push_back({name, tensor, type, importance[name == head ? measured : name]});
  }
  GgufVocabulary vocabulary = options.tokenizer.empty()
                                  ? gguf_vocabulary(tokenizer, config.vocab_size)
                                  : GgufVocabulary{options.tokenizer};
  write_gguf(path,
             metadata_of(architecture, config, general_keys(tokenizer, options),
                         std::move(vocabulary.keys), options.type),
             sources, options.progress);
  add_warnings(architecture, others, vocabulary.warnings);
  return std::move(vocabulary.warnings);
}

}  // namespace headlight
