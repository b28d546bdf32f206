#include "headlight/io/nanogpt_vocabulary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "files/input_file.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/files/file_writer.h"
#include "io/pickle_writer.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestFile = Index{1} << 25;     // bytes
constexpr std::size_t kMostValues = 4 * 0x110000;  // 0x110000: code points of Unicode
constexpr std::size_t kDictionaries = 3;           // the outer one, itos and stoi
constexpr std::array<std::string_view, 3> kKeys{"vocab_size", "itos", "stoi"};
enum Key { kVocabSize, kItos, kStoi };
constexpr Index kNoCharacter = -1;  // an empty text

struct Value {
  enum class Kind { mark, number, character, key, dictionary };
  Kind kind = Kind::mark;
  Index number = 0;  // or a code point or kNoCharacter, an index of kKeys or of a dictionary

  friend bool operator==(const Value&, const Value&) = default;
};

using Dictionary = std::vector<std::pair<Value, Value>>;

// Interpreter of one pickle (https://docs.python.org/3/library/pickletools.html).
class PickleReader {
 public:
  PickleReader(std::string_view bytes, std::string_view name)
      : bytes_(bytes), rest_(bytes), name_(name) {}

  // Returns the outer dictionary; see dictionary() for inner ones.
  const Dictionary& read() {
    constexpr unsigned kProtocol = 0x80;
    const bool begins = !rest_.empty() && take_number(1) == kProtocol && !rest_.empty();
    const Index protocol = begins ? take_number(1) : 0;
    require(protocol >= 2 && protocol <= 5, name_,
            ": not a Python pickle of protocol 2 to 5, expected nanoGPT's meta.pkl");
    while (true) {
      const auto operation = static_cast<unsigned>(take_number(1));
      if (operation == '.') {
        break;
      }
      run(operation);
      require(std::max(stack_.size(), memo_.size()) <= kMostValues, name_,
              ": more values than a vocabulary of characters needs");
    }
    require(rest_.empty(), name_, ": ", rest_.size(),
            " unexpected bytes after the end of the data");
    require(stack_.size() == 1 && stack_[0].kind == Value::Kind::dictionary, name_,
            ": expected a dictionary");
    return dictionary(stack_[0]);
  }

  const Dictionary& dictionary(const Value& value) const {
    return dictionaries_[static_cast<std::size_t>(value.number)];
  }

 private:
  void run(unsigned operation) {
    switch (operation) {
      case 0x95: {  // FRAME
        const Index length = take_number(8);
        require(length >= 0 && length <= std::ssize(rest_), name_, ": is cut off");
        break;
      }
      case '}':
        require(dictionaries_.size() < kDictionaries, name_, ": more than three dictionaries");
        stack_.push_back({Value::Kind::dictionary, std::ssize(dictionaries_)});
        dictionaries_.emplace_back();
        break;
      case '(':
        stack_.push_back({Value::Kind::mark, 0});
        break;
      case 'K':  // BININT1
        stack_.push_back({Value::Kind::number, take_number(1)});
        break;
      case 'M':  // BININT2
        stack_.push_back({Value::Kind::number, take_number(2)});
        break;
      case 'J':  // BININT
        stack_.push_back({Value::Kind::number, static_cast<std::int32_t>(take_number(4))});
        break;
      case 'X':  // BINUNICODE
        stack_.push_back(take_text(take_number(4)));
        break;
      case 0x8c:  // SHORT_BINUNICODE
        stack_.push_back(take_text(take_number(1)));
        break;
      case 's':  // SETITEM
        set_items(stack_.size() - std::min<std::size_t>(2, stack_.size()));
        break;
      case 'u':  // SETITEMS
        set_items(take_mark());
        break;
      default:
        use_memo(operation);
    }
  }

  // Runs operations on the memo: values that are written once and later used by their number, which
  // must count up.
  void use_memo(unsigned operation) {
    switch (operation) {
      case 0x94:  // MEMOIZE
        memoize(std::ssize(memo_));
        break;
      case 'q':  // BINPUT
        memoize(take_number(1));
        break;
      case 'r':  // LONG_BINPUT
        memoize(take_number(4));
        break;
      case 'h':  // BINGET
        recall(take_number(1));
        break;
      case 'j':  // LONG_BINGET
        recall(take_number(4));
        break;
      default:
        fail(name_, ": byte ", bytes_.size() - rest_.size() - 1, ": pickle operation ", operation,
             " is not supported; expected nanoGPT's meta.pkl of vocab_size, itos and stoi");
    }
  }

