#pragma once

#include <set>
#include <string>
#include <vector>

#include "tokenizers/special_names.h"

namespace headlight {

// Warnings about the records of a file: keys that are ignored, parts that the chat template leaves
// out, and texts with spelled special tokens or decomposed Hangul.
class RecordWarnings {
 public:
  // The tokenizer must outlive the warnings.
  explicit RecordWarnings(const Tokenizer& tokenizer) : names_(tokenizer) {}

  // Returns the keys that are ignored, to which readers of records add.
  std::set<std::string>& ignored() { return ignored_; }
  void look(const std::string& text);
  // Appends the lines, each with the name of the file. `unread`: parts that the chat template
  // omits.
  void add_to(std::vector<std::string>& warnings, const std::string& name,
              const std::set<std::string>& unread) const;

 private:
  SpecialNameCount names_;
  std::set<std::string> ignored_ = {};
  bool has_decomposed_ = false;
};

}  // namespace headlight
