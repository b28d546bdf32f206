#include "io/gpt2_names.h"

namespace headlight {
namespace {

constexpr std::string_view kPrefix = "transformer.";

}  // namespace

std::string gpt2_name(const Weight& weight) {
  return weight.part == Part::head ? weight.name : std::string(kPrefix) + weight.name;
}

std::string own_name(const std::string& gpt2_name) {
  return gpt2_name.starts_with(kPrefix) ? gpt2_name.substr(kPrefix.size()) : gpt2_name;
}

bool is_conv1d(const Weight& weight) { return weight.multiplied && weight.layer != kNoLayer; }

bool is_mask_buffer(std::string_view own_name) {
  return own_name.ends_with(".attn.bias") || own_name.ends_with(".attn.masked_bias");
}

}  // namespace headlight
