#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace headlight::cli::lab {

inline constexpr std::size_t kColumns = 79;  // of the texts

// Text of an experiment in one language: a Markdown file of course/en or course/ko. README.md in
// course describes its form. All functions throw Error with the file's name for a missing section,
// entry or value.
class Prose {
 public:
  // `file` names the text in messages.
  Prose(std::string file, std::string_view text);

  // The first line, without "# ".
  const std::string& title() const { return title_; }

  // Returns a section as text for a terminal of 80 columns, its placeholders replaced by `values`.
  std::string section(std::string_view name, const Json& values = Json::object()) const;

  // Returns the text of "- NAME: TEXT" in a section, in one line.
  std::string entry(std::string_view section, std::string_view name,
                    const Json& values = Json::object()) const;

 private:
  using Lines = std::vector<std::string>;

  const Lines& lines_of(std::string_view section) const;
  std::string table(const Lines& lines, const Json& values) const;
  std::string filled(std::string_view text, const Json& values) const;
  // Returns the value that a placeholder such as "sweep.0.loss:.3" shows.
  std::string value_of(std::string_view placeholder, const Json& values) const;
  std::string number_text(const Json& value, std::string_view format) const;

  std::string file_;
  std::string title_;
  std::map<std::string, Lines, std::less<>> sections_;
};

}  // namespace headlight::cli::lab
