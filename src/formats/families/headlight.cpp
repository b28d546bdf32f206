#include <algorithm>
#include <iterator>

#include "formats/families/families.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"
#include "headlight/nn/gpt_config_keys.h"

// Models that no family can express get the type "headlight", so that other tools refuse them
// instead of misreading them: GPT-2's keys and tensors, and a key for each other field.
namespace headlight {
namespace {

// Returns the name of a key in config.json. All of RopeOptions begin with "rope_".
std::string name_in_file(const GptConfigKey& key) {
  const std::string name = key.name;
  const bool has_other = is_of_rope(key) && !name.starts_with("rope_");
  return has_other ? std::string(words_of(key.file_names).front()) : name;
}

// Calls field(key, value) for Headlight's own keys, in the order of config.json.
template <class Field>
void for_each_field(GptConfig& config, const Field& field) {
  for (const GptConfigKey& key : gpt_config_keys()) {
    const std::string name = name_in_file(key);
    const bool is_of_rope = name.starts_with("rope_");
    if (!key.is_gpt2 && (!is_of_rope || config.position == PositionKind::rope)) {
      visit_value(key, config, [&](auto& value) { field(name.c_str(), value); });
    }
  }
}

using Lists = std::vector<std::vector<Index>>;

std::vector<Index> whole_numbers(const Json::List& list) {
  std::vector<Index> numbers;
  std::ranges::transform(list, std::back_inserter(numbers), &Json::integer);
  return numbers;
}

// Reads fields. A field whose key is missing keeps its value.
struct FieldReader {
  const ConfigReader& reader;

  void operator()(const char* key, bool& value) const { value = reader.boolean(key, value); }
  void operator()(const char* key, double& value) const { value = reader.number(key, value); }
  void operator()(const char* key, Index& value) const {
    value = reader.size(key, value, std::min<Index>(value, 1));
  }
  void operator()(const char* key, std::optional<bool>& value) const {
    value = reader.or_null().boolean(key);
  }
  void operator()(const char* key, std::vector<Index>& value) const {
    value = whole_numbers(reader.list(key, &Json::is_integer, "whole numbers"));
  }
  void operator()(const char* key, std::vector<double>& value) const {
    value = reader.numbers(key);
  }
  void operator()(const char* key, Lists& value) const {
    for (const Json& list : reader.list(key, &Json::is_array, "a list of lists")) {
      require_value(std::ranges::all_of(list, &Json::is_integer), key, "expected whole numbers");
      value.push_back(whole_numbers(list.list()));
    }
  }
  template <HasChoices E>
  void operator()(const char* key, E& value) const {
    value = parse_name<E>(key, reader.text(key, std::string(name_of(value))));
  }
};

// Adds fields to a config.json, except optional ones without a value.
struct FieldWriter {
  Json& json;

  template <class T>
  void operator()(const char* key, const T& value) const {
    if constexpr (HasChoices<T>) {
      json[key] = name_of(value);
    } else {
      json[key] = value;
    }
  }
  void operator()(const char* key, const std::optional<bool>& value) const {
    if (value) {
      json[key] = *value;
    }
  }
  void operator()(const char* key, const Lists& value) const {
    if (!value.empty()) {
      json[key] = value;
    }
  }
};

void headlight_keys(const ConfigKeys& keys, GptConfig& config) {
  gpt2_keys(keys, config);
  if (keys.writes()) {
    for_each_field(config, FieldWriter{*keys.json()});
  } else {
    for_each_field(config, FieldReader{*keys.reader()});
  }
}

}  // namespace

std::span<const ModelFamily> headlight_families() {
  static const ModelFamily family{.type = "headlight",
                                  .architecture = "HeadlightForCausalLM",
                                  .layout = gpt2_families().front().layout,
                                  .keys = headlight_keys};
  return {&family, 1};
}

}  // namespace headlight