  void memoize(Index number) {
    require(!stack_.empty() && number == std::ssize(memo_), name_,
            ": is damaged: its references are out of order");
    memo_.push_back(stack_.back());
  }

  void recall(Index number) {
    require(number < std::ssize(memo_), name_, ": is damaged: refers to a missing value");
    const Value& value = memo_[static_cast<std::size_t>(number)];
    const bool is_text = value.kind == Value::Kind::character || value.kind == Value::Kind::key;
    require(is_text, name_, ": refers to a dictionary twice, which is not supported");
    stack_.push_back(value);
  }

  // Removes the topmost mark and returns its position.
  std::size_t take_mark() {
    const auto is_mark = [](const Value& value) { return value.kind == Value::Kind::mark; };
    const auto found = std::find_if(stack_.rbegin(), stack_.rend(), is_mark);
    require(found != stack_.rend(), name_, ": is damaged: a mark is missing");
    const auto place = stack_.erase(std::next(found).base());
    return static_cast<std::size_t>(place - stack_.begin());
  }

  // Moves the pairs from `begin` on into the dictionary before them.
  void set_items(std::size_t begin) {
    const std::size_t count = stack_.size() - begin;
    const bool fits =
        begin > 0 && count % 2 == 0 && stack_[begin - 1].kind == Value::Kind::dictionary;
    require(fits, name_, ": is damaged: expected a dictionary and pairs for it");
    Dictionary& items = dictionaries_[static_cast<std::size_t>(stack_[begin - 1].number)];
    require(items.size() + count <= kMostValues, name_,
            ": more values than a vocabulary of characters needs");
    for (std::size_t i = begin; i < stack_.size(); i += 2) {
      items.emplace_back(stack_[i], stack_[i + 1]);
    }
    stack_.resize(begin);
  }

  std::string_view take(Index count) {
    require(count >= 0 && count <= std::ssize(rest_), name_, ": is cut off");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  Index take_number(Index bytes) {
    std::uint64_t number = 0;
    int shift = 0;
    for (const char byte : take(bytes)) {
      number |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(byte)) << shift;
      shift += 8;
    }
    return static_cast<Index>(number);
  }

  Value take_text(Index length) {
    const std::string_view text = take(length);
    const auto key = std::find(kKeys.begin(), kKeys.end(), text);
    if (key != kKeys.end()) {
      return {Value::Kind::key, key - kKeys.begin()};
    }
    if (text.empty()) {
      return {Value::Kind::character, kNoCharacter};
    }
    const Utf8Character character = first_character(text);
    require(character.valid && character.length == std::ssize(text), name_, ": ", in_quotes(text),
            " is neither a single character nor vocab_size, itos or stoi");
    return {Value::Kind::character, static_cast<Index>(character.code_point)};
  }

  std::string_view bytes_;
  std::string_view rest_;
  std::string_view name_;
  std::vector<Value> stack_;
  std::vector<Value> memo_;
  std::vector<Dictionary> dictionaries_;
};

Value entry(const Dictionary& whole, Key key, Value::Kind kind, std::string_view name) {
  const auto found = std::find_if(whole.begin(), whole.end(), [&](const auto& item) {
    return item.first == Value{Value::Kind::key, key};
  });
  require(found != whole.end() && found->second.kind == kind, name, ": expected ", kKeys[key],
          kind == Value::Kind::number ? ", a number" : ", a dictionary");
  return found->second;
}

// Returns the characters by id; -1: an empty text. [V]
std::vector<Index> characters_by_id(const Dictionary& itos, std::string_view name) {
  constexpr Index kMissing = -2;
  std::vector<Index> characters(itos.size(), kMissing);
  for (const auto& [id, character] : itos) {
    const bool fits = id.kind == Value::Kind::number && id.number >= 0 &&
                      id.number < std::ssize(itos) && character.kind == Value::Kind::character;
    require(fits, name, ": itos: expected a character for each of the ids 0 to ", itos.size() - 1);
    Index& place = characters[static_cast<std::size_t>(id.number)];
    require(place == kMissing, name, ": itos: id ", id.number, " appears twice");
    place = character.number;
  }
  return characters;
}

