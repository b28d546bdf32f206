#include "formats/huggingface/read_keys.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

// Fields of GptConfig, and their keys in files of other programs. Keys inside an object, for
// example rope_scaling, are listed without the object's name.
constexpr std::pair<std::string_view, std::string_view> kFileKeys[] = {
    {"vocab_size", "vocab_size"},
    {"block_size", "n_positions n_ctx max_position_embeddings context_length"},
    {"n_layer", "num_layers num_hidden_layers block_count"},
    {"n_head", "num_heads num_attention_heads attention.head_count"},
    {"n_kv_head", "num_key_value_heads attention.head_count_kv"},
    {"n_embd", "hidden_size embedding_length"},
    {"n_inner", "intermediate_size ffn_dim feed_forward_length"},
    {"head_width", "head_dim attention.key_length"},
    {"attention_dropout", "attn_pdrop"},
    {"residual_dropout",
     "resid_pdrop resid_dropout hidden_dropout dropout headlight_residual_dropout"},
    {"embedding_dropout", "embd_pdrop embed_dropout hidden_dropout headlight_embedding_dropout"},
    {"layer_norm_epsilon",
     "layer_norm_eps rms_norm_eps norm_epsilon attention.layer_norm_epsilon "
     "attention.layer_norm_rms_epsilon"},
    {"windows", "window_size sliding_window attention.sliding_window"},
    {"attention_scale", "query_pre_attn_scalar attention_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"logit_scale", "logits_scaling"},
    {"attention_cap", "attn_logit_softcapping"},
    {"logit_cap", "final_logit_softcapping"},
    {"qkv_clip", "clip_qkv"},
    {"attention_factor", "rope_attention_factor"},
    {"short_factor", "rope_short_factors"},
    {"long_factor", "rope_long_factors"},
    {"rope_per_layer", "no_rope_layers"},
    {"rope_theta", "rotary_emb_base rope.freq_base"},
    {"rope_local_theta", "rope_local_base_freq rope.freq_base_swa"},
    {"rotary_pct", "partial_rotary_factor rope_width rope.dimension_count"},
    {"rope_factor", "factor"},
    {"low_freq_factor", "rope_low_freq_factor"},
    {"high_freq_factor", "rope_high_freq_factor"},
    {"beta_fast", "rope_beta_fast"},
    {"beta_slow", "rope_beta_slow"},
    {"original_max_position_embeddings", "rope_original_block_size"},
};

bool is_field(std::string_view word) {
  return std::ranges::any_of(kFileKeys, [&](const auto& row) { return row.first == word; });
}

bool is_in_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// True for the key itself and for the key inside an object, "rope_scaling.factor".
bool is_key(std::string_view found, std::string_view key) {
  return found == key || (found.ends_with(key) && found[found.size() - key.size() - 1] == '.');
}

}  // namespace

void ReadKeys::add(std::string_view key, bool is_there) {
  keys_.insert_or_assign(std::string(key), is_there);
}

std::string ReadKeys::key_of(std::string_view field) const {
  std::vector<std::string_view> names{field};
  for (const auto& [of_field, keys] : kFileKeys) {
    if (of_field == field) {
      std::ranges::copy(words_of(keys), std::back_inserter(names));
    }
  }
  std::string found(field);
  bool is_read = false;
  for (const std::string_view name : names) {
    for (const auto& [key, is_there] : keys_) {
      if (is_key(key, name) && is_there) {
        return key;
      }
      if (is_key(key, name) && !is_read) {
        found = key;
        is_read = true;
      }
    }
  }
  return found;
}

std::string ReadKeys::with_file_keys(std::string_view message, std::string_view prefix) const {
  std::string result;
  while (!message.empty()) {
    const auto* end = std::find_if_not(message.begin(), message.end(), is_in_word);
    const auto length = std::max<std::size_t>(1, static_cast<std::size_t>(end - message.begin()));
    const std::string_view word = message.substr(0, length);
    result += is_field(word) ? std::string(prefix) + key_of(word) : std::string(word);
    message.remove_prefix(length);
  }
  return result;
}

void ReadKeys::in_file_keys(std::string_view prefix, const std::function<void()>& check) const {
  try {
    check();
  } catch (const Error& error) {
    if (!is_field(error.about())) {
      throw;
    }
    throw Error(with_file_keys(error.what(), prefix), std::string(prefix) + key_of(error.about()));
  }
}

}  // namespace headlight
