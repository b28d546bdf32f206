#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/prune_plan.h"

// Output of `headlight prune`.
namespace headlight {

struct PruneOutcome {
  PrunePlan plan;
  std::unique_ptr<Gpt> model;
  Json losses{{"loss_before", nullptr}, {"loss_after", nullptr}, {"loss_finetuned", nullptr}};
};

// Returns the JSON object that prune --help describes, without the directory.
Json prune_json(const PruneOutcome& outcome, const LoadedModel& loaded);

// Writes the model, pruning.json and the curve (if the plan has one) to the new directory `out`.
void write_pruned(const std::string& out, const PruneOutcome& outcome, const LoadedModel& loaded,
                  const Json& json);

void print_pruning(const Json& json, const std::vector<PrunePoint>& points, const std::string& out);

}  // namespace headlight
