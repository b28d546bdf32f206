#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/bootstrap.h"
#include "headlight/heads/patching.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"

// Activation patching of any point, whole or by heads, neurons and positions.
namespace headlight {

struct PatchGridOptions {
  Point point = Point::z;  // of every layer
  NumberRange layers = {};
  bool by_item = true;       // each head (neuron, element) apart, where the point has some
  bool by_position = false;  // each token of the text apart
  bool by_group = false;     // or each of PatchingTask::groups
  NumberRange positions = {};
  // The clean text is read with values of the corrupt one: what is needed, where denoising tells
  // what suffices.
  bool noising = false;
  bool patch = true;         // really, one cell after the other
  bool attribution = false;  // all cells by one gradient: see PatchCell::attribution
  std::function<void(double)> progress = {};  // the share that is done
};

// A part of a point whose values are replaced.
struct PatchCell {
  Index layer = 0;
  std::optional<Index> item = {};      // number of the head, or of the neuron or element; none: all
  std::optional<Index> position = {};  // none: all, with those of an answer read behind the text
  std::optional<std::string> group = {};  // in place of a position
  double difference = 0;                  // as HeadPatch, of a run with these values replaced
  // 0: as the text that is read, 1: as the other one.
  double recovered = 0;
  // The same as far as a straight line from the text that is read tells it: the difference of the
  // values times the gradient (Nanda, "Attribution Patching", 2023; Syed, Rager and Conmy,
  // arXiv 2310.10348).
  double attribution = 0;
};

struct PatchGrid {
  double clean_difference = 0;
  double corrupt_difference = 0;
  // Layer by layer, item by item, position by position or group by group.
  std::vector<PatchCell> cells = {};
};

// Patches every cell of the options. Throws Error as patch_heads does, about "point" for one that
// is no layer's or that the model does not compute, about "layers" and "positions" for none, and
// about "group" where groups are asked for and there are none, their positions are not in the text,
// or two have one name.
PatchGrid patch_grid(const Gpt& model, const PatchingTask& task, const PatchGridOptions& options);

// What patch_grid() and this read, in tokens times passes, of texts of `length` tokens with answers
// of one: a cell takes the layers from its own on, and a token is read to see what a point holds.
// Throws Error about "point" as patch_grid().
Index patch_grid_tokens(const Gpt& model, Index length, const PatchGridOptions& options);

// A cell of several pairs, with intervals over the pairs.
struct MeanPatchCell {
  PatchCell cell;  // means
  Interval recovered;
  Interval attribution;
};

struct PatchStudy {
  std::vector<PatchGrid> pairs;      // in their order
  std::vector<MeanPatchCell> cells;  // of all of them
  // Of recovered and attribution over all cells (Pearson's r); NaN where one was not asked for.
  double correlation = 0;
};

// The groups of all pairs have the names of the first one's, in any order. Throws Error as
// patch_grid() does, naming the pair from 1, and about "pairs" for texts of different lengths when
// positions are apart, and for other groups when these are.
PatchStudy patch_pairs(const Gpt& model, const std::vector<PatchingTask>& tasks,
                       const PatchGridOptions& options);

// What one head writes into what another reads, and nowhere else.
struct PatchPath {
  HeadId from;
  HeadId to;
  Point into = Point::q;  // q, k or v of the receiver
};

// Path patching (Wang et al., arXiv 2211.00593; Goldowsky-Dill et al., arXiv 2304.05969): the model
// reads the corrupt text; what head `from` puts out on the clean one reaches the query, key or
// value of head `to` directly, while every other head and MLP between them stays as it is on the
// corrupt text. With grouped heads keys and values are those of the group. The result is a cell of
// the receiver. Throws Error as patch_grid(), and about "path" unless the sender's layer lies
// before the receiver's.
PatchCell patch_path(const Gpt& model, const PatchingTask& task, const PatchPath& path);

}  // namespace headlight
