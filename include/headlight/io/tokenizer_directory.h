#pragma once

#include <filesystem>
#include <memory>

#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer in a folder: tokenizer.json or, where that is missing, GPT-2's vocab.json and
// merges.txt. Throws Error naming the file when there is none or Headlight cannot reproduce it.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory);

}  // namespace headlight
