#include "datasets/records.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings/lower_case.h"
#include "headlight/base/error.h"
#include "headlight/datasets/text_source.h"
#include "storage/compressed/decompression.h"

namespace headlight {
namespace {

constexpr Index kLongestRow = Index{128} << 20;  // bytes

std::string file_ending(std::string_view name) {
  return std::filesystem::path(lower_case(without_compression(name))).extension().string();
}
constexpr std::size_t kMostColumns = std::size_t{1} << 20;

// Splits a text that arrives in pieces into rows of values.
class TableReader {
 public:
  TableReader(const TextFile& file, const UseRecord& use)
      : name_(file.name()), separator_(file_ending(file.path) == ".tsv" ? '\t' : '\0'), use_(use) {}

  void take(char c) {
    if (separator_ != '\0') {
      read(c);
      return;
    }
    first_row_ += c;
    check(std::ssize(first_row_) <= kLongestRow, "a row is longer than ", kLongestRow, " bytes");
    is_in_quotes_ = is_in_quotes_ != (c == '"');
    if (c == '\n' && !is_in_quotes_ && first_row_.find_first_not_of("\r\n") != std::string::npos) {
      read_first_row();
    }
  }

  void finish() {
    if (separator_ == '\0') {
      read_first_row();
    }
    check(state_ != State::quoted, "a value begins with a double quote and has no end");
    if (state_ != State::begin || !values_.empty()) {
      end_row();
    }
  }

 private:
  enum class State { begin, plain, quoted, after_quote };

  // Chooses the separator that the first row has most of.
  void read_first_row() {
    std::array<std::pair<char, Index>, 3> counts{{{',', 0}, {';', 0}, {'\t', 0}}};
    bool is_quoted = false;
    for (const char c : first_row_) {
      is_quoted = is_quoted != (c == '"');
      for (auto& [separator, count] : counts) {
        count += c == separator && !is_quoted ? 1 : 0;
      }
    }
    separator_ = std::ranges::max_element(counts, {}, &std::pair<char, Index>::second)->first;
    for (const char c : std::exchange(first_row_, {})) {
      read(c);
    }
  }

  void read(char c) {
    check(++size_ <= kLongestRow, "a row is longer than ", kLongestRow, " bytes");
    line_ += c == '\n' ? 1 : 0;
    if (state_ == State::quoted && c != '"') {
      value_ += c;
    } else if (state_ == State::quoted) {
      state_ = State::after_quote;
    } else if (c == separator_) {
      end_value();
    } else if (c == '\n' && state_ == State::begin && values_.empty()) {
      row_line_ = line_;
    } else if (c == '\n') {
      end_row();
    } else if (c == '"' && state_ != State::plain) {
      value_ += state_ == State::after_quote ? "\"" : "";
      state_ = State::quoted;
    } else {
      check(state_ != State::after_quote,
            "expected a separator or a line end after a value in double quotes");
      state_ = State::plain;
      value_ += c;
    }
  }

  std::string where() const { return concat_text(name_, ": line ", row_line_); }

  // Runs for every character, so it makes no text unless the condition is false.
  template <class... Parts>
  void check(bool condition, const Parts&... message) const {
    if (!condition) {
      fail(where(), ": ", message...);
    }
  }

  void end_value() {
    check(values_.size() < kMostColumns, "a row has more than ", kMostColumns, " values");
    values_.push_back(std::exchange(value_, {}));
    state_ = State::begin;
  }

  void end_row() {
    end_value();
    if (columns_.empty()) {
      name_columns();
    } else {
      use_row();
    }
    values_.clear();
    row_line_ = line_;
    size_ = 0;
  }

  void name_columns() {
    columns_ = values_;
    std::set<std::string_view> names;
    for (const std::string& name : columns_) {
      if (!names.insert(name).second) {
        check(false, "expected different names of columns, got ", quoted_text(name), " twice");
      }
    }
  }

  void use_row() {
    check(values_.size() == columns_.size(), "expected ", columns_.size(),
          " values, as in the first line, got ", values_.size());
    Json record = Json::object();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      record.add(columns_[i], values_[i]);
    }
    use_(record, where());
  }

  std::string name_;
  char separator_;  // '\0': not known yet
  std::string first_row_;
  bool is_in_quotes_ = false;  // in first_row_
  const UseRecord& use_;
  State state_ = State::begin;  // of the present value
  std::string value_;
  std::vector<std::string> values_;   // before the present one
  std::vector<std::string> columns_;  // names, from the first row
  Index size_ = 0;                    // bytes in the row
  Index line_ = 1;                    // of the next character
  Index row_line_ = 1;                // where the row begins
};

// Cuts a text that arrives in pieces into the values of one JSON list, or into values one after
// another.
class JsonReader {
 public:
  JsonReader(const TextFile& file, std::string_view example, const UseRecord& use)
      : name_(file.name()), example_(example), use_(use) {}

  void take(char c) {
    line_ += c == '\n' ? 1 : 0;
    if (value_.empty()) {
      between(c);
      return;
    }
    if (depth_ == 0 && !is_string_ && ends_scalar(c)) {
      end_value();
      between(c);
      return;
    }
    add(c);
  }

