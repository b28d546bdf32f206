#pragma once

#include <string>
#include <string_view>

#include "headlight/io/gguf.h"
#include "io/formats/asked_keys.h"

namespace headlight {

// Reads the keys of a GGUF file's metadata that begin with its architecture; what is wrong is said
// about the whole key, "llama.block_count". Remembers which were asked for.
class GgufKeys {
 public:
  GgufKeys(const GgufFile& file, std::string_view architecture);

  std::string whole(std::string_view key) const;
  // Null when there is none.
  const GgufValue* find(std::string_view key);
  // From 1 on, or a list of the same number for every layer. Throws Error when it is missing.
  Index size(std::string_view key);
  // From 0 on.
  Index integer(std::string_view key, Index fallback);
  // A float32 as the shortest decimal number that becomes it: 1e-05, not 9.99999974738e-06.
  double number(std::string_view key);
  double number(std::string_view key, double fallback);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string_view fallback);

  const AskedKeys& asked() const { return asked_; }
  // Throws Error about the first key that nobody has asked for, unless it is 0 or false: the model
  // may compute something else.
  void require_all_known() const;

 private:
  const GgufFile& file_;
  std::string prefix_;
  AskedKeys asked_;
};

}  // namespace headlight