// Returns true for the ids in stoi, which must agree with itos. [V]
std::vector<bool> known_ids(const Dictionary& stoi, const std::vector<Index>& characters,
                            std::string_view name) {
  std::vector<bool> known(characters.size(), false);
  for (const auto& [character, id] : stoi) {
    const bool fits = character.kind == Value::Kind::character &&
                      character.number != kNoCharacter && id.kind == Value::Kind::number &&
                      id.number >= 0 && id.number < std::ssize(characters) &&
                      characters[static_cast<std::size_t>(id.number)] == character.number;
    require(fits, name, ": stoi and itos give different ids");
    known[static_cast<std::size_t>(id.number)] = true;
  }
  return known;
}

// Returns the position of special tokens that only itos has; nothing if nanoGPT wrote the file.
std::optional<SpecialTokens> place_of_specials(const std::vector<Index>& characters,
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

CharTokenizer parse_nanogpt_vocabulary(std::string_view bytes, std::string_view name) {
  PickleReader reader(bytes, name);
  const Dictionary& whole = reader.read();
  require(whole.size() == kKeys.size(), name, ": expected vocab_size, itos and stoi, got ",
          whole.size(), " entries");
  const Index count = entry(whole, kVocabSize, Value::Kind::number, name).number;
  const Dictionary& itos = reader.dictionary(entry(whole, kItos, Value::Kind::dictionary, name));
  const Dictionary& stoi = reader.dictionary(entry(whole, kStoi, Value::Kind::dictionary, name));
  require(count > 0 && count == std::ssize(itos), name, ": vocab_size is ", count,
          ", but itos has ", itos.size(), " characters");
  const std::vector<Index> characters = characters_by_id(itos, name);
  const std::vector<bool> known = known_ids(stoi, characters, name);
  const auto specials = place_of_specials(characters, known, name);
  std::vector<char32_t> alphabet;
  for (std::size_t id = 0; id < characters.size(); ++id) {
    if (known[id]) {
      alphabet.push_back(static_cast<char32_t>(characters[id]));
    }
  }
  return in_place(concat_text(name, ": "), [&] {
    return CharTokenizer(std::move(alphabet), specials.value_or(SpecialTokens::last));
  });
}

CharTokenizer read_nanogpt_vocabulary(const fs::path& path) {
  return parse_nanogpt_vocabulary(read_whole_file(path, kLargestFile), shown(path));
}

void write_nanogpt_vocabulary(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  require(tokenizer.kind() == "char", "nanogpt: meta.pkl lists characters; the tokenizer is of ",
          "kind ", tokenizer.kind());
  const auto count = static_cast<std::int32_t>(tokenizer.vocab_size());
  PickleWriter pickle;
  pickle.begin_dictionary();
  pickle.text("vocab_size");
  pickle.integer(count);
  pickle.text("itos");
  pickle.begin_dictionary();
  for (std::int32_t id = 0; id < count; ++id) {
    pickle.integer(id);
    pickle.text(tokenizer.token_bytes(id));
  }
  pickle.end_dictionary();
  pickle.text("stoi");
  pickle.begin_dictionary();
  for (std::int32_t id = 0; id < count; ++id) {
    if (id != tokenizer.end_of_text() && id != tokenizer.unknown()) {
      pickle.text(tokenizer.token_bytes(id));
      pickle.integer(id);
    }
  }
  pickle.end_dictionary();
  pickle.end_dictionary();
  write_file(path, pickle.finish());
}

std::unique_ptr<Tokenizer> vocabulary_beside(const fs::path& data) {
  std::error_code ignored;
  const fs::path path = (fs::is_directory(data, ignored) ? data : parent_folder(data)) / "meta.pkl";
  if (!fs::exists(path, ignored)) {
    return nullptr;
  }
  return std::make_unique<CharTokenizer>(read_nanogpt_vocabulary(path));
}

void require_same_vocabulary(const fs::path& data, const Tokenizer& tokenizer) {
  std::unique_ptr<Tokenizer> other;
  try {
    other = vocabulary_beside(data);
  } catch (const Error&) {
  }
  if (other == nullptr) {
    return;
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
}

}  // namespace headlight
