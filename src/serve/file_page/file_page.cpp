#include "serve/file_page/file_page.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/share.h"
#include "base/strings/base64.h"
#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "serve/page_files.h"
#include "storage/input_file.h"

namespace headlight::serve {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestProgram = Index{64} << 20;  // bytes
constexpr Index kLargestHead = Index{128} << 20;    // bytes of a page before its model

// Returns the text of a page's element; nothing if the page has none of this name.
std::optional<std::string_view> element_text(std::string_view html, std::string_view name) {
  const std::string opening = concat_text("id=\"", name, "\">");
  const std::size_t at = html.find(opening);
  const std::size_t end = at == std::string_view::npos ? at : html.find("</script>", at);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t begin = at + opening.size();
  return html.substr(begin, end - begin);
}

PageEngine engine_of_page(const fs::path& page) {
  const InputFile file(page);
  std::string head(static_cast<std::size_t>(std::min(file.size(), kLargestHead)), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)));
  const auto settings = element_text(head, kPageSettings);
  const auto program = element_text(head, kPageProgram);
  const std::optional<Json> json = settings ? try_parse_json(*settings) : std::nullopt;
  const Json* script = json && json->is_object() ? json->find(kEngineKey) : nullptr;
  std::optional<std::string> bytes = program ? bytes_of_base64(*program) : std::nullopt;
  require(script != nullptr && script->is_string() && bytes.has_value(), shown(page),
          ": expected a folder with ", kEngineScript, " and ", kEngineProgram,
          ", or a page of headlight page, which holds them");
  return {.script = script->text(), .program = std::move(*bytes)};
}

// Bytes of the model in one element; a multiple of 3, so that only the last text is padded.
constexpr Index kPartBytes = Index{6} << 20;

// Model in a file beside the page. An empty name: the page embeds it.
struct ModelFile {
  std::string name = {};
  Index bytes = 0;
  Index modified = 0;  // time, so that no browser takes an older file from its cache
};

Json stories_json(const std::vector<Story>& stories) {
  Json all = Json::array();
  for (const Story& story : stories) {
    Json steps = Json::array();
    for (const StoryStep& step : story.steps) {
      steps.push_back({{"title", step.title}, {"address", step.address}, {"text", step.text}});
    }
    all.push_back({{"title", story.title}, {"language", story.language}, {"steps", steps}});
  }
  return all;
}

Json training_json(const std::optional<TrainingText>& training) {
  return training ? Json{{"text", training->text}, {"mixed", training->is_mixed}} : Json();
}

// Returns the script of the page's workers, without Emscripten's.
std::string worker_script(const FilePage& page) {
  std::string script(contents_of(serve_page_files(), "live/file/worker.js"));
  if (page.training) {
    script += contents_of(serve_page_files(), "live/file/worker_train.js");
  }
  return script;
}

std::string settings_json(const FilePage& page, const ModelFile& model) {
  return embedded_json({{"name", page.name},
                        {"source", page.source},
                        {"text", page.text},
                        {"views", page.views},
                        {"stories", stories_json(page.stories)},
                        {"bytes", model.bytes},
                        {"file", model.name},
                        {"version", std::to_string(model.modified)},
                        {"training", training_json(page.training)},
                        {kEngineKey, page.engine.script},
                        {"script", worker_script(page)}});
}

std::string element_of(std::string_view attributes, std::string_view text) {
  return concat_text("<script type=\"text/plain\" ", attributes, ">", text, "</script>\n");
}

// Returns the page up to the model. Its script is no module: it starts before the model arrives.
std::string page_head(const FilePage& page, const ModelFile& model) {
  const bool is_own = page.stories.size() == 1 && !page.stories.front().language.empty();
  PageValues values = live_page_values(is_own ? page.stories.front().language : page.language);
  values["attributes"] += page.follows_browser ? " data-follows-browser" : "";
  values["policy"] = policy_element(
      " 'wasm-unsafe-eval'",
      concat_text("worker-src blob:; ", model.name.empty() ? "" : "connect-src 'self'; "));
  values["data"] =
      element_of(concat_text("id=\"", kPageSettings, "\""), settings_json(page, model));
  values["script"] =
      allowed_element("script", "",
                      concat_text("'use strict';\n{\n",
                                  contents_of(serve_page_files(), "live/file/main.js"), "}\n"));
  return page_start({serve_page_files(), "live/"}, std::move(values));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Calls `see` with each part of a file, then `progress`.
template <typename See>
void for_each_part(const InputFile& file, const std::function<void(double)>& progress,
                   const See& see) {
  for (Index begin = 0; begin < file.size(); begin += kPartBytes) {
    std::vector<std::byte> part(
        static_cast<std::size_t>(std::min(kPartBytes, file.size() - begin)));
    file.read(begin, part);
    see(std::span<const std::byte>(part));
    progress(share_of(begin + std::ssize(part), file.size()));
  }
}

ModelFile write_model_file(const std::filesystem::path& folder, const FilePage& page,
                           const InputFile& model) {
  const std::string name = page.model_file.filename().string();
  replace_file(folder / name, [&](FileWriter& writer) {
    for_each_part(model, page.progress,
                  [&](std::span<const std::byte> part) { writer.write(part); });
  });
  return {.name = name, .bytes = model.size(), .modified = model.modified()};
}

}  // namespace

bool has_page_engine(const fs::path& folder) {
  return fs::exists(folder / kEngineScript) && fs::exists(folder / kEngineProgram);
}

PageEngine read_page_engine(const fs::path& path) {
  const bool is_part = path.filename() == kEngineScript || path.filename() == kEngineProgram;
  if (!is_part && !fs::is_directory(path)) {
    return engine_of_page(path);
  }
  const fs::path folder = is_part ? path.parent_path() : path;
  return {.script = read_whole_file(folder / kEngineScript, kLargestProgram),
          .program = read_whole_file(folder / kEngineProgram, kLargestProgram)};
}

void write_file_page(const std::filesystem::path& out, const FilePage& page,
                     const std::filesystem::path& model) {
  std::optional<InputFile> file;
  if (!model.empty()) {
    file.emplace(model);
  }
  const Index bytes = file ? file->size() : 0;
  StagedFiles staged(out.has_parent_path() ? out.parent_path() : ".");
  replace_file(staged.path() / out.filename(), [&](FileWriter& writer) {
    const bool is_separate = file && !page.model_file.empty();
    writer.write(page_head(page, is_separate ? write_model_file(staged.path(), page, *file)
                                             : ModelFile{.bytes = bytes}));
    writer.write(element_of(concat_text("id=\"", kPageProgram, "\""),
                            base64_of(bytes_of(page.engine.program))));
    if (file && !is_separate) {
      for_each_part(*file, page.progress, [&](std::span<const std::byte> part) {
        writer.write(element_of("class=\"page-model\"", base64_of(part)));
      });
    }
    writer.write(concat_text("<i id=\"end-of-file\" hidden></i>\n", kPageEnd));
  });
  staged.commit();
}

}  // namespace headlight::serve
