#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/text_source.h"

namespace headlight {

// True if a consonant and a vowel of one syllable are two characters, for example U+1112 U+1161.
bool has_decomposed_hangul(std::string_view text);
// Returns the warning line about decomposed Hangul in the text `name`.
std::string decomposed_hangul_line(std::string_view name);

// Throws Error for the first bytes of a Parquet, Arrow, SQLite, zip or PDF file.
void require_text(const TextFile& file, std::string_view beginning);

// Detects unlikely input: JSON or a table read as plain text, and Hangul in single letters.
class InputFormatCheck {
 public:
  InputFormatCheck(const TextFile& file, const TextFormat& format);

  // Takes the next part of the text.
  void add(std::string_view part);

  // Adds one line for each finding, with the name of the file.
  void add_to(std::vector<std::string>& warnings) const;

 private:
  std::string name_;
  std::string ending_;     // file extension in lower case: ".csv"
  std::string beginning_;  // first bytes of the text
  bool is_plain_;          // not JSON lines
  bool has_documents_;     // parts are documents, without line ends
  bool decomposed_ = false;
};

}  // namespace headlight
