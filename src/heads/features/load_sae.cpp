#include <optional>

#include "base/json.h"
#include "files/input_file.h"
#include "headlight/base/error.h"
#include "headlight/heads/features/sparse_autoencoder.h"
#include "headlight/io/safetensors.h"

namespace headlight {
namespace {

constexpr Index kLargestSaeConfig = Index{1} << 20;  // bytes

// Returns a member that is not null.
const Json* present(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string text_in(const Json& object, std::string_view key, const std::string& otherwise) {
  const Json* value = present(object, key);
  require_value(value == nullptr || value->is_string(), std::string(key), "expected a text");
  return value == nullptr ? otherwise : value->text();
}

bool flag_in(const Json& object, std::string_view key, bool otherwise) {
  const Json* value = present(object, key);
  require_value(value == nullptr || value->is_boolean(), std::string(key),
                "expected true or false");
  return value == nullptr ? otherwise : value->boolean();
}

// Returns the name of the point: in `meta` since SAELens 6, before that beside the other keys.
std::string hook_name_in(const Json& config) {
  const Json* meta = present(config, "meta");
  for (const char* key : {"hook_name", "hook_point"}) {
    for (const Json* object : {meta, &config}) {
      if (object != nullptr && present(*object, key) != nullptr) {
        return text_in(*object, key, "");
      }
    }
  }
  return "";
}

Index top_k_in(const Json& config) {
  const Json* settings = present(config, "activation_fn_kwargs");
  const Json* k = present(config, "k");
  k = k == nullptr && settings != nullptr ? present(*settings, "k") : k;
  require_value(k != nullptr && k->is_integer(), "k", "expected a whole number");
  return k->integer();
}

SaeConfig sae_config(const Json& config) {
  require(config.is_object(), "expected an object");
  const std::string activation =
      text_in(config, "activation_fn_str", text_in(config, "activation_fn", "relu"));
  SaeConfig result;
  result.architecture =
      parse_name<SaeArchitecture>("architecture", text_in(config, "architecture", "standard"));
  if (result.architecture == SaeArchitecture::standard && activation == "topk") {
    result.architecture = SaeArchitecture::topk;
  }
  require_value(activation == "relu" || activation == "topk", "activation_fn_str",
                "expected relu or topk, got ", activation);
  for (const char* key : {"finetuning_scaling_factor", "rescale_acts_by_decoder_norm"}) {
    require_value(!flag_in(config, key, false), key, "this setting is not supported");
  }
  result.hook_name = hook_name_in(config);
  result.apply_b_dec_to_input = flag_in(config, "apply_b_dec_to_input", true);
  result.norm = parse_name<SaeNorm>("normalize_activations",
                                    text_in(config, "normalize_activations", "none"));
  result.k = result.architecture == SaeArchitecture::topk ? top_k_in(config) : 0;
  return result;
}

}  // namespace

SparseAutoencoder load_sae(const std::filesystem::path& directory) {
  const std::filesystem::path config_path = directory / "cfg.json";
  const std::filesystem::path weights_path = directory / "sae_weights.safetensors";
  const SaeConfig config = in_place(config_path.string() + ": ", [&] {
    return sae_config(
        parse_json(read_whole_file(config_path, kLargestSaeConfig), config_path.string()));
  });
  SparseAutoencoder::Weights weights;
  for (const auto& [name, tensor] : read_safetensors(weights_path)) {
    Tensor* into = name == "W_enc"       ? &weights.encoder
                   : name == "b_enc"     ? &weights.encoder_bias
                   : name == "W_dec"     ? &weights.decoder
                   : name == "b_dec"     ? &weights.decoder_bias
                   : name == "threshold" ? &weights.threshold
                                         : nullptr;
    if (into != nullptr) {
      *into = tensor;
    }
  }
  return in_place(weights_path.string() + ": ",
                  [&] { return SparseAutoencoder(config, std::move(weights)); });
}

}  // namespace headlight
