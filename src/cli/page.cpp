#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>

#include "base/printable.h"
#include "base/split.h"
#include "cli/commands.h"
#include "cli/gguf_file.h"
#include "cli/terminal/language.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/text_data.h"
#include "files/input_file.h"
#include "formats/adapter/adapter.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "headlight/base/choices.h"
#include "headlight/base/utf8.h"
#include "serve/file_page.h"
#include "views/report/json_output.h"

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPageScript = "headlight.js";
constexpr const char* kPageProgram = "headlight.wasm.gz";
constexpr Index kLargestProgram = Index{64} << 20;  // bytes
constexpr Index kLargestEmbedded = Index{1} << 30;  // bytes of a model as text in the page
constexpr double kMebibyte = 1 << 20;
constexpr double kMostMemory = 3600 * kMebibyte;  // leaves room for activations
constexpr Index kLargestText = Index{8} << 20;    // bytes

constexpr const char* kPageDetails =
    "Writes one HTML file that holds a model, Headlight as WebAssembly, and the page of headlight "
    "serve. It opens from a disk, without a network, in Chrome, Edge, Firefox and Safari: write "
    "text, watch every attention head, switch heads off, patch, read the logit lens.\n\n"
    "The model is embedded as a GGUF file, so it must be one that headlight export --to gguf can "
    "write. --weights int8 stores matrices in about 1 byte per weight (Q8_0) instead of 4. A "
    "GGUF file is embedded as it is unless --weights is given.\n\n"
    "headlight.js and headlight.wasm.gz come from the folder of --engine, else from "
    "share/headlight/page of the installation, else from the WebAssembly build beside this one "
    "(cmake --preset wasm).\n\n"
    "--separate writes the model into a second file: demo.bin beside demo.html. Web servers then "
    "send a small page, which shows the progress of the download. It does not open from a disk.\n\n"
    "--story FILE.md makes the page a presentation: it shows one step at a time, with a heading, a "
    "few sentences and one view of the model. docs/page.md describes the file, and "
    "data/stories has one about the toy model.\n\n"
    "--train adds a tab in which the reader trains a small model on a text, in the browser. The "
    "trained model then answers in all tabs, and can be downloaded as a run directory. Without "
    "MODEL the page has this tab alone until then.\n\n"
    "JSON keys: file, bytes, model_file (null if embedded), model_bytes, warnings.";

constexpr std::array<std::string_view, 2> kPageWeights{"float32", "int8"};

Options page_options() {
  Options options({.name = "page",
                   .summary = "Write the web page with a model as one file.",
                   .positional = "[MODEL]",
                   .details = kPageDetails,
                   .examples = {"headlight page runs/toy --out toy.html",
                                "headlight page runs/toy --weights int8 --text \"One day\" --out "
                                "toy.html",
                                "headlight page runs/toy --story data/stories/heads.md --out "
                                "story.html",
                                "headlight page --train --out learn.html"}});
  options.value("out", "Write to this file")
      .value("text", "Opening text of the page")
      .value("views",
             "Tabs of the page, the first of which opens: write, chat, heads, layers, pair "
             "(default: all)")
      .value("story", "Markdown file with the steps of a presentation")
      .flag("train", "Add a tab in which the reader trains a small model")
      .value("data", "With --train: text to learn from (default: the toy corpus)")
      .choice("weights",
              "Store matrices in this precision (default: float32, or that of the GGUF file)",
              kPageWeights)
      .flag("separate", "Write the model into a second file, OUT with the ending .bin")
      .value("engine", "Folder with headlight.js and headlight.wasm.gz");
  add_language_option(options, "Language of the page, unless its address or story gives one");
  options.paths({"out", "engine", "story", "data"});
  return options;
}

// Returns the folder with the WebAssembly build. Throws Error with all folders searched.
fs::path engine_folder(const Options& options) {
  std::vector<fs::path> folders;
  if (options.given("engine")) {
    folders.emplace_back(options.text("engine"));
  } else {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    folders = {(program / "../share/headlight/page").lexically_normal(),
               (program / "../wasm").lexically_normal()};
  }
  std::string names;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / kPageProgram) && fs::exists(folder / kPageScript)) {
      return folder;
    }
    names += (names.empty() ? "" : " or ") + shown(folder);
  }
  fail("--engine: found no ", kPageScript, " and ", kPageProgram, " in ", names,
       "; build them with: cmake --preset wasm && cmake --build --preset wasm");
}

