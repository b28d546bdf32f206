#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "headlight/data/dataset.h"
#include "headlight/text/tokenizer.h"

// The text that a command runs a model over.
namespace headlight::cli {

// --data, --documents, --separator and --batch_size.
void add_text_data_options(Options& options);

// The text of those options as the model reads it, from the file that the option `name` gives.
// Throws Error when it is missing or cannot be used.
TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name = "data");

// An option that must be at least `least`.
// Of anything random; more would take days and say nothing more.
inline constexpr Index kMostSamples = 1'000'000;

Index count_option(const Options& options, const std::string& name, Index least,
                   Index most = std::numeric_limits<Index>::max());

// A file to write, of which others of the same kind are replaced, and nothing else: a slip must not
// cost a text or a model. Throws Error otherwise.
std::string output_file(const Options& options, const std::string& name,
                        std::string_view extension);

}  // namespace headlight::cli
