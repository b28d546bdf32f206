#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace headlight {

// The keys that a reader has looked up in a config.json or in the metadata of a GGUF file.
class ReadKeys {
 public:
  void add(std::string_view key, bool is_there);
  bool contains(std::string_view key) const { return keys_.find(key) != keys_.end(); }
  // Returns the file's key for a field of GptConfig: "num_attention_heads" for "n_head". Prefers a
  // key that was looked up and exists, then one that was looked up, then the field's name.
  std::string key_of(std::string_view field) const;
  // Calls `check`. In its errors, replaces fields of GptConfig by the file's keys after `prefix`.
  void in_file_keys(std::string_view prefix, const std::function<void()>& check) const;

 private:
  std::string with_file_keys(std::string_view message, std::string_view prefix) const;

  std::map<std::string, bool, std::less<>> keys_;  // true: the key exists
};

}  // namespace headlight
