#include "formats/huggingface/config_reader.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight {

ConfigReader::ConfigReader(const Json& object, std::span<const KeyAlias> aliases)
    : object_(object), aliases_(aliases) {
  require(object.is_object(), "expected a JSON object");
}

ConfigReader ConfigReader::inside(const char* key) const {
  const Json* object = find(key);
  require_value(object != nullptr && object->is_object(), name(key), "expected an object");
  ConfigReader reader(*object);
  reader.prefix_ = name(key) + ".";
  reader.read_keys_ = read_keys_;
  return reader;
}

ConfigReader ConfigReader::or_null() const {
  ConfigReader reader = *this;
  reader.null_is_missing_ = true;
  return reader;
}

std::string ConfigReader::spelled(const char* key) const {
  const auto has = [&](const KeyAlias& other) {
    return other.key == key && object_.find(other.alias) != nullptr;
  };
  const auto found = std::ranges::find_if(aliases_, has);
  return std::string(found == aliases_.end() ? key : found->alias);
}

const Json* ConfigReader::find(const char* key) const {
  const Json* found = is_null(key) ? nullptr : object_.find(spelled(key));
  read_keys_->add(prefix_ + key, false);
  read_keys_->add(name(key), found != nullptr);
  return found;
}

bool ConfigReader::is_null(const char* key) const {
  const Json* found = object_.find(spelled(key));
  return found != nullptr && found->is_null();
}

const Json* ConfigReader::find(const char* key, bool (Json::*is_kind)() const,
                               const char* kind) const {
  const Json* value = find(key);
  require_value(null_is_missing_ || !is_null(key), name(key), "expected ", kind, ", got null");
  require_value(value == nullptr || (value->*is_kind)(), name(key), "expected ", kind);
  return value;
}

Index ConfigReader::size(const char* key, Index fallback, Index smallest, Index largest) const {
  const Json* value = find(key, &Json::is_integer, "a whole number");
  if (value == nullptr) {
    return fallback;
  }
  const Index size = value->integer();
  require_value(size >= smallest && size <= largest, name(key), "expected ", smallest, " to ",
                largest, ", got ", size);
  return size;
}

double ConfigReader::number(const char* key, double fallback) const {
  const Json* value = find(key, &Json::is_number, "a number");
  return value == nullptr ? fallback : value->number();
}

std::optional<bool> ConfigReader::boolean(const char* key) const {
  const Json* value = find(key, &Json::is_boolean, "true or false");
  return value == nullptr ? std::nullopt : std::optional<bool>(value->boolean());
}

bool ConfigReader::boolean(const char* key, bool fallback) const {
  return boolean(key).value_or(fallback);
}

std::string ConfigReader::text(const char* key, const std::string& fallback) const {
  const Json* value = find(key, &Json::is_string, "a text");
  return value == nullptr ? fallback : value->text();
}

Json::List ConfigReader::list(const char* key, bool (Json::*is_kind)() const,
                              const char* kinds) const {
  const Json* value = or_null().find(key, &Json::is_array, "a list");
  Json::List elements = value == nullptr ? Json::List() : value->list();
  require_value(std::ranges::all_of(elements, is_kind), name(key), "expected ", kinds);
  return elements;
}

std::vector<double> ConfigReader::numbers(const char* key) const {
  std::vector<double> values;
  for (const Json& value : list(key, &Json::is_number, "numbers")) {
    values.push_back(value.number());
  }
  return values;
}

void ConfigReader::require_default(const char* key, bool supported) const {
  require_value(boolean(key, supported) == supported, name(key), "only ",
                supported ? "true" : "false", " is supported");
}

}  // namespace headlight
