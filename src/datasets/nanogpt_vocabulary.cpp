#include "headlight/datasets/nanogpt_vocabulary.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings/printable.h"
#include "datasets/pickle_reader.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestFile = Index{1} << 25;  // bytes
// Each of Unicode's 0x110000 characters and its id occurs twice and is referred to twice.
constexpr std::size_t kMostValues = 8 * 0x110000;
constexpr Index kNoCharacter = -1;  // an empty text

// Returns an entry of the outer dictionary.
const PickleValue& entry(const Pickle& pickle, std::string_view key, PickleKind kind,
                         std::string_view name) {
  const PickleValue* value = pickle.find(pickle.root(), key);
  require(value != nullptr && value->kind == kind, name, ": expected ", key,
          kind == PickleKind::integer ? ", a number" : ", a dictionary");
  return *value;
}

// Returns a code point, or kNoCharacter for an empty text.
Index character_of(const Pickle& pickle, const PickleValue& value, std::string_view where) {
  require(value.kind == PickleKind::text, where, ": expected a character");
  const std::string_view text = pickle.text(value);
  if (text.empty()) {
    return kNoCharacter;
  }
  const Utf8Character character = first_character(text);
  require(character.valid && character.length == std::ssize(text), where, ": ", in_quotes(text),
          " is not a single character");
  return static_cast<Index>(character.code_point);
}

// Returns the characters by id; -1: an empty text. [V]
std::vector<Index> characters_by_id(const Pickle& pickle, std::string_view name) {
  constexpr Index kMissing = -2;
  const auto items = pickle.items(entry(pickle, "itos", PickleKind::dictionary, name));
  const std::string where = concat_text(name, ": itos");
  std::vector<Index> characters(items.size() / 2, kMissing);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const PickleValue& id = items[i];
    require(id.kind == PickleKind::integer && id.value >= 0 && id.value < std::ssize(characters),
            where, ": expected a character for each of the ids 0 to ", characters.size() - 1);
    Index& slot = characters[static_cast<std::size_t>(id.value)];
    require(slot == kMissing, where, ": id ", id.value, " appears twice");
    slot = character_of(pickle, items[i + 1], where);
  }
  return characters;
}

// Returns true for the ids in stoi, which must agree with itos. [V]
std::vector<bool> known_ids(const Pickle& pickle, const std::vector<Index>& characters,
                            std::string_view name) {
  const auto items = pickle.items(entry(pickle, "stoi", PickleKind::dictionary, name));
  const std::string where = concat_text(name, ": stoi");
  std::vector<bool> known(characters.size(), false);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const Index character = character_of(pickle, items[i], where);
    const PickleValue& id = items[i + 1];
    const bool fits = character != kNoCharacter && id.kind == PickleKind::integer &&
                      id.value >= 0 && id.value < std::ssize(characters) &&
                      characters[static_cast<std::size_t>(id.value)] == character;
    require(fits, name, ": stoi and itos give different ids");
    known[static_cast<std::size_t>(id.value)] = true;
  }
  return known;
}

// Returns the position of special tokens that only itos has; nothing if nanoGPT wrote the file.
std::optional<SpecialTokens> specials_position(const std::vector<Index>& characters,
                                               const std::vector<bool>& known,
                                               std::string_view name) {
  const auto unknown = std::count(known.begin(), known.end(), false);
  if (unknown == 0) {
    return std::nullopt;
  }
  constexpr Index kReplacement = 0xFFFD;
  const auto are_special = [&](std::size_t first) {
    return !known[first] && !known[first + 1] && characters[first] == kNoCharacter &&
           characters[first + 1] == kReplacement;
  };
  require(unknown == 2 && (are_special(0) || are_special(known.size() - 2)), name, ": ", unknown,
          " of its ", known.size(), " characters are missing in stoi");
  return are_special(0) ? SpecialTokens::first : SpecialTokens::last;
}

}  // namespace

CharTokenizer parse_nanogpt_vocabulary(std::string_view bytes, std::string_view name,
                                       SpecialTokens fallback) {
  const Pickle pickle(bytes, name, {.expected = "nanoGPT's meta.pkl", .most_values = kMostValues});
  require(pickle.root().kind == PickleKind::dictionary, name, ": expected a dictionary");
  const std::size_t entries = pickle.items(pickle.root()).size() / 2;
  require(entries == 3, name, ": expected vocab_size, itos and stoi, got ", entries, " entries");
  const Index count = entry(pickle, "vocab_size", PickleKind::integer, name).value;
  const std::vector<Index> characters = characters_by_id(pickle, name);
  require(count > 0 && count == std::ssize(characters), name, ": vocab_size is ", count,
          ", but itos has ", characters.size(), " characters");
  const std::vector<bool> known = known_ids(pickle, characters, name);
  const auto specials = specials_position(characters, known, name);
  std::vector<char32_t> alphabet;
  for (std::size_t id = 0; id < characters.size(); ++id) {
    if (known[id]) {
      alphabet.push_back(static_cast<char32_t>(characters[id]));
    }
  }
  return in_place(concat_text(name, ": "),
                  [&] { return CharTokenizer(std::move(alphabet), specials.value_or(fallback)); });
}

CharTokenizer read_nanogpt_vocabulary(const fs::path& path, SpecialTokens fallback) {
  return parse_nanogpt_vocabulary(read_whole_file(path, kLargestFile), shown(path), fallback);
}

namespace {

// Returns the tokenizer of the meta.pkl beside `data`; null if there is none.
std::unique_ptr<Tokenizer> read_beside(const fs::path& data, SpecialTokens fallback) {
  std::error_code ignored;
  const fs::path path = (fs::is_directory(data, ignored) ? data : parent_folder(data)) / "meta.pkl";
  if (!fs::exists(path, ignored)) {
    return nullptr;
  }
  return std::make_unique<CharTokenizer>(read_nanogpt_vocabulary(path, fallback));
}

}  // namespace

std::unique_ptr<Tokenizer> vocabulary_beside(const fs::path& data) {
  return read_beside(data, SpecialTokens::last);
}

Index require_same_vocabulary(const fs::path& data, const Tokenizer& tokenizer) {
  std::unique_ptr<Tokenizer> other;
  try {
    other = read_beside(data, SpecialTokens::none);
  } catch (const Error&) {
  }
  if (other == nullptr) {
    return tokenizer.vocab_size();
  }
  for (std::int32_t id = 0; id < other->vocab_size(); ++id) {
    const bool same =
        !other->special_name(id).empty() ||
        (id < tokenizer.vocab_size() && other->token_bytes(id) == tokenizer.token_bytes(id));
    require(same, shown(data), ": made with another tokenizer: id ", id, " is ",
            in_quotes(other->token_label(id)), " in meta.pkl, ",
            id < tokenizer.vocab_size() ? in_quotes(tokenizer.token_label(id)) : "missing",
            " in the tokenizer");
  }
  return std::min(other->vocab_size(), tokenizer.vocab_size());
}

}  // namespace headlight
