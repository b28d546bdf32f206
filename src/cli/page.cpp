#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/gguf_file.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/language.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "formats/adapter/adapter.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "headlight/base/choices.h"
#include "headlight/base/utf8.h"
#include "headlight/storage/unfinished.h"
#include "serve/file_page/file_page.h"
#include "show/report/parts/json_output.h"
#include "storage/input_file.h"

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kEngineMinutes = 5;                   // to build it on 2 cores
constexpr Index kLargestEmbedded = Index{1} << 30;  // bytes of a model as text in the page
constexpr double kMebibyte = 1 << 20;
constexpr double kMostMemory = 3600 * kMebibyte;    // leaves room for activations
constexpr Index kLargestPageText = Index{8} << 20;  // bytes

constexpr const char* kPageDetails =
    "Writes one HTML file that holds a model, Headlight as WebAssembly, and the page of headlight "
    "serve. It opens from a disk, without a network, in Chrome, Edge, Firefox and Safari: write "
    "text, watch every attention head, switch heads off, patch, read the logit lens.\n\n"
    "The model is embedded as a GGUF file, so it must be one that headlight export --to gguf can "
    "write. --weights int8 stores matrices in about 1 byte per weight (Q8_0) instead of 4. A "
    "GGUF file is embedded as it is unless --weights is given.\n\n"
    "headlight.js and headlight.wasm.gz come from --engine, else from share/headlight/page of the "
    "installation, else from the WebAssembly build beside this one (cmake --preset wasm), else "
    "from demo.html of the installation or the source folder, which has those of the last release. "
    "--engine takes their folder, or a page of this version that has them.\n\n"
    "--separate writes the model into a second file: demo.bin beside demo.html. Web servers then "
    "send a small page, which shows the progress of the download. It does not open from a disk.\n\n"
    "--story FILE.md makes the page a presentation: it shows one step at a time, with a heading, a "
    "few sentences and one view of the model. docs/page.md describes the file, and "
    "data/stories has one about the toy model. With two stories, one for each language, the page "
    "opens in the language of --lang, else of the browser, and has a link to the other.\n\n"
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
      .values("story", "Markdown file with the steps of a presentation, one for each language")
      .flag("train", "Add a tab in which the reader trains a small model")
      .value("data", "With --train: text to learn from (default: the toy corpus)")
      .choice("weights",
              "Store matrices in this precision (default: float32, or that of the GGUF file)",
              kPageWeights)
      .flag("separate", "Write the model into a second file, OUT with the ending .bin")
      .value("engine", "Folder with headlight.js and headlight.wasm.gz, or a page that has them");
  add_language_option(options, "Language of the page, unless its address or story gives one");
  options.paths({"out", "engine", "story", "data"})
      .basic({"out", "text", "views", "story", "train", "weights", "engine"});
  return options;
}

// Returns a path that is given relative to the folder of the program.
fs::path beside_program(const char* path) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return (program / path).lexically_normal();
}

