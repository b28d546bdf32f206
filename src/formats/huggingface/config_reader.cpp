#include "formats/huggingface/config_reader.h"

#include "headlight/base/error.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

ConfigReader::ConfigReader(const Json& object) : object_(object) {
  require(object.is_object(), "expected a JSON object");
}

ConfigReader ConfigReader::inside(const char* key) const {
  const Json* object = find(key);
  require_value(object != nullptr && object->is_object(), name(key), "expected an object");
  ConfigReader reader(*object);
  reader.prefix_ = name(key) + ".";
  reader.asked_ = asked_;
  return reader;
}

const Json* ConfigReader::find(const char* key) const {
  const Json* found = object_.find(key);
  asked_->add(name(key), found != nullptr && !found->is_null());
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool ConfigReader::is_null(const char* key) const {
  const Json* found = object_.find(key);
  return found != nullptr && found->is_null();
}

Index ConfigReader::integer(const char* key, Index fallback) const {
  const Json* value = find(key);
  require_value(value == nullptr || value->is_integer(), name(key), "expected a whole number");
  return value == nullptr ? fallback : value->integer();
}

Index ConfigReader::size(const char* key, Index fallback, Index smallest) const {
  const Index value = integer(key, fallback);
  require_value(find(key) == nullptr || (value >= smallest && value <= kLargestSize), name(key),
                "expected ", smallest, " to ", kLargestSize, ", got ", value);
  return value;
}

double ConfigReader::number(const char* key, double fallback) const {
  const Json* value = find(key);
  require_value(value == nullptr || value->is_number(), name(key), "expected a number");
  return value == nullptr ? fallback : value->number();
}

std::optional<bool> ConfigReader::boolean(const char* key) const {
  const Json* value = find(key);
  require_value(value == nullptr || value->is_boolean(), name(key), "expected true or false");
  return value == nullptr ? std::nullopt : std::optional<bool>(value->boolean());
}

std::string ConfigReader::text(const char* key, const std::string& fallback) const {
  const Json* value = find(key);
  require_value(value == nullptr || value->is_string(), name(key), "expected a text");
  return value == nullptr ? fallback : value->text();
}

std::vector<Index> ConfigReader::integers(const char* key) const {
  const Json* value = find(key);
  require_value(value == nullptr || value->is_array(), name(key), "expected a list");
  std::vector<Index> result;
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    require_value((*value)[i].is_integer(), name(key), "expected whole numbers");
    result.push_back((*value)[i].integer());
  }
  return result;
}

std::vector<std::string> ConfigReader::texts(const char* key) const {
  const Json* value = find(key);
  require_value(value == nullptr || value->is_array(), name(key), "expected a list");
  std::vector<std::string> result;
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    require_value((*value)[i].is_string(), name(key), "expected texts");
    result.push_back((*value)[i].text());
  }
  return result;
}

void ConfigReader::require_default(const char* key, bool supported) const {
  require_value(boolean(key, supported) == supported, name(key), "only ",
                supported ? "true" : "false", " is supported");
}

}  // namespace headlight
