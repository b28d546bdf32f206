#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "formats/huggingface/config_reader.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

// The keys of one config.json in both directions: each function reads a key into a field, or writes
// the field under the key. A family hence describes its keys once, for files and for models.
// Reading takes `fallback` for a missing key, and throws Error about a key as ConfigReader does.
class ConfigKeys {
 public:
  explicit ConfigKeys(const ConfigReader& reader) : reader_(&reader) {}
  explicit ConfigKeys(Json& json) : json_(&json) {}
  // Returns keys that may be null, which stands for 0 or false: all, or those of a list of words.
  ConfigKeys or_null() const;
  ConfigKeys or_null(std::string_view words) const;

  // The two directions, for what the functions below cannot say. One of both is null.
  const ConfigReader* reader() const { return reader_; }
  Json* json() const { return json_; }
  bool writes() const { return json_ != nullptr; }

  void size(const char* key, Index& value, Index fallback, Index largest = kLargestSize) const;
  void number(const char* key, double& value, double fallback) const;
  // A number above 0.
  void positive(const char* key, double& value, double fallback) const;
  void boolean(const char* key, bool& value, bool fallback) const;
  // A flag that parts share: all are read from it, and the first is written.
  void biases(const char* key, std::initializer_list<std::optional<bool>*> parts,
              bool fallback) const;
  // gelu_new is written as gelu_pytorch_tanh if that is the fallback.
  void activation(const char* key, Activation& value, const char* fallback) const;

  // A flag of which Headlight supports one value. Reading throws Error for the other one.
  void constant(const char* key, bool value) const;
  // Keys that are read, but not written.
  void unwritten(const char* key, bool value) const;  // as constant()
  Index unwritten_size(const char* key, Index fallback, Index smallest = 1) const;
  void ignored(std::initializer_list<const char*> keys) const;  // without effect
  // A key that is written for other programs, and not read.
  void unread(const char* key, const Json& value) const;

 private:
  bool is_nullable(const char* key) const;
  ConfigReader reader_of(const char* key) const;

  const ConfigReader* reader_ = nullptr;
  Json* json_ = nullptr;
  bool all_may_be_null_ = false;
  std::string_view null_keys_ = {};
};

}  // namespace headlight
