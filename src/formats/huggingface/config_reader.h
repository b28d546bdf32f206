#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "formats/huggingface/read_keys.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

// Another name of a key, which has priority: attribute_map in transformers' configurations.
struct KeyAlias {
  std::string_view alias;
  std::string_view key;
};

// Reads members of one config.json. Errors name their keys. transformers refuses null for numbers,
// flags and texts, unless null is the usual value. Hence all functions for them throw Error for it,
// except in or_null().
class ConfigReader {
 public:
  // Throws Error unless `object` is a JSON object.
  explicit ConfigReader(const Json& object, std::span<const KeyAlias> aliases = {});
  // Returns a reader of the object under a key. Error messages call its members "KEY.MEMBER".
  // Throws Error unless it is an object.
  ConfigReader inside(const char* key) const;
  // Returns a reader of the same object, to which a key with null is missing.
  ConfigReader or_null() const;

  // Returns the name of a member in messages.
  std::string name(const char* key) const { return prefix_ + spelled(key); }
  const ReadKeys& read_keys() const { return *read_keys_; }
  const Json* find(const char* key) const;
  bool is_null(const char* key) const;  // true if the key exists and is null
  // Returns a size. Throws Error above `largest`, before a size can overflow or become memory.
  Index size(const char* key, Index fallback, Index smallest = 1,
             Index largest = kLargestSize) const;
  double number(const char* key, double fallback) const;
  std::optional<bool> boolean(const char* key) const;
  bool boolean(const char* key, bool fallback) const;
  std::string text(const char* key, const std::string& fallback) const;
  // Returns the elements of a list; none if the key is missing or null. Throws Error unless all are
  // of the kind.
  Json::List list(const char* key, bool (Json::*is_kind)() const, const char* kinds) const;
  std::vector<double> numbers(const char* key) const;
  // Throws Error for any other value, because the model would then compute something else.
  void require_default(const char* key, bool supported) const;

 private:
  // Returns the value of a key of config.json; nullptr: missing. Throws Error about the key if the
  // value is of another kind, or null where null does not count as missing.
  const Json* find(const char* key, bool (Json::*is_kind)() const, const char* kind) const;

  // Returns the alias of a key if the object has it, else the key.
  std::string spelled(const char* key) const;

  const Json& object_;
  std::span<const KeyAlias> aliases_;
  std::string prefix_;
  bool null_is_missing_ = false;
  std::shared_ptr<ReadKeys> read_keys_ = std::make_shared<ReadKeys>();
};

}  // namespace headlight
