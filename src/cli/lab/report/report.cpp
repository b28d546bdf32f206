#include "cli/lab/report/report.h"

#include "cli/lab/report/text_files.h"
#include "headlight/base/error.h"
#include "views/report/terminal_text.h"

namespace headlight::cli::lab {

Prose prose(std::string_view name, Language language) {
  const std::string file = concat_text(name_of(language), "/", name, ".md");
  return {file, contents_of(lab_text_files(), file)};
}

Json Report::with_values(const Json& shown) const {
  Json all = values_;
  all.update(shown);
  return all;
}

void Report::section(std::string_view name, const Json& shown) {
  body_ += prose_.section(name, with_values(shown));
}

std::string Report::entry(std::string_view section, std::string_view name,
                          const Json& shown) const {
  return prose_.entry(section, name, with_values(shown));
}

void Report::claim(std::string_view id, bool holds, const Json& shown, std::string_view words) {
  claims_.push_back({{"id", id},
                     {"holds", holds},
                     {"text", entry(words.empty() ? id : words, holds ? "yes" : "no", shown)}});
}

std::string Report::text() const {
  std::string text = body_;
  if (!claims_.empty()) {
    text += prose("lab", language_).section("findings");
    for (const Json& claim : claims_) {
      const char* mark = claim["holds"].boolean() ? "✓ " : "✗ ";
      text += wrapped(mark + claim["text"].text(), kColumns, 2);
    }
  }
  return text;
}

}  // namespace headlight::cli::lab
