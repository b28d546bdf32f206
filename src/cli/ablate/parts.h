#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/heads/part_ablation.h"
#include "headlight/io/model_directory.h"
#include "views/result/result.h"

// `headlight ablate` on parts other than heads one by one: --off and --each.
namespace headlight::cli {

void add_part_options(Options& options);

// Whether parts are asked for. Throws Error for options that do not go with that, or need it.
bool asks_for_parts(const Options& options);

// What is ablated, and what came of it.
struct PartsReport {
  std::vector<PartSet> parts;
  PartAblationResult result;
};

PartsReport ablate_parts_of(const Options& options, const LoadedModel& loaded,
                            const TokenDataset& data, const AblationOptions& ablation);

// [{name, targets, rise}], in the order in which they were ablated.
Json parts_json(const PartsReport& report);
// The largest changes first; of neurons so many as --limit says.
std::string parts_table(const PartsReport& report, const Options& options);
// Of --each a curve over the layers, or over all neurons from the largest rise on; of --off a heat
// map with a row for each set.
std::string parts_svg(const PartsReport& report, const Options& options);
// A row for each set.
ResultGrid parts_grid(const PartsReport& report);

}  // namespace headlight::cli
