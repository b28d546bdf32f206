#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/file_page/story.h"

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

// Parts of the page of one file. With a training text it also has kTrainingView.
inline constexpr std::array<std::string_view, 5> kFilePageViews{"write", "chat", "heads", "layers",
                                                                "pair"};
inline constexpr std::string_view kTrainingView = "train";

// Text from which the page's reader trains a model.
struct TrainingText {
  std::string text;
  // The page takes its own language's documents, between blank lines, of several languages.
  bool is_mixed = false;
};

// Contents of a page of one file, besides its model.
struct FilePage {
  PageEngine engine;
  std::string name = {};         // of the model, as the page shows it
  std::string source = {};       // path of the model for commands that readers copy
  std::string text = {};         // opening text; empty: the page's own
  std::string language = "en";   // or "ko"; that of a single story comes first
  bool follows_browser = false;  // opens in the language of the browser
  // Parts of the page that have tabs, of kFilePageViews or kTrainingView. The first one opens.
  std::vector<std::string> views = {};
  std::vector<Story> stories = {};  // steps to show first, at most one story for each language
  // File for the model, in the folder of the page, which fetches it. Empty: the page embeds it.
  std::filesystem::path model_file = {};
  std::optional<TrainingText> training = {};
  std::function<void(double share)> progress = [](double) {
  };  // called after each part of the model
};

// Writes the page of `headlight serve` as one HTML file, which asks the embedded program instead of
// a server. `model` is a GGUF file; "": the page has none until its reader trains one. The page
// sends no request: its policy forbids all, except those to its own server for `model_file`.
// Replaces each file in one step, the page last. Throws Error if the model cannot be read or the
// page not be written.
void write_file_page(const std::filesystem::path& out, const FilePage& page,
                     const std::filesystem::path& model);

}  // namespace headlight::serve