// Returns the parts of the page that get tabs. Throws Error for other names and repeated ones.
std::vector<std::string> views_of(const Options& options) {
  std::vector<std::string_view> known(serve::kFilePageViews.begin(), serve::kFilePageViews.end());
  if (options.given("train")) {
    known.push_back(serve::kTrainingView);
  }
  if (!options.given("views")) {
    return {known.begin(), known.end()};
  }
  std::vector<std::string> views = split_at_commas(options.text("views"));
  const std::string names = listed(known);
  require(!views.empty(), "--views: expected ", names, ", got ''");
  for (auto view = views.begin(); view != views.end(); ++view) {
    require(std::ranges::find(known, *view) != known.end(), "--views: expected ", names, ", got ",
            in_quotes(*view));
    require(std::find(views.begin(), view, *view) == view, "--views: names ", *view, " twice");
  }
  if (options.given("train") && std::ranges::find(views, serve::kTrainingView) == views.end()) {
    views.emplace_back(serve::kTrainingView);
  }
  return views;
}

// Returns the toy corpus.
serve::TrainingText toy_text(const fs::path& engine) {
  for (const char* file : {"../data/toy.txt", "../../data/toy.txt"}) {  // installed, or a build
    const fs::path path = (engine / file).lexically_normal();
    if (fs::exists(path)) {
      return {.text = read_whole_file(path, kLargestText), .is_mixed = true};
    }
  }
  fail("--data: expected a text to learn from; there is no toy corpus beside ", shown(engine));
}

// Returns the text of the training tab; nothing without --train.
std::optional<serve::TrainingText> training_text(const Options& options, const fs::path& engine) {
  const bool has_tab = options.given("train");
  require(has_tab || !options.given("data"), "--data: needs --train");
  if (!has_tab || !options.given("data")) {
    return has_tab ? std::optional(toy_text(engine)) : std::nullopt;
  }
  const fs::path path = options.text("data");
  std::string text = read_whole_file(path, kLargestText);
  require(valid_utf8_prefix(text) == text.size(), "--data: ", shown(path), ": expected UTF-8 text");
  return serve::TrainingText{.text = std::move(text)};
}

// Returns the presentation of --story. Throws Error as serve::read_story() does.
serve::Story story_of(const Options& options, const std::vector<std::string>& views,
                      const fs::path& model) {
  if (!options.given("story")) {
    return {};
  }
  const GptConfig config = read_gguf_model(GgufFile(model)).config;
  serve::Story story = serve::read_story(
      options.text("story"), {.views = views, .layers = config.n_layer, .heads = config.n_head});
  require(
      !options.given("lang") || story.language.empty() || story.language == options.text("lang"),
      "--lang: the story gives the language ", story.language, ", got ", options.text("lang"));
  return story;
}

// Checks that the page can open a GGUF file, from its tables alone, and that a browser can hold it.
void require_opens(const fs::path& path, bool is_embedded) {
  read_gguf_vocabulary(GgufFile(path));
  const std::optional<double> stored = stored_weight_bytes(path, false);
  // float32 weights are packed a second time for generation.
  const double memory =
      stored ? *stored
             : 8.0 * static_cast<double>(count_parameters(read_effective_config(path)).total());
  require(memory <= kMostMemory, shown(path), ": needs ", std::lround(memory / kMebibyte),
          " MiB of memory in a browser; WebAssembly has 4096, of which a model can use ",
          std::lround(kMostMemory / kMebibyte), stored ? "" : "; try --weights int8");
  const auto bytes = static_cast<Index>(fs::file_size(path));
  require(!is_embedded || bytes <= kLargestEmbedded, shown(path), ": has ", bytes >> 20,
          " MiB; a page embeds at most ", kLargestEmbedded >> 20,
          ", because a browser holds its text and the model at once; use --separate",
          stored ? "" : " or --weights int8");
}

// GGUF file to embed: the user's, or one that is removed at the end.
class PageModel {
 public:
  // `model` empty: there is none.
  PageModel(const fs::path& model, const Options& options)
      : file_(model.empty() ? model : find_model_directory(model)) {
    const bool is_embedded = !options.given("separate");
    if (model.empty()) {
      return;
    }
    if (is_gguf_file(file_) && !is_adapter(file_) && !options.given("weights")) {
      require_opens(file_, is_embedded);
      return;
    }
    LoadedModel loaded =
        load_model_with_warnings(file_, {.adjust = simplify_heads, .base = base_option(options)});
    temporary_ = fs::path(options.text("out") + ".tmp.gguf");
    const GgufType type = options.text("weights") == "int8" ? GgufType::q8_0 : GgufType::f32;
    try {
      warnings_ = write_gguf_file(*temporary_, loaded, type, true);
      require_opens(*temporary_, is_embedded);
    } catch (...) {
      remove_temporary();  // no destructor runs
      throw;
    }
  }
  ~PageModel() { remove_temporary(); }
  PageModel(const PageModel&) = delete;
  PageModel& operator=(const PageModel&) = delete;

