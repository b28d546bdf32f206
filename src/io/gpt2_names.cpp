#include "io/gpt2_names.h"

namespace headlight {
namespace {

constexpr std::string_view kPrefix = "transformer.";

}  // namespace

std::string gpt2_name(const std::string& own_name) {
  return own_name.starts_with("lm_head") ? own_name : std::string(kPrefix) + own_name;
}

std::string own_name(const std::string& gpt2_name) {
  return gpt2_name.starts_with(kPrefix) ? gpt2_name.substr(kPrefix.size()) : gpt2_name;
}

bool is_conv1d(std::string_view own_name) {
  return own_name.ends_with("c_attn.weight") || own_name.ends_with("c_proj.weight") ||
         own_name.ends_with("c_fc.weight");
}

bool is_mask_buffer(std::string_view own_name) {
  return own_name.ends_with(".attn.bias") || own_name.ends_with(".attn.masked_bias");
}

}  // namespace headlight
