#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight::serve {

// Files of the WebAssembly build.
inline constexpr std::string_view kEngineScript = "headlight.js";
inline constexpr std::string_view kEngineProgram = "headlight.wasm.gz";

// Names of the elements and the key of a page that hold them.
inline constexpr std::string_view kPageSettings = "page-settings";
inline constexpr std::string_view kPageProgram = "page-program";
inline constexpr std::string_view kEngineKey = "engine";

// Headlight as WebAssembly, which pages of one file embed.
struct PageEngine {
  std::string script;   // headlight.js
  std::string program;  // headlight.wasm.gz
};

// True if the folder holds both files.
bool has_page_engine(const std::filesystem::path& folder);

// Reads the engine from a folder with its two files, from one of these files and the other beside
// it, or from a page that holds it. Throws Error if it cannot be read.
PageEngine read_page_engine(const std::filesystem::path& path);

}  // namespace headlight::serve
