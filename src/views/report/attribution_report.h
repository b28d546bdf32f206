#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "headlight/heads/attribution.h"
#include "headlight/text/tokenizer.h"
#include "views/result/result.h"

// What headlight attribute tells and writes.
namespace headlight {

struct AttributionReport {
  AttributionBy by = AttributionBy::head;
  std::vector<AttributionTask> tasks;
  AttributionStudy study;  // of these
  const Tokenizer& tokenizer;

  bool is_one() const { return tasks.size() == 1; }
  std::string caution() const;  // "" for none
  // "5 ' Mary'", or of several prompts "5"; of groups their name.
  std::string source_label(Index source) const;
};

// Tables of the parts, the largest first and at most `limit` of them, 0: all.
std::string attribution_text(const AttributionReport& report, Index limit);

// With the keys that attribute --help names.
// `pause` is called between some thousand parts.
Json attribution_json(const AttributionReport& report, const std::function<void()>& pause = {});

// The parts as a heat map: layers by attention and MLP, heads, or their `limit` strongest neurons;
// the `limit` strongest heads by source; of the stream a curve over the layers. 0: all, neurons 16.
std::string attribution_svg(const AttributionReport& report, Index limit);

// The same on a page; the stream as a list.
ResultPage attribution_page(const AttributionReport& report, Index limit);

// The names of the parts under "part". Float64 of all N parts in the order of the model: logit,
// low, high [N], prompts [P, N], totals [P]; int32 kind (of LogitPartKind, from 0), layer (-1:
// none), head, source, neuron [N] (-1: none). The means once more as a grid, NaN where a model has
// no such part: layers [L, 2] (attention, MLP), heads [L, H], sources [L, H, S] and source_sums
// [S], with the names of groups under "group", or neurons [L, I]. Of a single prompt its tokens
// [T].
ResultArrays attribution_arrays(const AttributionReport& report);

}  // namespace headlight
