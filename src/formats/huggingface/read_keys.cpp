#include "formats/huggingface/read_keys.h"

#include <algorithm>
#include <iterator>

#include "formats/word_list.h"
#include "headlight/base/error.h"
#include "headlight/nn/gpt_config_keys.h"

namespace headlight {
namespace {

std::string_view name_in_messages(const GptConfigKey& key) {
  return key.name == std::string_view("rope_width") ? "rotary_pct" : key.name;
}

bool is_field(std::string_view word) {
  return std::ranges::any_of(gpt_config_keys(), [&](const GptConfigKey& key) {
    return name_in_messages(key) == word && !key.file_names.empty();
  });
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
  for (const GptConfigKey& key : gpt_config_keys()) {
    if (name_in_messages(key) == field) {
      std::ranges::copy(words_of(key.file_names), std::back_inserter(names));
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
