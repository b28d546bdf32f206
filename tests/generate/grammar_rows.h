#pragma once

#include "support/rows.h"
#include "support/test.h"

// Tables of grammars: below each one the texts that it matches, "--", and texts that it does not;
// or what is wrong with it. ε is the empty text, ␤ a line end, ␣ a blank at an end.
namespace headlight::test {

inline std::string plain_text(std::string shown) {
  const std::pair<std::string, std::string> signs[] = {
      {"ε", ""}, {"␤", "\n"}, {"␍", "\r"}, {"␉", "\t"}, {"␣", " "}};
  for (const auto& [sign, text] : signs) {
    for (std::size_t at = 0; (at = shown.find(sign, at)) != std::string::npos; at += text.size()) {
      shown.replace(at, sign.size(), text);
    }
  }
  return shown;
}

// Returns the texts between bars that the grammar matches, or does not.
inline std::string kept_texts(const Grammar& grammar, const std::string& texts, bool matching) {
  std::string kept;
  for (std::size_t begin = 0; begin < texts.size();) {
    const std::size_t end = std::min(texts.find(" | ", begin), texts.size());
    const std::string text = texts.substr(begin, end - begin);
    if (grammar.matches(plain_text(text)) == matching) {
      kept += (kept.empty() ? "" : " | ") + text;
    }
    begin = end + 3;
  }
  return kept;
}

using GrammarMaker = std::function<std::unique_ptr<const Grammar>(const std::string&)>;

// Checks a table. Errors begin with `start`, which the table leaves out.
inline void check_grammars(const std::string& file, const std::string& start,
                           const GrammarMaker& make) {
  check_rows(file, [&](const Row& row) {
    std::unique_ptr<const Grammar> grammar;
    const std::string error = error_behind(start, [&] { grammar = make(plain_text(row.given)); });
    const std::string all = " " + row.expected + " ";
    const std::size_t middle = all.find(" -- ");
    if (grammar == nullptr || middle == std::string::npos) {
      return error;
    }
    const std::string others = all.substr(middle + 4);
    const std::string matching = middle == 0 ? "" : all.substr(1, middle - 1);
    return kept_texts(*grammar, matching, true) + (matching.empty() ? "--" : " --") +
           (others.empty() ? "" : " ") +
           kept_texts(*grammar, others.substr(0, others.size() - (others.empty() ? 0 : 1)), false);
  });
}

}  // namespace headlight::test
