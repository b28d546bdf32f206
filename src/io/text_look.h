#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/text_source.h"

namespace headlight {

// Whether a consonant and a vowel of one syllable, such as U+1112 U+1161, are two characters.
bool has_decomposed_hangul(std::string_view text);
// Warnings about the text, one line each.
std::string decomposed_hangul_line(std::string_view name);

// Watches a text as it is read: a table that is read as plain text, and Hangul in single letters,
// are rarely meant.
class TextLook {
 public:
  TextLook(const TextFile& file, const TextFormat& format);

  // The parts of the text, in order.
  void look_at(std::string_view part);

  // Adds a line for everything that was seen, with the name of the file.
  void add_to(std::vector<std::string>& warnings) const;

 private:
  std::string name_;
  std::string ending_;     // of the name, in lower case: ".csv"
  std::string beginning_;  // of the text
  bool is_plain_;          // no JSON lines
  bool has_documents_;     // each part but its line end
  bool decomposed_ = false;
};

}  // namespace headlight
