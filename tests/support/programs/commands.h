#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

// Runs of the program, with the results that tests check.
namespace headlight::test {

using Arguments = std::vector<std::string>;

// Splits a text at its blanks, except those between '...'.
Arguments split_words(const std::string& text);

// Arguments of a command line: a literal gives its words, another text gives one.
template <class... Parts>
Arguments words(const Parts&... parts) {
  Arguments all;
  const auto add = [&]<class Part>(const Part& part) {
    if constexpr (std::is_array_v<Part>) {
      const Arguments split = split_words(part);
      all.insert(all.end(), split.begin(), split.end());
    } else {
      all.push_back(part);
    }
  };
  (add(parts), ...);
  return all;
}

// Adds `more` to the arguments. Options in `more` replace equal options: each may be given once.
Arguments changed(Arguments arguments, const Arguments& more);

// Output of a command that must succeed.
std::string output_of(const Arguments& arguments);

// Messages of a command that must succeed.
std::string log_of(const Arguments& arguments);

// Parsed output of a command with --json.
nlohmann::json report_of(Arguments arguments);

// Checks that JSON has the values of `expected`, a JSON object whose keys are paths: "rows/0/head",
// or "rows#" for the number of elements. Missing values count as null.
void check_json(const nlohmann::json& actual, const std::string& expected);

// Last message of a command that must be refused without output. It begins with "error: ".
std::string refusal(const Arguments& arguments);

// Checks that a command is refused with one message that has all parts.
void check_refused(const Arguments& arguments, const std::vector<std::string>& parts);

}  // namespace headlight::test
