#include "interpret/words.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/strings/filled_text.h"

namespace headlight {
namespace {

using Words = std::map<std::string, std::string, std::less<>>;

Json file_of(Language language) {
  const std::string name = concat_text(name_of(language), ".json");
  const auto files = words_files();
  return parse_json(std::ranges::find(files, name, &EmbeddedFile::name)->contents, name);
}

// Returns the texts of all sections. Lists are for pages alone.
Words words_of(Language language) {
  Words words;
  const Json file = file_of(language);
  for (const JsonMember& section : file.members()) {
    for (const JsonMember& text : section.value.members()) {
      if (text.value.is_string()) {
        words[text.key] = text.value.text();
      }
    }
  }
  return words;
}

}  // namespace

const std::string& word(Language language, std::string_view key) {
  static const std::array<Words, 2> kWords{words_of(Language::english), words_of(Language::korean)};
  const Words& words = kWords[language == Language::korean ? 1 : 0];
  const auto found = words.find(key);
  require(found != words.end(), "[say] no text is called ", key);
  return found->second;
}

std::string say(Language language, std::string_view key, std::initializer_list<WordValue> values) {
  const auto append = [&](std::string_view place, std::string& out) {
    const std::size_t colon = std::min(place.find(':'), place.size());
    const auto* value = std::ranges::find(values, place.substr(0, colon), &WordValue::name);
    require(value != values.end(), "[say] ", key, " has no value ", place);
    out += value->text;
    if (colon < place.size()) {
      out += concat_text(" ", place.substr(colon + 1), value->text == "1" ? "" : "s");
    }
  };
  return filled_text(word(language, key), key, append, {"{", "}"});
}

Json page_words(std::span<const Language> languages, std::span<const std::string_view> sections) {
  Json all = Json::object();
  for (const Language language : languages) {
    const Json file = file_of(language);
    Json& words = all.add(std::string(name_of(language)), Json::object());
    for (const std::string_view section : sections) {
      words.update(file[section]);
    }
  }
  return all;
}

}  // namespace headlight
