#include "serve/file_page/page_engine.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/json.h"
#include "base/strings/base64.h"
#include "base/strings/printable.h"
#include "headlight/base/error.h"
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

}  // namespace headlight::serve