// Returns the WebAssembly build of --engine, the installation, the build beside this one, or the
// demo page.
serve::PageEngine engine_of(const Options& options) {
  const fs::path wanted = options.text("engine");
  std::vector<fs::path> candidates{wanted};
  if (!options.given("engine")) {
    candidates = {beside_program("../share/headlight/page"), beside_program("../wasm"),
                  beside_program("../share/headlight/page/demo.html"),
                  beside_program("../../docs/demo.html")};
  }
  for (const fs::path& candidate : candidates) {
    if (fs::is_regular_file(candidate) || serve::has_page_engine(candidate)) {
      log_debug(concat_text("takes the WebAssembly program from ", shown(candidate)));
      return in_place("--engine: ", [&] { return serve::read_page_engine(candidate); });
    }
  }
  fail("--engine: found no ", serve::kEngineScript, " and ", serve::kEngineProgram, " in ",
       joined(transformed(candidates, [](const fs::path& candidate) { return shown(candidate); }),
              " or "),
       "; build them in the source folder with Emscripten, in ", kEngineMinutes,
       " minutes on 2 cores: cmake --preset wasm && cmake --build --preset wasm; or name ready "
       "ones: --engine FOLDER, such as share/headlight/page of an installed package or wheel, or "
       "--engine PAGE.html, a page that holds them, such as docs/demo.html");
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

// Returns the toy corpus of the installation or source folder that has the engine or the program.
serve::TrainingText toy_text(const Options& options) {
  const fs::path engine = options.text("engine");
  const std::vector<fs::path> folders =
      fs::is_directory(engine)
          ? std::vector{engine / "..", engine / "../.."}
          : std::vector{beside_program("../share/headlight"), beside_program("../..")};
  for (const fs::path& folder : folders) {
    if (const fs::path path = (folder / "data/toy.txt").lexically_normal(); fs::exists(path)) {
      return {.text = read_whole_file(path, kLargestPageText), .is_mixed = true};
    }
  }
  fail("--data: expected a text to learn from; the toy corpus is not installed");
}

// Returns the text of the training tab; nothing without --train.
std::optional<serve::TrainingText> training_text(const Options& options) {
  const bool has_tab = options.given("train");
  require(has_tab || !options.given("data"), "--data: needs --train");
  if (!has_tab || !options.given("data")) {
    return has_tab ? std::optional(toy_text(options)) : std::nullopt;
  }
  const fs::path path = options.text("data");
  std::string text = read_whole_file(path, kLargestPageText);
  require(valid_utf8_prefix(text) == text.size(), "--data: ", shown(path), ": expected UTF-8 text");
  return serve::TrainingText{.text = std::move(text)};
}

// Throws Error unless the languages of stories differ, and that of a single one is `language`
// (empty: any).
void check_story_languages(const std::vector<serve::Story>& stories, const std::string& language) {
  if (stories.size() == 1) {
    const std::string& own = stories.front().language;
    require(language.empty() || own.empty() || own == language,
            "--lang: the story gives the language ", own, ", got ", language);
    return;
  }
  std::vector<std::string> known;
  for (const serve::Story& story : stories) {
    require(!story.language.empty(),
            "--story: expected a language (lang=en or lang=ko) in each of ", stories.size(),
            " stories; ", in_quotes(story.title), " has none");
    require(std::ranges::find(known, story.language) == known.end(),
            "--story: expected one story for each language, got two in ", story.language);
    known.push_back(story.language);
  }
}

// Returns the presentations of --story. Throws Error as serve::read_story() does.
std::vector<serve::Story> stories_of(const Options& options, const std::vector<std::string>& views,
                                     const fs::path& model) {
  std::vector<serve::Story> stories;
  if (!options.given("story")) {
    return stories;
  }
  const GptConfig config = read_gguf_model(GgufFile(model)).config;
  for (const std::string& file : options.texts("story")) {
    stories.push_back(serve::read_story(
        file, {.views = views, .layers = config.n_layer, .heads = config.n_head}));
  }
  check_story_languages(stories, options.given("lang") ? options.text("lang") : "");
  return stories;
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
    LoadedModel loaded = load_model_with_warnings(
        file_, {.adjust = simplify_heads, .base = base_option(options, file_)});
    temporary_.emplace(options.text("out") + ".tmp.gguf");
    const GgufType type = options.text("weights") == "int8" ? GgufType::q8_0 : GgufType::f32;
    warnings_ = write_gguf_file(temporary_->path(), loaded, type, true);
    require_opens(temporary_->path(), is_embedded);
  }

  const fs::path& path() const { return temporary_ ? temporary_->path() : file_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  fs::path file_;
  std::optional<Unfinished> temporary_;
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
  serve::PageEngine engine = engine_of(options);
  const std::vector<std::string> views = views_of(options);
  const PageModel file(model, options);
  serve::write_file_page(
      out,
      {.engine = std::move(engine),
       .name = name_of_model(model),
       .source = model,
       .text = options.given("text") ? options.text("text") : "",
       .language = std::string(name_of(language_option(options))),
       .follows_browser = options.texts("story").size() > 1 && !options.given("lang"),
       .views = views,
       .stories = stories_of(options, views, file.path()),
       .model_file = beside,
       .training = training_text(options),
       .progress = progress_bar("writing")},
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
