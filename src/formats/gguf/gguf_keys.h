#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "formats/huggingface/read_keys.h"
#include "headlight/formats/gguf/gguf.h"

namespace headlight {

// Reads the metadata keys of a GGUF file that begin with its architecture. Errors name the whole
// key, "llama.block_count". Remembers which keys were looked up.
class GgufKeys {
 public:
  GgufKeys(const GgufFile& file, std::string_view architecture);

  std::string whole(std::string_view key) const;
  // Returns the value of a key; null if it is missing.
  const GgufValue* find(std::string_view key);
  // Returns an integer from 1 on, or the common value of a list for all layers. Throws Error if the
  // key is missing.
  Index size(std::string_view key);
  // Returns an integer from 0 on.
  Index integer(std::string_view key, Index fallback);
  // Returns a number. A float32 gives the shortest decimal that rounds to it: 1e-05, not 9.99e-06.
  // Throws Error if the key is missing, without a fallback.
  double number(std::string_view key, std::optional<double> fallback = {});
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string_view fallback);

  const ReadKeys& read_keys() const { return read_keys_; }
  // Throws Error about the first key that was not looked up, unless it is 0 or false: it might
  // change the model's function.
  void require_all_known() const;

 private:
  const GgufFile& file_;
  std::string prefix_;
  ReadKeys read_keys_;
};

// Adds keys of one architecture to metadata.
class GgufKeyWriter {
 public:
  GgufKeyWriter(std::string_view architecture, GgufMetadata& metadata)
      : prefix_(std::string(architecture) + "."), metadata_(metadata) {}

  void size(const char* key, Index value) { add(key, static_cast<std::uint32_t>(value)); }
  void number(const char* key, double value) { add(key, static_cast<float>(value)); }
  void add(const char* key, GgufValue value) {
    metadata_.emplace_back(prefix_ + key, std::move(value));
  }

 private:
  std::string prefix_;
  GgufMetadata& metadata_;
};

}  // namespace headlight
