#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/strings/read_number.h"
#include "base/strings/split.h"
#include "headlight/base/error.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/storage/config_file.h"

namespace headlight {
namespace {

constexpr const char* kParameter = "intervene";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

// Parser for one change; consumes `rest` from the front.
struct ChangeReader {
  std::string_view about;
  std::string_view whole;
  std::string_view rest = whole;

  [[noreturn]] void refuse(const std::string& expected) const {
    fail_value(about, "'", whole, "': expected ", expected);
  }
  bool is_done() const { return rest.empty(); }
  void skip_blanks() { rest = trimmed(rest); }
  bool passes(std::string_view text) {
    const bool is_there = rest.starts_with(text);
    rest.remove_prefix(is_there ? text.size() : 0);
    skip_blanks();
    return is_there;
  }
  // Reads up to a blank or one of the separators.
  std::string_view word(std::string_view separators = "") {
    std::size_t end = 0;
    while (end < rest.size() && !is_blank(rest[end]) &&
           separators.find(rest[end]) == std::string_view::npos) {
      ++end;
    }
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end);
    skip_blanks();
    return text;
  }
  // Reads a quoted text. A doubled quotation mark is one mark.
  std::string quoted() {
    const char quote = rest.empty() ? ' ' : rest.front();
    std::string text;
    std::size_t begin = 1;
    while (true) {
      const std::size_t end = is_quote(quote) ? rest.find(quote, begin) : std::string_view::npos;
      if (end == std::string_view::npos) {
        refuse("a text in quotation marks");
      }
      text += rest.substr(begin, end - begin);
      begin = end + 1;
      if (begin == rest.size() || rest[begin] != quote) {
        break;
      }
      text += quote;
      ++begin;
    }
    rest.remove_prefix(begin);
    skip_blanks();
    return text;
  }
  void expect_end() const {
    if (!is_done()) {
      refuse("nothing after it, got '" + std::string(rest) + "'");
    }
  }
  double factor(std::string_view text) const {
    const std::optional<double> value = read_number<double>(text);
    if (!value || !std::isfinite(*value)) {
      refuse("a factor such as 0.5, got '" + std::string(text) + "'");
    }
    return *value;
  }
};

// Removes a suffix such as "@3-7" outside of quotation marks and returns its range.
NumberRange take_positions(std::string_view about, std::string_view& text) {
  std::size_t at = std::string_view::npos;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      quote = text[i] == quote ? char{0} : quote;
    } else if (is_quote(text[i])) {
      quote = text[i];
    } else if (text[i] == '@' && i > 0 && is_blank(text[i - 1])) {
      at = i;
    }
  }
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view range = text.substr(at + 1);
  text = trimmed(text.substr(0, at));
  return parse_range(about, range);
}

bool is_class(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// Adds a target unless it is in the list: duplicates are changed once.
template <class Target>
void add_new(std::vector<Target>& targets, Target target) {
  if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
    targets.push_back(std::move(target));
  }
}

void add_target(std::string_view about, std::string_view word, Change& change) {
  constexpr std::string_view kLayer = "layer.";
  if (word.starts_with(kLayer)) {
    const NumberRange layers = parse_range(about, word.substr(kLayer.size()));
    add_new(change.targets, {.point = Point::attn_out, .layers = layers});
    add_new(change.targets, {.point = Point::mlp_out, .layers = layers});
    return;
  }
  const bool is_point =
      std::any_of(kChoices<Point>.begin(), kChoices<Point>.end(),
                  [&](const Choice<Point>& choice) { return choice.name == word; }) ||
      word == "mlp" || word == "attn" || word == "neuron" || word == "head" || word == "hook_embed";
  if (is_class(word) && !is_point) {
    add_new(change.classes, std::string(word));
  } else {
    add_new(change.targets, parse_point(about, word));
  }
}

void read_targets(ChangeReader& reader, Change& change) {
  do {
    const std::string_view word = reader.word(",");
    if (word.empty()) {
      reader.refuse("a target such as 5.1, mlp.3 or resid_post.6");
    }
    add_target(reader.about, word, change);
  } while (reader.passes(","));
}

