#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/effects/part_ablation.h"
#include "show/result/result.h"

// `headlight ablate` on parts other than heads one by one: --off and --each.
namespace headlight::cli {

void add_part_options(Options& options);

// True if --off or --each is given. Throws Error for options that conflict with them or need them.
bool asks_for_parts(const Options& options);

struct PartsReport {
  std::vector<PartSet> parts;
  PartAblationResult result;
  MetricKind metric = MetricKind::loss;
};

// Heading of the column of rises.
std::string rise_column(MetricKind metric);

PartsReport ablate_parts_of(const Options& options, const LoadedModel& loaded,
                            const TokenDataset& data, const AblationOptions& ablation);

// List of {name, targets, rise} in the order of ablation.
Json parts_json(const PartsReport& report);
// Table with the largest changes first. Neurons are limited to --limit rows.
std::string parts_table(const PartsReport& report, const Options& options);
// --each: a curve over the layers, or over the neurons sorted by rise. --off: a heat map with a row
// for each set.
std::string parts_svg(const PartsReport& report, const Options& options);
ResultGrid parts_grid(const PartsReport& report);

}  // namespace headlight::cli