  void finish() {
    if (!value_.empty()) {
      end_value();
    }
    require(!is_list_ || is_closed_, name_, ": begins with a list that has no end");
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool ends_scalar(char c) { return is_blank(c) || c == ',' || c == ']'; }

  // Takes a character outside of values.
  void between(char c) {
    if (is_blank(c)) {
      return;
    }
    if (c == '[' && !is_list_ && count_ == 0) {
      is_list_ = true;
      return;
    }
    const bool is_mark = is_list_ && !is_closed_ && (c == ',' || c == ']');
    if (is_mark) {
      require(c == ']' ? !needs_value_ : needs_comma_, location(), ": expected a record, got '", c,
              "'");
      is_closed_ = c == ']';
      needs_value_ = c == ',';
      needs_comma_ = false;
      return;
    }
    require(!is_closed_, location(), ": expected nothing after the list, got '", c, "'");
    require(!needs_comma_, location(), ": expected a comma between records, got '", c, "'");
    value_line_ = line_;
    add(c);
  }

  void add(char c) {
    value_ += c;
    if (std::ssize(value_) > kLongestRow) {
      fail(location(), ": a record is longer than ", kLongestRow, " bytes");
    }
    if (is_string_) {
      is_string_ = is_escaped_ || c != '"';
      is_escaped_ = c == '\\' && !is_escaped_;
    } else {
      is_string_ = c == '"';
      depth_ += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    }
    const bool may_end = c == '}' || c == ']' || c == '"';
    if (may_end && depth_ <= 0 && !is_string_) {
      end_value();
    }
  }

  std::string location() const {
    return is_list_ ? concat_text(name_, ": record ", count_ + 1)
                    : concat_text(name_, ": line ", value_line_);
  }

  void end_value() {
    const std::string where = location();
    const Json value = parse_record(std::exchange(value_, {}), where, example_);
    depth_ = 0;
    needs_comma_ = is_list_;
    needs_value_ = false;
    ++count_;
    is_list_ || count_ > 1 ? use_(value, where) : use_first(value, where);
  }

  // Calls use() for an object, or for the records of a list in it.
  void use_first(const Json& value, const std::string& where) {
    for (const char* key : {"data", "train", "rows", "examples"}) {
      const Json* list = value.find(key);
      if (list != nullptr && list->is_array() && !list->empty() && list->front().is_object()) {
        for (std::size_t i = 0; i < list->size(); ++i) {
          use_((*list)[i], concat_text(name_, ": \"", key, "\" record ", i + 1));
        }
        return;
      }
    }
    require(!is_by_column(value), where,
            ": is a table by columns; write records, as pandas does with "
            "to_json(FILE, orient=\"records\", lines=True)");
    use_(value, where);
  }

  // True if each member is a column: {"0": ..., "1": ...} or a list of texts.
  static bool is_by_column(const Json& value) {
    return value.is_object() && !value.empty() &&
           std::ranges::all_of(value.members(), [](const JsonMember& member) {
             const Json& column = member.value;
             return (column.is_object() && column.find("0") != nullptr) ||
                    (column.is_array() && !column.empty() && column.front().is_string());
           });
  }

  std::string name_;
  std::string_view example_;
  const UseRecord& use_;
  std::string value_;  // the present one; "" between values
  Index depth_ = 0;
  bool is_string_ = false;
  bool is_escaped_ = false;
  bool is_list_ = false;
  bool is_closed_ = false;
  bool needs_comma_ = false;
  bool needs_value_ = false;
  Index count_ = 0;  // values
  Index line_ = 1;
  Index value_line_ = 1;
};

template <class Reader>
void read_with(const TextFile& file, Reader reader) {
  read_characters(file, [&](const TextPart& part) {
    for (const char c : part.text) {
      reader.take(c);
    }
  });
  reader.finish();
}

}  // namespace

Json parse_record(std::string_view text, const std::string& where, std::string_view example) {
  try {
    return parse_json(text, where);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (!message.starts_with(where + ": invalid JSON")) {  // a value that is not allowed
      throw;
    }
    fail(message, "; expected JSON Lines such as ", example);
  }
}

bool has_records_name(std::string_view name) {
  return is_json_lines_name(name) || is_table_name(name) || file_ending(name) == ".json";
}

std::pair<Json, std::string> first_record(const TextFile& file) {
  struct Found {};  // ends the reading
  std::pair<Json, std::string> first;
  try {
    read_records(file, "", [&](const Json& record, const std::string& where) {
      first = {record, where};
      throw Found();
    });
  } catch (const Found&) {
  } catch (const Error&) {  // whoever reads the file says what is wrong
  }
  return first;
}

bool is_json_of_texts(const TextFile& file) {
  if (file.is_standard_input() || file_ending(file.path) != ".json") {
    return false;
  }
  const Json record = first_record(file).first;
  const Json* text = record.find("text");
  return record.is_string() || (text != nullptr && text->is_string());
}

void read_records(const TextFile& file, std::string_view example, const UseRecord& use) {
  if (is_table_name(file.path)) {
    read_with(file, TableReader(file, use));
    return;
  }
  if (file_ending(file.path) == ".json") {
    read_with(file, JsonReader(file, example, use));
    return;
  }
  read_lines(file, [&](std::string_view line, Index number) {
    const std::string where = concat_text(file.name(), ": line ", number);
    use(parse_record(line, where, example), where);
  });
}

}  // namespace headlight
