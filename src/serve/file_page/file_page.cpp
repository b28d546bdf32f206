#include "serve/file_page/file_page.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/share.h"
#include "base/strings/base64.h"
#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "serve/page_files.h"
#include "show/html/filled_page.h"
#include "show/html/page_script.h"
#include "storage/input_file.h"

namespace headlight::serve {
namespace {

// Bytes of the model in one element; a multiple of 3, so that only the last text is padded.
constexpr Index kPartBytes = Index{6} << 20;

constexpr std::string_view kViews = "views/";

// Model in a file beside the page. An empty name: the page embeds it.
struct ModelFile {
  std::string name = {};
  Index bytes = 0;
  Index modified = 0;  // time, so that no browser takes an older file from its cache
};

std::string policy_element(bool fetches_model) {
  return concat_text(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'nonce-headlight' 'wasm-unsafe-eval'; worker-src blob:; style-src 'nonce-headlight'; "
      "img-src data:; ",
      fetches_model ? "connect-src 'self'; " : "", "base-uri 'none'; form-action 'none'\">\n");
}

// Returns a file by the path that the server gives it.
std::string page_file(const std::string& name) {
  return std::string(name.starts_with(kViews)
                         ? contents_of(page_files(), name.substr(kViews.size()))
                         : contents_of(serve_page_files(), name));
}

// Returns the value of an attribute in a line of HTML.
std::string attribute_of(std::string_view line, std::string_view name) {
  const std::size_t begin = line.find(concat_text(name, "=\"")) + name.size() + 2;
  return std::string(line.substr(begin, line.find('"', begin) - begin));
}

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
  std::string script(contents_of(serve_page_files(), "file/worker.js"));
  if (page.training) {
    script += contents_of(serve_page_files(), "file/worker_train.js");
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

// Returns the page up to the model: index.html with its styles and scripts in place of the links.
std::string page_head(const FilePage& page, const ModelFile& model) {
  std::string html;
  std::string_view rest = contents_of(serve_page_files(), "index.html");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.starts_with("<link rel=\"stylesheet\"")) {
      const std::string file = attribute_of(line, "href").substr(1);
      html += concat_text("<style nonce=\"headlight\">\n", page_file(file), "</style>\n");
    } else if (line.starts_with("<script type=\"module\"")) {
      html += element_of(concat_text("id=\"", kPageSettings, "\""), settings_json(page, model));
      html += concat_text("<script nonce=\"headlight\">\n'use strict';\n{\n",
                          page_script(page_file, "file/main.js"), "}\n</script>\n");
      break;  // </body> and </html> follow the model
    } else if (line.starts_with("<html")) {
      const bool is_own = page.stories.size() == 1 && !page.stories.front().language.empty();
      html += concat_text("<html lang=\"", is_own ? page.stories.front().language : page.language,
                          "\"", page.follows_browser ? " data-follows-browser" : "", ">\n");
    } else {
      html += line;
      html += line.starts_with("<meta charset") ? policy_element(!model.name.empty()) : "";
    }
  }
  return html;
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
    writer.write("<i id=\"end-of-file\" hidden></i>\n</body>\n</html>\n");
  });
  staged.commit();
}

}  // namespace headlight::serve
