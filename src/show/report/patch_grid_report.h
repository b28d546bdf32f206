#pragma once

#include <string>
#include <vector>

#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/show/plot/scatter_plot.h"
#include "headlight/tokenizers/tokenizer.h"
#include "show/result/result.h"

// Cells of activation patching as grids.
namespace headlight {

struct PatchGridReport {
  const PatchGridOptions& options;
  const PatchStudy& study;
  const std::vector<PatchingTask>& tasks;  // a single task labels positions with its tokens
  const Tokenizer& tokenizer;

  bool is_one() const { return study.pairs.size() == 1; }
  // Returns the text of the token at a position of the patched text, or of the whole character
  // that it is a part of; "" for several pairs.
  std::string token(Index position) const;
  // Returns the label of the token position or group of tokens that a cell patches; "": all
  // positions.
  std::string position_label(const PatchCell& cell) const;
  // Returns "z.3.1 @5 the".
  std::string cell_name(const PatchCell& cell) const;
};

// A measure of all cells.
struct PatchMeasure {
  const char* name;
  const char* title;
  Interval MeanPatchCell::*value;
};

// Returns "recovered", "attribution" or both.
std::vector<PatchMeasure> patch_measures(const PatchGridOptions& options);

// Returns a grid for each measure, and "difference" of patched values. Without positions the axes
// are layers by heads; with positions they are layers, or heads if they are separate, by positions.
// Several pairs give intervals. `doubtful`: the model does not do the task clearly.
std::vector<ResultGrid> patch_study_grids(const PatchGridReport& report, bool doubtful);

// Returns attribution against patching, a point for each cell. Needs both methods.
ScatterPlot patch_scatter(const PatchGridReport& report);

}  // namespace headlight
