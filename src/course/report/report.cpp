#include "course/report/report.h"

#include "course/report/text_files.h"
#include "headlight/base/error.h"
#include "show/report/parts/terminal_text.h"

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

void Report::claim(std::string_view id, const TrainingLength& training, bool holds,
                   const Json& shown, std::string_view words) {
  const bool is_known = training.steps >= training.needed;
  const std::string_view section = words.empty() ? id : words;
  const auto text_of = [&](const Prose& texts, Language language) {
    if (is_known) {
      return texts.entry(section, holds ? "yes" : "no", with_values(shown));
    }
    return prose("lab", language)
        .entry("verdicts", "too_few_steps",
               {{"topic", texts.entry(section, "topic", with_values(shown))},
                {"steps", training.steps},
                {"needed", training.needed}});
  };
  claims_.push_back({{"id", id},
                     {"holds", is_known ? Json(holds) : Json()},
                     {"text", text_of(json_prose_, json_language_)}});
  const std::string mark = !is_known ? "? " : holds ? "✓ " : "✗ ";
  findings_ += wrapped(mark + text_of(prose_, language_), kColumns, 2);
}

std::string Report::text() const {
  return findings_.empty() ? body_
                           : body_ + prose("lab", language_).section("findings") + findings_;
}

}  // namespace headlight::cli::lab
