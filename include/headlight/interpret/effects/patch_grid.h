#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/patching.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/point.h"

// Activation patching of any point, optionally split by heads, neurons and positions.
namespace headlight {

struct PatchGridOptions {
  Point point = Point::z;  // in every layer
  NumberRange layers = {};
  bool by_item = true;       // one cell for each head (neuron, element), if the point has items
  bool by_position = false;  // one cell for each token of the text
  bool by_group = false;     // one cell for each of PatchingTask::groups
  NumberRange positions = {};
  // Patch corrupt values into the clean text: finds necessary values; false finds sufficient ones.
  bool noising = false;
  bool patch = true;         // run the model for each cell
  bool attribution = false;  // estimate all cells from one gradient: see PatchCell::attribution
  // AtP* (Kramár et al., arXiv 2403.00745) improves attribution by two changes.
  // For q, k, rot_q and rot_k only: computes the attention weights with each cell patched, by one
  // layer, and multiplies their change by their gradient. Saturated attention no longer hides
  // effects.
  bool fix_pattern = false;
  // GradDrop: averages the absolute attributions of backward passes that each leave out the paths
  // through one layer. Effects that cancel appear; the signs are lost.
  bool drop_gradients = false;
  Index memory = 0;  // bytes of changed passes at once; 0: a quarter of what is free
  std::function<void(double)> progress = [](double) {};  // finished share, 0 to 1
};

// Names of the parts of a grid.
inline constexpr std::array<std::string_view, 6> kPatchParts{
    "layer", "head", "position", "head,position", "group", "head,group"};

// Sets by_item, by_position and by_group by the name of the parts. "": by head for points with
// heads, else by position. Throws Error about "by" for other names.
void set_parts(PatchGridOptions& options, std::string_view by);
// Returns the name of the parts in kPatchParts.
std::string parts_name(const PatchGridOptions& options);

// Part of a point whose values are replaced.
struct PatchCell {
  Index layer = 0;
  std::optional<Index> item = {};         // number of the head, neuron or element; none: all
  std::optional<Index> position = {};     // none: all, including the answer tokens after the text
  std::optional<std::string> group = {};  // used instead of a position
  // log p(answer) - log p(wrong) with these values replaced, in nats: for single tokens the
  // difference of their logits, else the sum over tokens, each read after the text and the tokens
  // before it. With PatchingTask::metric its value.
  double difference = 0;
  // 0: as the unpatched text, 1: as the text that the values come from.
  double recovered = 0;
  // Linear estimate of `recovered`: the difference of the values times the gradient on the
  // unpatched text (Nanda, "Attribution Patching", 2023; Syed, Rager and Conmy, arXiv 2310.10348).
  double attribution = 0;
};

struct PatchGrid {
  double clean_difference = 0;
  double corrupt_difference = 0;
  NextToken clean_next = {};    // most likely token after the clean text
  NextToken corrupt_next = {};  // most likely token after the corrupt text
  // Ordered by layer, then item, then position or group.
  std::vector<PatchCell> cells = {};
};

// Activation patching (Meng et al., arXiv 2202.05262; for heads Wang et al., arXiv 2211.00593). The
// model reads the corrupt text with the values of one cell replaced by those on the clean text, the
// answer tokens included. A cell with high `recovered` carries the difference between the texts.
//
// Throws Error for a bidirectional model without a mask, and if the texts differ in length, are
// empty or longer than the context (with the answer), if an id is outside the vocabulary, if one
// answer equals or begins the other, or if both texts have the same difference; about "point" for
// points outside layers and points that the model does not compute; about "layers" if no cell is
// selected; about "by" for positions together with groups; about "positions", "qk_fix" and
// "grad_drop" for options without effect; and about "group" if groups are missing, have positions
// outside the text, or share a name.
PatchGrid patch_grid(const LanguageModel& model, const PatchingTask& task,
                     const PatchGridOptions& options);

// Estimates the cost of patch_grid() in tokens times passes, with `groups` groups. A cell costs the
// layers from its own on and the tokens from the first that it changes, an estimated one as much as
// a token, and a backward pass as much as two passes. Throws Error as patch_grid().
Index patch_grid_tokens(const LanguageModel& model, const PatchingTask& task,
                        const PatchGridOptions& options, Index groups = 1);

// One cell averaged over pairs, with intervals over the pairs.
struct MeanPatchCell {
  PatchCell cell;  // means
  Interval recovered;
  Interval attribution;
};

struct PatchStudy {
  std::vector<PatchGrid> pairs;      // in input order
  std::vector<MeanPatchCell> cells;  // means over all pairs
  // Pearson's r of recovered and attribution over all cells; NaN unless both were computed.
  double correlation = 0;
};

// Patches several pairs. The groups of all pairs need the names of the first pair's, in any order.
// Throws Error as patch_grid(), with the pair's number from 1. Throws about "pairs" for texts of
// different lengths with by_position, and for other groups with by_group.
PatchStudy patch_pairs(const LanguageModel& model, const std::vector<PatchingTask>& tasks,
                       const PatchGridOptions& options);

}  // namespace headlight
