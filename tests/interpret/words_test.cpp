#include "interpret/words.h"
#include "support/test.h"

namespace words_test {

Json words_of(const std::string& language) {
  const std::string file = HEADLIGHT_SOURCE_DIR "/src/interpret/words/" + language + ".json";
  return parse_json(file_contents(file), file);
}

// Returns the names in braces of a text or of a list. Particles are Korean alone; {meaning}, of a
// score, is English alone.
std::set<std::string> places_in(const Json& text) {
  static const std::regex kPlace(R"(\{(\w+)(?::[^}/]*)?\})");
  const std::vector<std::string> found = matches_of(text.dump(), kPlace);
  std::set<std::string> places(found.begin(), found.end());
  places.erase("meaning");
  return places;
}

// Returns the sources that may name texts.
std::string sources() {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(HEADLIGHT_SOURCE_DIR "/src")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".cpp" || extension == ".h" || extension == ".js" || extension == ".html") {
      all += file_contents(entry.path().string());
    }
  }
  return all;
}

TEST_CASE("The languages have the same texts with the same values") {
  const Json english = words_of("en");
  const Json korean = words_of("ko");
  REQUIRE(english.size() == korean.size());
  std::set<std::string> keys;
  for (const JsonMember& section : english.members()) {
    const Json& other = korean[section.key];
    REQUIRE(section.value.size() == other.size());
    for (std::size_t i = 0; i < section.value.size(); ++i) {
      const JsonMember& text = section.value.members()[i];
      INFO(text.key);
      CHECK(other.members()[i].key == text.key);
      CHECK(other.members()[i].value.type_name() == text.value.type_name());
      CHECK(places_in(other.members()[i].value) == places_in(text.value));
      CHECK(!text.value.empty());
      CHECK(keys.insert(text.key).second);  // in one section
    }
  }
}

TEST_CASE("Every text is used, and every text that the sources name exists") {
  const std::string all = sources();
  const Json english = words_of("en");
  std::set<std::string> keys;
  for (const JsonMember& section : english.members()) {
    for (const JsonMember& text : section.value.members()) {
      keys.insert(text.key);
      INFO(text.key);
      // Names that sources put together begin with `short_${ or "class_", for example.
      const auto is_named = [&](const std::string& name) {
        return contains(all, "'" + name + "'") || contains(all, "\"" + name + "\"") ||
               contains(all, "`" + name + "${");
      };
      bool is_used = is_named(text.key) || contains(all, text.key + ": [");
      for (std::size_t end = text.key.find('_'); end != text.key.npos;
           end = text.key.find('_', end + 1)) {
        is_used = is_used || is_named(text.key.substr(0, end + 1));
      }
      CHECK(is_used);
    }
  }
  static const std::regex kNamed(
      R"re((?:\bsay\('|data-say(?:-label|-title)?="|\bsay\([a-z_.]+, ")(\w+)['"])re");
  for (const std::string& line : lines_of(all)) {
    for (const std::string& key :
         contains(line, "say") ? matches_of(line, kNamed) : std::vector<std::string>()) {
      INFO(key);
      CHECK(keys.contains(key));
    }
  }
}

TEST_CASE("Texts are filled with values") {
  CHECK(say(Language::english, "counts", {{"heads", 1}, {"layers", 2}, {"cells", "x"}}) ==
        "Attention of 1 head in 2 layers over x");
  CHECK(say(Language::korean, "layer_name", {{"layer", 3}}) == "3층");
  CHECK(error_of([] { say(Language::english, "other"); }) == "[say] no text is called other");
  CHECK(error_of([] { say(Language::english, "layer_name"); }) ==
        "[say] layer_name has no value layer");
}
}  // namespace words_test
