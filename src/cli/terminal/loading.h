#pragma once

#include <filesystem>
#include <memory>

#include "headlight/formats/model_directory.h"
#include "headlight/text/tokenizer.h"

namespace headlight::cli {

// load_model() and open_tokenizer() that log the warnings of the files.
LoadedModel load_model_with_warnings(const std::filesystem::path& path,
                                     const LoadOptions& options = {});
std::unique_ptr<Tokenizer> open_tokenizer_aloud(const std::filesystem::path& path);

}  // namespace headlight::cli
