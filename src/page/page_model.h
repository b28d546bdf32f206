#pragma once

#include <filesystem>

#include "headlight/formats/model_directory.h"

namespace headlight::wasm {

// Loads the GGUF file that `headlight page` embeds in a page. Other formats would triple the size
// of the program. Throws Error as load_model() does.
LoadedModel load_page_model(const std::filesystem::path& path);

}  // namespace headlight::wasm
