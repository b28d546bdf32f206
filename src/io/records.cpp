#include "io/records.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lower_case.h"
#include "files/decompression.h"
#include "headlight/base/error.h"
#include "headlight/io/text_source.h"

namespace headlight {
namespace {

constexpr std::size_t kLongestRow = std::size_t{128} << 20;  // bytes

// Splits a text that arrives in pieces into rows of values.
class TableReader {
 public:
  TableReader(const TextFile& file, const UseRecord& use)
      : name_(file.name()),
        separator_(lower_case(without_compression(file.path)).ends_with(".tsv") ? '\t' : ','),
        use_(use) {}

  void take(char c) {
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

  void finish() {
    check(state_ != State::quoted, "a value begins with a double quote and has no end");
    if (state_ != State::begin || !values_.empty()) {
      end_row();
    }
  }

 private:
  enum class State { begin, plain, quoted, after_quote };

  std::string where() const { return concat_text(name_, ": line ", row_line_); }

  // Runs for every character, so it makes no text unless the condition is false.
  template <class... Parts>
  void check(bool condition, const Parts&... message) const {
    if (!condition) {
      fail(where(), ": ", message...);
    }
  }

  void end_value() {
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
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool is_new = std::count(columns_.begin(), columns_.end(), columns_[i]) == 1;
      check(is_new, "expected different names of columns, got ", quoted_text(columns_[i]),
            " twice");
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
  char separator_;
  const UseRecord& use_;
  State state_ = State::begin;  // of the present value
  std::string value_;
  std::vector<std::string> values_;   // before the present one
  std::vector<std::string> columns_;  // names, from the first row
  std::size_t size_ = 0;              // bytes in the row
  Index line_ = 1;                    // of the next character
  Index row_line_ = 1;                // where the row begins
};

void read_table(const TextFile& file, const UseRecord& use) {
  TableReader reader(file, use);
  read_text(file, {.cut = StreamCut::character}, [&](const TextPart& part) {
    for (const char c : part.text) {
      reader.take(c);
    }
  });
  reader.finish();
}

}  // namespace

void read_records(const TextFile& file, const UseRecord& use) {
  if (is_table_name(file.path)) {
    read_table(file, use);
    return;
  }
  read_lines(file, [&](std::string_view line, Index number) {
    const std::string where = concat_text(file.name(), ": line ", number);
    use(parse_json(line, where), where);
  });
}

}  // namespace headlight
