#pragma once

#include "support/programs/commands.h"
#include "support/saved_model.h"

namespace headlight::test {

// Two pairs of texts of six tokens.
inline const std::string kTwoPairs =
    "{\"clean\": \"a line\", \"corrupt\": \"b line\", \"answer\": \"x\", \"wrong\": \"#89\"}\n\n"
    "{\"clean\": \"two in\", \"corrupt\": \"one in\", \"answer\": \"e\", \"wrong\": \"f\"}\n";

// A model, a text of four lines and two pairs, with commands on them.
struct HeadTasks : SavedModel {
  // A command on the lines of the text.
  Arguments on_text(const std::string& command, const std::string& more = "") const {
    return changed(words(command, model, "--data", text, "--documents line"), split_words(more));
  }
  // A command on one pair of texts.
  Arguments on_pair(const std::string& command, const std::string& more = "") const {
    return changed(
        words(command, model, "--clean 'a line' --corrupt 'b line' --answer x --wrong y"),
        split_words(more));
  }
  std::string at(const std::string& name) const { return folder.at(name); }
  std::string contents(const std::string& name) const { return file_contents(folder / name); }

  std::string pairs = folder.write("pairs.jsonl", kTwoPairs);
};

}  // namespace headlight::test
