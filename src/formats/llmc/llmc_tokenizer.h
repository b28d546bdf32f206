#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

inline constexpr std::string_view kLlmcTokenizerFile = "gpt2_tokenizer.bin";

// True for a file NAME.bin with the header of llm.c's tokenizers.
bool is_llmc_tokenizer(const std::filesystem::path& path);

// Reads llm.c's gpt2_tokenizer.bin: the bytes of each token, in the order of ids. GPT-2's merges,
// which the file lacks, follow from that order: a merge comes before merges of higher ids. Throws
// Error, one line that begins with `name`, for other files, and if a token follows from no merge.
std::unique_ptr<Tokenizer> parse_llmc_tokenizer(std::string_view bytes, std::string_view name);

}  // namespace headlight
