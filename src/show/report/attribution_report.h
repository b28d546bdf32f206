#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/interpret/effects/attribution.h"
#include "headlight/tokenizers/tokenizer.h"
#include "show/result/result_table.h"

// Parts of the answer to "attribute": tables, JSON, figures and arrays.
namespace headlight {

struct AttributionReport {
  AttributionBy by = AttributionBy::head;
  std::vector<AttributionTask> tasks;
  AttributionStudy study;  // results of `tasks`
  const Tokenizer& tokenizer;

  bool is_one() const { return tasks.size() == 1; }
  std::string caution() const;  // "" for none
  // Returns "5 ' Mary'" for a single prompt, "5" for several prompts, or the name of the group.
  std::string source_label(Index source) const;
};

// Returns lines about the whole logit.
std::string attribution_heading(const AttributionReport& report);

// Returns a warning for figures; "": none.
std::string attribution_note(const AttributionReport& report);

// Returns the sums over all heads by source (AttributionBy::source), and the parts, with views of
// layers by attention and MLP, by head or of the stream.
std::vector<ResultTable> attribution_tables(const AttributionReport& report);

Json attribution_facts(const AttributionReport& report);

// Returns the heat maps that are no views: by layer of the `limit` strongest neurons (0: 16), or by
// source of the `limit` strongest heads (0: all).
std::vector<ResultGrid> attribution_grids(const AttributionReport& report, Index limit);

// Returns the curve of the residual stream's logit after attention and MLP of each layer as SVG.
std::string attribution_curve(const AttributionReport& report);

// Returns the arrays of all N parts in the order of the model. Float64: logit, low, high [N],
// prompts [P, N], totals [P]. Int32: kind (LogitPartKind, from 0), layer, head, source, neuron [N]
// (-1: none). Means as a grid, NaN for parts that the model lacks: layers [L, 2] (attention, MLP),
// heads [L, H], sources [L, H, S] and source_sums [S], or neurons [L, I]. A single prompt adds its
// tokens [T]. Texts: names of the parts under "part" and of the groups under "group".
ResultArrays attribution_arrays(const AttributionReport& report);

}  // namespace headlight
