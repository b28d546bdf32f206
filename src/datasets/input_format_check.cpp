#include "datasets/input_format_check.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/strings/lower_case.h"
#include "headlight/base/error.h"
#include "storage/compressed/decompression.h"

namespace headlight {
namespace {

constexpr std::size_t kBeginning = 4096;  // bytes

std::string_view without_blanks_before(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kMark) ? kMark.size() : 0);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

// True if the text begins with `bracket` and a string or an object. "[" alone may begin any text.
bool begins_json(std::string_view text, char bracket) {
  if (!text.starts_with(bracket)) {
    return false;
  }
  const std::string_view rest = without_blanks_before(text.substr(1));
  return rest.starts_with('"') || (bracket == '[' && rest.starts_with('{'));
}

bool is_column_name(std::string_view name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '"';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_part);
}

// True if the text begins with a line of column names, then a line with as many commas or more.
bool begins_csv(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return false;
  }
  std::string_view header = text.substr(0, end);
  header.remove_suffix(header.ends_with('\r') ? 1 : 0);
  const std::string_view row = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  const auto commas = std::count(header.begin(), header.end(), ',');
  for (std::size_t begin = 0; begin <= header.size();) {
    const std::size_t comma = std::min(header.find(',', begin), header.size());
    if (!is_column_name(header.substr(begin, comma - begin))) {
      return false;
    }
    begin = comma + 1;
  }
  return commas > 0 && std::count(row.begin(), row.end(), ',') >= commas;
}

struct BinaryFormat {
  std::string_view beginning;
  std::string_view name;
  std::string_view advice;
};

// Files of tables and documents that people give as data.
constexpr std::array<BinaryFormat, 5> kBinaryFormats{{
    {"PAR1\x15", "a Parquet file",
     "write its rows as JSON lines, for example duckdb -c \"COPY (FROM 'in.parquet') TO "
     "'out.jsonl'\""},
    {{"ARROW1\0\0", 8}, "an Arrow file", "write its rows as JSON lines"},
    {{"SQLite format 3\0", 16}, "an SQLite database", "write its rows as JSON lines"},
    {"PK\x03\x04", "a zip archive, which .docx, .xlsx and .epub files are",
     "save its text as UTF-8"},
    {"%PDF-", "a PDF file", "convert it with pdftotext"},
}};

std::string_view format_of(std::string_view ending, std::string_view beginning) {
  const std::string_view text = without_blanks_before(beginning);
  if (text.empty()) {
    return "";
  }
  if (begins_json(text, '[') || (ending == ".json" && text.starts_with('['))) {
    return "a JSON array";
  }
  if (begins_json(text, '{') || ending == ".json") {
    return "JSON";
  }
  return ending == ".csv" || begins_csv(text) ? "CSV" : ending == ".tsv" ? "a table with tabs" : "";
}

}  // namespace

bool has_decomposed_hangul(std::string_view text) {
  for (std::size_t at = text.find('\xE1'); at != std::string_view::npos;
       at = text.find('\xE1', at + 1)) {
    const std::string_view pair = text.substr(at, 6);
    if (pair.size() == 6 && pair.starts_with("\xE1\x84") && pair[2] <= '\x92' &&
        pair.substr(3).starts_with("\xE1\x85") && pair[5] >= '\xA1' && pair[5] <= '\xB5') {
      return true;
    }
  }
  return false;
}

std::string decomposed_hangul_line(std::string_view name) {
  return concat_text(name,
                     ": contains decomposed Hangul (NFD), which most models have not learned; "
                     "convert it with uconv -x nfc");
}

void require_text(const TextFile& file, std::string_view beginning) {
  for (const BinaryFormat& format : kBinaryFormats) {
    require(!beginning.starts_with(format.beginning), file.name(), ": expected text in UTF-8, got ",
            format.name, "; ", format.advice);
  }
}

InputFormatCheck::InputFormatCheck(const TextFile& file, const TextFormat& format)
    : name_(file.name()),
      is_plain_(!format.is_json_lines(file)),
      has_documents_(format.gives_documents(file)) {
  const std::filesystem::path path = lower_case(without_compression(file.path));
  ending_ = path.extension().string();
}

void InputFormatCheck::add(std::string_view part) {
  decomposed_ = decomposed_ || has_decomposed_hangul(part);
  if (is_plain_ && beginning_.size() < kBeginning) {
    beginning_ += part.substr(0, kBeginning);
    beginning_ += has_documents_ ? "\n" : "";
  }
}

void InputFormatCheck::add_to(std::vector<std::string>& warnings) const {
  const std::string_view format = is_plain_ ? format_of(ending_, beginning_) : "";
  if (!format.empty()) {
    warnings.push_back(
        concat_text(name_, ": looks like ", format,
                    ", but is read as plain text, markup included; to read its texts alone, ",
                    is_table_name(name_) ? "name their column with --jsonl COLUMN"
                                         : "convert them to JSON lines and name their key with "
                                           "--jsonl KEY"));
  }
  if (decomposed_) {
    warnings.push_back(decomposed_hangul_line(name_));
  }
}

}  // namespace headlight
