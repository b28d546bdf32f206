#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/head_set.h"

// Circuits of the tokens of a text, for `headlight attention`.
namespace headlight::cli {

// Adds --ov and --qk.
void add_token_circuit_options(Options& options);
// Throws Error if those options lack heads or a format of figures.
void check_token_circuits(const Options& options, const std::set<std::string>& formats);
// Returns names and contents of the figures that the options ask for: of each head, between the
// different tokens of `ids`. Throws Error for more than 1024 tokens.
std::vector<std::pair<std::string, std::string>> token_circuit_figures(
    const Options& options, const LoadedModel& loaded, const HeadSet& heads,
    const std::vector<std::int32_t>& ids);

}  // namespace headlight::cli
