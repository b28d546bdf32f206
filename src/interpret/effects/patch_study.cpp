#include <limits>

#include "headlight/base/error.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "interpret/effects/token_groups.h"

namespace headlight {
namespace {

double correlation_of(const std::vector<MeanPatchCell>& cells) {
  const auto count = static_cast<double>(cells.size());
  std::vector<double> recovered;
  std::vector<double> attribution;
  double mean_recovered = 0;
  double mean_attribution = 0;
  for (const MeanPatchCell& cell : cells) {
    recovered.push_back(cell.cell.recovered);
    attribution.push_back(cell.cell.attribution);
    mean_recovered += cell.cell.recovered / count;
    mean_attribution += cell.cell.attribution / count;
  }
  return correlation(recovered, mean_recovered, attribution, mean_attribution);
}

// Averages each cell over the pairs.
std::vector<MeanPatchCell> mean_cells(const std::vector<PatchGrid>& pairs) {
  std::vector<std::vector<DocumentSum>> measures;  // recovered and attribution of every cell
  for (std::size_t cell = 0; cell < pairs[0].cells.size(); ++cell) {
    std::vector<DocumentSum> recovered;
    std::vector<DocumentSum> attribution;
    for (const PatchGrid& pair : pairs) {
      recovered.push_back({pair.cells[cell].recovered, 1});
      attribution.push_back({pair.cells[cell].attribution, 1});
    }
    measures.push_back(std::move(recovered));
    measures.push_back(std::move(attribution));
  }
  const std::vector<Interval> intervals = bootstrap_means(measures);
  std::vector<MeanPatchCell> cells;
  for (std::size_t cell = 0; cell < pairs[0].cells.size(); ++cell) {
    MeanPatchCell mean{pairs[0].cells[cell], intervals[2 * cell], intervals[2 * cell + 1]};
    mean.cell.recovered = mean.recovered.mean;
    mean.cell.attribution = mean.attribution.mean;
    mean.cell.difference = 0;
    for (const PatchGrid& pair : pairs) {
      mean.cell.difference += pair.cells[cell].difference / static_cast<double>(pairs.size());
    }
    cells.push_back(mean);
  }
  return cells;
}

PatchGrid grid_of_pair(const LanguageModel& model, const std::vector<PatchingTask>& tasks,
                       std::size_t pair, const PatchGridOptions& options) {
  PatchingTask task = tasks[pair];
  require_value(!options.by_position || task.clean.size() == tasks[0].clean.size(), "pairs",
                "positions can be compared only between texts of the same length, got ",
                tasks[0].clean.size(), " tokens in pair 1 and ", task.clean.size(), " in pair ",
                pair + 1);
  if (options.by_group) {
    task.groups = in_order(task.groups, tasks[0].groups, pair + 1);
  }
  PatchGridOptions of_pair = options;
  of_pair.progress = [&](double share) {
    options.progress((static_cast<double>(pair) + share) / static_cast<double>(tasks.size()));
  };
  const auto grid = [&] { return patch_grid(model, task, of_pair); };
  return tasks.size() == 1 ? grid() : in_place(concat_text("pair ", pair + 1, ": "), grid);
}

}  // namespace

PatchStudy patch_pairs(const LanguageModel& model, const std::vector<PatchingTask>& tasks,
                       const PatchGridOptions& options) {
  require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
  PatchStudy study;
  for (std::size_t pair = 0; pair < tasks.size(); ++pair) {
    study.pairs.push_back(grid_of_pair(model, tasks, pair, options));
  }
  study.cells = mean_cells(study.pairs);
  study.correlation = options.patch && options.attribution
                          ? correlation_of(study.cells)
                          : std::numeric_limits<double>::quiet_NaN();
  return study;
}

}  // namespace headlight
