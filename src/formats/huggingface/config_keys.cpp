#include "formats/huggingface/config_keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr const char* kNewTanhName = "gelu_pytorch_tanh";

// Returns the activation of a name that transformers has for it.
Activation named_activation(const char* key, const std::string& text) {
  if (has_word("gelu_pytorch_tanh gelu_fast gelu_accurate gelu_python_tanh", text)) {
    return Activation::gelu_tanh;
  }
  if (text == "gelu_python" || text == "swish") {
    return text == "swish" ? Activation::silu : Activation::gelu_erf;
  }
  std::vector<std::string_view> names(kChoiceNames<Activation>.begin(),
                                      kChoiceNames<Activation>.end());
  if (std::ranges::count(names, text) == 0) {
    names.insert(names.begin() + 1, kNewTanhName);
    fail_choice(key, names, text);
  }
  return parse_name<Activation>(key, text);
}

}  // namespace

ConfigKeys ConfigKeys::or_null() const {
  ConfigKeys keys = *this;
  keys.all_may_be_null_ = true;
  return keys;
}

ConfigKeys ConfigKeys::or_null(std::string_view words) const {
  ConfigKeys keys = *this;
  keys.null_keys_ = words;
  return keys;
}

bool ConfigKeys::is_nullable(const char* key) const {
  return all_may_be_null_ || has_word(null_keys_, key);
}

ConfigReader ConfigKeys::reader_of(const char* key) const {
  return is_nullable(key) ? reader_->or_null() : *reader_;
}

void ConfigKeys::size(const char* key, Index& value, Index fallback, Index largest) const {
  if (writes()) {
    (*json_)[key] = value == 0 && is_nullable(key) ? Json() : Json(value);
  } else {
    value = reader_of(key).size(key, reader_->is_null(key) ? 0 : fallback, 1, largest);
  }
}

void ConfigKeys::number(const char* key, double& value, double fallback) const {
  if (writes()) {
    (*json_)[key] = value;
  } else {
    value = reader_of(key).number(key, reader_->is_null(key) ? 0 : fallback);
  }
}

void ConfigKeys::positive(const char* key, double& value, double fallback) const {
  if (writes()) {
    (*json_)[key] = value == 0 && is_nullable(key) ? Json() : Json(value);
    return;
  }
  number(key, value, fallback);
  require_value(value > 0 || reader_->find(key) == nullptr, key, "expected ",
                is_nullable(key) ? "null or " : "", "a number above 0, got ", value);
}

void ConfigKeys::boolean(const char* key, bool& value, bool fallback) const {
  if (writes()) {
    (*json_)[key] = value;
  } else {
    value = reader_of(key).boolean(key, !reader_->is_null(key) && fallback);
  }
}

void ConfigKeys::biases(const char* key, std::initializer_list<std::optional<bool>*> parts,
                        bool fallback) const {
  bool has_biases = (*parts.begin())->value_or(fallback);
  boolean(key, has_biases, fallback);
  for (std::optional<bool>* part : parts) {
    *part = has_biases;
  }
}

void ConfigKeys::activation(const char* key, Activation& value, const char* fallback) const {
  if (!writes()) {
    value = named_activation(key, reader_->text(key, fallback));
    return;
  }
  const bool has_new_name = value == Activation::gelu_tanh && fallback == std::string(kNewTanhName);
  (*json_)[key] = has_new_name ? std::string_view(kNewTanhName) : name_of(value);
}

void ConfigKeys::constant(const char* key, bool value) const {
  unread(key, value);
  unwritten(key, value);
}

void ConfigKeys::unwritten(const char* key, bool value) const {
  if (!writes()) {
    reader_of(key).require_default(key, value);
  }
}

Index ConfigKeys::unwritten_size(const char* key, Index fallback, Index smallest) const {
  return writes() ? fallback : reader_of(key).size(key, fallback, smallest);
}

void ConfigKeys::ignored(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (!writes()) {
      reader_->find(key);
    }
  }
}

void ConfigKeys::unread(const char* key, const Json& value) const {
  if (writes()) {
    (*json_)[key] = value;
  }
}

}  // namespace headlight