  const fs::path& path() const { return temporary_ ? *temporary_ : file_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void remove_temporary() {
    if (temporary_) {
      std::error_code ignored;
      fs::remove(*temporary_, ignored);
    }
  }

  fs::path file_;
  std::optional<fs::path> temporary_;
  std::vector<std::string> warnings_;
};

// Returns the name of a model: that of its folder or file.
std::string name_of_model(const fs::path& path) {
  const fs::path plain = path.lexically_normal();
  const fs::path last = plain.has_filename() ? plain : plain.parent_path();
  return (last.extension() == ".gguf" ? last.stem() : last.filename()).string();
}

// Returns the model's path, or "" without one. Throws Error for options that need one.
std::string model_of(const Options& options) {
  if (!options.positionals().empty()) {
    return options.positional();
  }
  require(options.given("train"), "expected a MODEL, or --train for a page without one");
  for (const char* option : {"story", "weights", "separate"}) {
    require(!options.given(option), "--", option, ": needs a MODEL");
  }
  return "";
}

// Returns the path of the page. Throws Error if it cannot be one.
fs::path page_path(const Options& options, const std::string& model) {
  require(options.given("out") && !options.text("out").empty(),
          "--out: expected the name of the page, such as demo.html");
  const fs::path out = options.text("out");
  require(!out.has_parent_path() || fs::is_directory(out.parent_path()),
          "--out: expected a file in an existing folder, got ", shown(out));
  std::error_code not_there;
  require(model.empty() || !fs::equivalent(out, model, not_there),
          "--out: expected another file than the model, got ", shown(out));
  return out;
}

bool begins_as_gguf(const fs::path& path) {
  constexpr std::string_view kMagic = "GGUF";
  const InputFile file(path);
  std::array<char, kMagic.size()> begin{};
  if (file.size() >= std::ssize(begin)) {
    file.read(0, std::as_writable_bytes(std::span(begin)));
  }
  return std::string_view(begin.data(), begin.size()) == kMagic;
}

// Returns the path of the model beside the page; empty without --separate. Throws Error for a file
// that no page has written.
fs::path model_path(const Options& options, const fs::path& out) {
  if (!options.given("separate")) {
    return {};
  }
  fs::path model = out;
  model.replace_extension(".bin");
  require(model != out, "--out: expected a name that does not end in .bin, got ", shown(out));
  std::error_code not_there;
  require(!fs::equivalent(model, options.positional(), not_there),
          "--separate: would replace the model; choose another --out than ", shown(out));
  require(!fs::exists(fs::symlink_status(model)) || begins_as_gguf(model),
          "--separate: expected no file or the model of an earlier page, got ", shown(model));
  return model;
}

void page_command(const Options& options) {
  const std::string model = model_of(options);
  const fs::path out = page_path(options, model);
  const fs::path beside = model_path(options, out);
  const fs::path engine = engine_folder(options);
  const std::vector<std::string> views = views_of(options);
  const PageModel file(model, options);
  serve::write_file_page(out,
                         {.script = read_whole_file(engine / kPageScript, kLargestProgram),
                          .program = read_whole_file(engine / kPageProgram, kLargestProgram),
                          .name = name_of_model(model),
                          .source = model,
                          .text = options.given("text") ? options.text("text") : "",
                          .language = std::string(name_of(language_option(options))),
                          .views = views,
                          .story = story_of(options, views, file.path()),
                          .model_file = beside,
                          .training = training_text(options, engine)},
                         file.path());
  log_warnings(file.warnings());
  if (options.json()) {
    print_json({{"file", out.string()},
                {"bytes", fs::file_size(out)},
                {"model_file", beside.empty() ? Json() : Json(beside.string())},
                {"model_bytes", model.empty() ? 0 : fs::file_size(file.path())},
                {"warnings", file.warnings()}});
    return;
  }
  for (const fs::path& written : {out, beside}) {
    std::cout << escaped(written.string()) << (written.empty() ? "" : "\n");
  }
}

}  // namespace

int run_page(const Words& words) { return run(page_options(), words, page_command); }

}  // namespace headlight::cli
