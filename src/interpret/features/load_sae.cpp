#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/interpret/features/sparse_autoencoder.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

constexpr Index kLargestSaeConfig = Index{1} << 20;  // bytes

// Returns a member that is not null.
const Json* present(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string text_in(const Json& object, std::string_view key, const std::string& fallback) {
  const Json* value = present(object, key);
  require_value(value == nullptr || value->is_string(), std::string(key), "expected a text");
  return value == nullptr ? fallback : value->text();
}

bool flag_in(const Json& object, std::string_view key, bool fallback) {
  const Json* value = present(object, key);
  require_value(value == nullptr || value->is_boolean(), std::string(key),
                "expected true or false");
  return value == nullptr ? fallback : value->boolean();
}

// Returns a key about the point, null if there is none. It is in `metadata` (`meta` in the first
// releases of SAELens 6), before release 6 beside the other keys.
const Json* about_point(const Json& config, std::string_view key) {
  for (const Json* object : {present(config, "metadata"), present(config, "meta"), &config}) {
    if (object != nullptr) {
      require(object->is_object(), "metadata: expected an object");
      if (const Json* value = present(*object, key)) {
        return value;
      }
    }
  }
  return nullptr;
}

// Returns the name of a point; "" if the file does not say it.
std::string point_in(const Json& config, std::string_view key, std::string_view older_key) {
  const Json* name = about_point(config, key);
  name = name == nullptr ? about_point(config, older_key) : name;
  require_value(name == nullptr || name->is_string(), std::string(key), "expected a text");
  return name == nullptr ? "" : name->text();
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
  require_value(!flag_in(config, "finetuning_scaling_factor", false), "finetuning_scaling_factor",
                "this setting is not supported");
  require_value(about_point(config, "hook_head_index") == nullptr, "hook_head_index",
                "autoencoders of a single head are not supported");
  result.hook_name = point_in(config, "hook_name", "hook_point");
  result.hook_name_out = point_in(config, "hook_name_out", "hook_point_out");
  result.apply_b_dec_to_input = flag_in(config, "apply_b_dec_to_input", true);
  result.norm = parse_name<SaeNorm>("normalize_activations",
                                    text_in(config, "normalize_activations", "none"));
  result.k = result.architecture == SaeArchitecture::topk ? top_k_in(config) : 0;
  result.rescale_by_decoder_norm = flag_in(config, "rescale_acts_by_decoder_norm", false);
  require_value(!result.rescale_by_decoder_norm || result.architecture == SaeArchitecture::topk,
                "rescale_acts_by_decoder_norm", "needs the architecture topk");
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
    Tensor* into = name == "W_enc"                       ? &weights.encoder
                   : name == "b_enc" || name == "b_gate" ? &weights.encoder_bias
                   : name == "W_dec"                     ? &weights.decoder
                   : name == "b_dec"                     ? &weights.decoder_bias
                   : name == "threshold"                 ? &weights.threshold
                   : name == "r_mag"                     ? &weights.magnitude
                   : name == "b_mag"                     ? &weights.magnitude_bias
                   : name == "W_skip"                    ? &weights.skip
                                                         : nullptr;
    if (into != nullptr) {
      *into = tensor;
    }
  }
  return in_place(weights_path.string() + ": ",
                  [&] { return SparseAutoencoder(config, std::move(weights)); });
}

}  // namespace headlight
