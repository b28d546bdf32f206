#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace headlight {

// The keys that a reader has asked a file for: a config.json, or the metadata of a GGUF file.
class AskedKeys {
 public:
  void add(std::string_view key, bool is_there);
  bool contains(std::string_view key) const { return asked_.find(key) != asked_.end(); }
  // The file's key for a field of GptConfig, "num_attention_heads" for "n_head": of the keys that
  // were asked for one that is there, else any of them, else the field's own name.
  std::string key_of(std::string_view field) const;
  // Calls `check`, which names fields of GptConfig in its Errors. They leave with the file's keys,
  // each behind `prefix`.
  void in_file_keys(std::string_view prefix, const std::function<void()>& check) const;

 private:
  std::string with_file_keys(std::string_view message, std::string_view prefix) const;

  std::map<std::string, bool, std::less<>> asked_;  // whether the key is there
};

}  // namespace headlight