// Reads FILE.npz:ARRAY[*FACTOR] or "TEXT" - "TEXT"[*FACTOR].
void read_vector(ChangeReader& reader, Change& change) {
  if (!reader.is_done() && is_quote(reader.rest.front())) {
    change.source.text = reader.quoted();
    if (!reader.passes("-")) {
      reader.refuse("add TARGETS \"TEXT\" - \"TEXT\"");
    }
    change.source.less = reader.quoted();
  } else {
    const std::string_view word = reader.word("*");
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == word.size()) {
      reader.refuse("add TARGETS FILE.npz:ARRAY or add TARGETS \"TEXT\" - \"TEXT\"");
    }
    change.source.file = word.substr(0, colon);
    change.source.array = word.substr(colon + 1);
  }
  if (reader.passes("*")) {
    change.factor = reader.factor(reader.word());
  }
}

// Reads the number of a token, from 0.
Index read_token(ChangeReader& reader) {
  const std::string_view word = reader.word();
  const Index number = read_number<Index>(word).value_or(-1);
  if (number < 0) {
    reader.refuse("the number of a token after 'at', got '" + std::string(word) + "'");
  }
  return number;
}

void read_text_source(ChangeReader& reader, Change& change) {
  if (!reader.passes("from ") || reader.is_done()) {
    reader.refuse(std::string(name_of(change.kind)) + " TARGETS from \"TEXT\" or from FILE");
  }
  if (is_quote(reader.rest.front())) {
    change.source.text = reader.quoted();
    if (change.source.text.empty()) {
      reader.refuse("a text that is not empty");
    }
  } else {
    change.source.file = reader.word();
  }
  if (change.kind == ChangeKind::freeze && reader.passes("at ")) {
    change.source.token = read_token(reader);
  }
}

Change parse_change(std::string_view text) {
  ChangeReader reader{kParameter, text};
  const NumberRange positions = take_positions(kParameter, reader.rest);
  Change change{.kind = parse_name<ChangeKind>(kParameter, reader.word()), .positions = positions};
  read_targets(reader, change);
  switch (change.kind) {
    case ChangeKind::off:
      break;
    case ChangeKind::scale:
      if (reader.is_done()) {
        reader.refuse("a factor after the targets: scale 7.2 0.5");
      }
      change.factor = reader.factor(reader.word());
      break;
    case ChangeKind::add:
      read_vector(reader, change);
      break;
    case ChangeKind::mean:
    case ChangeKind::freeze:
    case ChangeKind::resample:
      read_text_source(reader, change);
      break;
  }
  reader.expect_end();
  return change;
}

// Splits at ; and new lines outside of quotation marks.
std::vector<std::string_view> split_changes(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    if (quote != 0 && i < text.size()) {
      quote = c == quote ? char{0} : quote;
    } else if (is_quote(c)) {
      quote = c;
    } else if (c == ';' || c == '\n') {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return parts;
}

}  // namespace

std::vector<Change> parse_changes(std::string_view text) {
  std::vector<Change> changes;
  for (const std::string_view part : split_changes(text)) {
    if (!part.empty()) {
      changes.push_back(parse_change(part));
    }
  }
  require_value(!changes.empty(), kParameter, "expected a change such as off 5.1, got '", text,
                "'");
  return changes;
}

Change parse_targets(std::string_view about, std::string_view text) {
  ChangeReader reader{about, trimmed(text)};
  Change change{.positions = take_positions(about, reader.rest)};
  read_targets(reader, change);
  reader.expect_end();
  return change;
}

std::vector<Change> read_changes(const std::string& text_or_file) {
  if (!text_or_file.ends_with(".toml")) {
    return parse_changes(text_or_file);
  }
  std::vector<Change> changes;
  for (const ConfigEntry& entry : read_config_file(text_or_file)) {
    require_value(entry.key == kParameter, kParameter, text_or_file,
                  ": expected the key intervene alone, got ", entry.key);
    const std::vector<std::string> texts =
        entry.type == ConfigEntry::Type::list ? entry.items : std::vector<std::string>{entry.value};
    for (const std::string& text : texts) {
      const std::vector<Change> more = parse_changes(text);
      changes.insert(changes.end(), more.begin(), more.end());
    }
  }
  require_value(!changes.empty(), kParameter, text_or_file, ": expected the key intervene");
  return changes;
}

}  // namespace headlight
