#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/options.h"

namespace headlight::cli::lab {

// Sequences of token ids for `lab shapes`.
struct TextBatch {
  std::vector<std::vector<std::int32_t>> ids;
  std::vector<std::vector<std::string>> labels;  // text of each id
  bool has_texts = false;                        // false: ids without texts
  std::string source;                            // option that gives the sequences
};

// Reads --text, --file or --ids_file; without them the batch of a common classroom example.
// Removes pads at the ends of --ids_file. Throws Error naming the option for sequences without
// tokens, and for a token with the id of <pad>.
TextBatch read_text_batch(const Options& options, std::int32_t pad_id);

}  // namespace headlight::cli::lab
