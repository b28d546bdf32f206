#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/embedded_file.h"
#include "base/json.h"
#include "headlight/interpret/scores/head_verdict.h"

// Texts of reports and pages in each language, from src/interpret/words: one JSON file a language,
// all with the same keys.
namespace headlight {

// Returns the JSON files by name, such as "en.json".
std::span<const EmbeddedFile> words_files();

// Value that replaces {name} in a text.
struct WordValue {
  WordValue(std::string_view of, std::string value) : name(of), text(std::move(value)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> WordValue(std::string_view of, Number value)
      : name(of), text(concat_text(value)) {}

  std::string_view name;
  std::string text;
};

// Returns the text of a key as it is in the file. Throws Error for an unknown key.
const std::string& word(Language language, std::string_view key);

// Returns a text with its values. {name} is replaced by the value, {name:noun} by a number of
// things: "1 head", "2 heads". Throws Error for an unknown key, and for a value that is missing.
std::string say(Language language, std::string_view key,
                std::initializer_list<WordValue> values = {});

// Returns the texts of some sections of the files for pages: {language: {key: text}}.
Json page_words(std::span<const Language> languages, std::span<const std::string_view> sections);

}  // namespace headlight
