#include "headlight/interpret/effects/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/interpret/head_set.h"
#include "headlight/ops/layout.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/effects/gradient_passes.h"
#include "interpret/effects/token_groups.h"
#include "interpret/values_by_point.h"

namespace headlight {
namespace {

// Rows of one pass, over all copies of the text; products with many rows are faster.
constexpr Index kRowsAtOnce = 1024;

// A run of contiguous elements in one of the values of a spot.
struct Elements {
  std::size_t value = 0;
  Index begin = 0;
  Index count = 0;
};

// Replaces elements [b] of a layer's values in copy b by values of the other text.
class ReplaceElements final : public ForwardHook {
 public:
  ReplaceElements(HookSite where, const std::vector<Tensor>& other,
                  const std::vector<std::vector<Elements>>& elements)
      : where_(where), other_(other), elements_(elements) {}

  bool wants(Point point, Index layer) const override {
    return point == where_.point && layer == where_.layer;
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    Tensor changed = to_contiguous(value).clone();
    if (items_of(where_.point) == PointItems::maps) {  // value of one sequence
      const auto number = static_cast<std::size_t>(site.sequence);
      replace(elements_[number / other_.size()], number % other_.size(), 0, changed);
      return changed;
    }
    for (std::size_t copy = 0; copy < elements_.size(); ++copy) {
      replace(elements_[copy], 0, static_cast<Index>(copy) * other_[0].numel(), changed);
    }
    return changed;
  }

 private:
  void replace(const std::vector<Elements>& elements, std::size_t value, Index shift,
               Tensor& changed) const {
    for (const Elements& run : elements) {
      if (run.value == value) {
        changed.strided_view({run.count}, {1}, shift + run.begin)
            .copy_from(other_[value].strided_view({run.count}, {1}, run.begin));
      }
    }
  }

  HookSite where_;
  const std::vector<Tensor>& other_;
  const std::vector<std::vector<Elements>>& elements_;
};

// A pair of texts after their passes: the patched text (base) and the source of values (other).
class PatchRun {
 public:
  PatchRun(const LanguageModel& model, const PatchingTask& task, const PatchGridOptions& options)
      : model_(model),
        options_(options),
        task_(task),
        base_(options.noising ? task.clean : task.corrupt),
        heads_(heads_of(model)),
        contrast_(model, task),
        replay_(read_base()),
        difference_(difference_of(replay_)) {
    KeepPoints other = keep_point();
    const std::vector<std::int32_t>& text = options.noising ? task.corrupt : task.clean;
    const ForwardReplay other_replay(model, contrast_.batch(text), &other);
    other_difference_ = difference_of(other_replay);
    other_next_ = next_of(other_replay);
    others_ = std::move(other.values);
  }

  double base_difference() const { return difference_; }
  double other_difference() const { return other_difference_; }
  NextToken base_next() const { return next_of(replay_); }
  NextToken other_next() const { return other_next_; }
  void require_different() const {
    contrast_.require_different(options_.noising ? difference_ : other_difference_,
                                options_.noising ? other_difference_ : difference_);
  }

  std::vector<PatchCell> cells() const {
    std::vector<PatchCell> cells;
    const std::vector<PatchCell> targets = this->targets();
    for (const auto& [spot, values] : others_) {
      const Index layer = spot.second;
      if (!options_.layers.contains(layer)) {
        continue;
      }
      for (const std::optional<Index>& item : items(layer)) {
        for (PatchCell cell : targets) {
          cell.layer = layer;
          cell.item = item;
          cells.push_back(cell);
        }
      }
    }
    require_value(!others_.empty(), "point", "this model does not compute ",
                  name_of(options_.point));
    require_value(
        !cells.empty(), "layers", "expected layers 0 to ", model_.heads().layers() - 1,
        options_.by_position ? concat_text(" and positions 0 to ", std::ssize(base_) - 1) : "",
        ", got none of them");
    return cells;
  }

  // Sets `difference` of all cells.
  void patch(std::vector<PatchCell>& cells) const {
    std::size_t done = 0;
    for_layers(cells, cells_at_once(), [&](std::span<PatchCell> together) {
      patch_together(together);
      done += together.size();
      options_.progress(static_cast<double>(done) / static_cast<double>(cells.size()));
    });
  }

  // Sets `attribution`, in units of the metric.
  void attribute(std::vector<PatchCell>& cells) const {
    const Point point = options_.point;
    require_value(replay_.gpt() != nullptr, "method", "expected patching: a model of type '",
                  model_.model_type(), "' has no attribution");
    const GradientPasses passes = gradient_passes(
        *replay_.gpt(), contrast_, base_,
        [&](Point at, Index) {
          return at == point || (options_.fix_pattern && at == Point::pattern);
        },
        options_.drop_gradients);
    const NoGrad no_grad;
    for_layers(cells, options_.fix_pattern ? cells_at_once() : cells.size(),
               [&](std::span<PatchCell> together) {
                 for (const auto& effects : options_.fix_pattern
                                                ? pattern_effects(together, passes)
                                                : linear_effects(together, passes)) {
                   add_effects(effects, together);
                 }
               });
    if (!options_.drop_gradients) {
      return;
    }
    // Values in a dropped layer have no effect, except in the residual stream.
    const bool is_stream =
        point == Point::resid_pre || point == Point::resid_mid || point == Point::resid_post;
    const auto counted = std::ssize(passes.passes) - (is_stream ? 0 : 1);
    for (PatchCell& cell : cells) {
      cell.attribution /= static_cast<double>(std::max<Index>(counted, 1));
    }
  }

 private:
  // Effects of cells in one pass.
  using Effects = std::vector<double>;

  // Number of cells that fit into one pass.
  std::size_t cells_at_once() const {
    return static_cast<std::size_t>(std::max<Index>(1, kRowsAtOnce / contrast_.rows()));
  }

  // Calls a function with at most `most` cells of one layer at a time.
  template <class Function>
  static void for_layers(std::vector<PatchCell>& cells, std::size_t most,
                         const Function& function) {
    for (std::size_t begin = 0; begin < cells.size();) {
      std::size_t end = begin;
      while (end < cells.size() && end - begin < most && cells[end].layer == cells[begin].layer) {
        ++end;
      }
      function(std::span(cells).subspan(begin, end - begin));
      begin = end;
    }
  }

  void add_effects(const Effects& effects, std::span<PatchCell> cells) const {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].attribution += options_.drop_gradients ? std::abs(effects[i]) : effects[i];
    }
  }

  // Returns (to - from) * gradient, element by element; 0 for equal values, such as -infinity.
  static std::vector<double> products(const Tensor& from, const Tensor& to,
                                      const Tensor& gradient) {
    std::vector<double> result(static_cast<std::size_t>(from.numel()), 0.0);
    if (gradient.defined()) {
      const std::vector<double> a = from.to_vector();
      const std::vector<double> b = to.to_vector();
      const std::vector<double> slope = gradient.to_vector();
      for (std::size_t i = 0; i < a.size(); ++i) {
        result[i] = a[i] == b[i] ? 0 : (b[i] - a[i]) * slope[i];
      }
    }
    return result;
  }

  // Returns the changes of the cells times the gradients, for each pass.
  std::vector<Effects> linear_effects(std::span<const PatchCell> cells,
                                      const GradientPasses& passes) const {
    const PointInLayer spot{options_.point, cells.front().layer};
    std::vector<Effects> result;
    for (const GradientPass& pass : passes.passes) {
      std::vector<std::vector<double>> elements;
      for (std::size_t i = 0; i < others_.at(spot).size(); ++i) {
        elements.push_back(
            products(passes.values.at(spot)[i], others_.at(spot)[i], pass.gradients.at(spot)[i]));
      }
      Effects& effects = result.emplace_back();
      for (const PatchCell& cell : cells) {
        double sum = 0;
        for (const Elements& run : elements_of(cell)) {
          const auto begin = elements[run.value].begin() + run.begin;
          sum = std::accumulate(begin, begin + run.count, sum);
        }
        effects.push_back(sum);
      }
    }
    return result;
  }

  // Returns the changes of the attention weights, computed with each cell patched, times their
  // gradients, for each pass.
  std::vector<Effects> pattern_effects(std::span<const PatchCell> cells,
                                       const GradientPasses& passes) const {
    const Index layer = cells.front().layer;
    const PointInLayer spot{Point::pattern, layer};
    KeepPoints keep([&](Point point, Index at) { return PointInLayer{point, at} == spot; });
    run_copies(cells, [&](const Batch& batch, ForwardHook& hook) {
      HookPair hooks(&hook, &keep);
      replay_.gpt()->run_layers(layer, layer + 1, replay_.residual(layer, std::ssize(cells)), batch,
                                {.hook = hooks.get()});
    });
    const std::vector<Tensor>& patched = keep.values.at(spot);  // copy by copy
    const std::vector<Tensor>& own = passes.values.at(spot);
    std::vector<Effects> result;
    for (const GradientPass& pass : passes.passes) {
      Effects& effects = result.emplace_back(cells.size(), 0.0);
      for (std::size_t i = 0; i < patched.size(); ++i) {
        const std::size_t sequence = i % own.size();
        const std::vector<double> changes =
            products(own[sequence], patched[i], pass.gradients.at(spot)[sequence]);
        effects[i / own.size()] += std::accumulate(changes.begin(), changes.end(), 0.0);
      }
    }
    return result;
  }

  KeepPoints keep_point() const {
    return KeepPoints([point = options_.point](Point at, Index) { return at == point; });
  }
  const std::vector<Tensor>& other_values(Index layer) const {
    return others_.at({options_.point, layer});
  }
  // Uses a hook, as for cells: attention that exposes its maps rounds differently.
  ForwardReplay read_base() const {
    KeepPoints own = keep_point();
    return ForwardReplay(model_, contrast_.batch(base_), &own);
  }
  // Bit-identical to the computation in patch_together().
  double difference_of(const ForwardReplay& replay) const {
    return contrast_.of_copies(replay, replay.ends(), replay.batch()).front();
  }
  NextToken next_of(const ForwardReplay& replay) const {
    return likeliest_token(replay.logits_of(replay.ends(), task_.answered_at()).to_vector());
  }
  // Positions or groups that have separate cells within an item.
  std::vector<PatchCell> targets() const {
    std::vector<PatchCell> targets;
    if (options_.by_group) {
      for (const TokenGroup& group : task_.groups) {
        targets.push_back({.group = group.name});
      }
    } else if (options_.by_position) {
      for (Index position = 0; position < std::ssize(base_); ++position) {
        if (options_.positions.contains(position)) {
          targets.push_back({.position = position});
        }
      }
    } else {
      targets.push_back({});
    }
    return targets;
  }

  std::vector<std::optional<Index>> items(Index layer) const {
    if (!options_.by_item) {
      return {std::nullopt};
    }
    const ValueLayout layout(options_.point, other_values(layer).front().shape());
    const std::vector<Index> numbers = item_numbers(options_.point, layer, layout.items, heads_);
    return {numbers.begin(), numbers.end()};
  }

  // Rows of a cell in a value with `rows` rows. Without maps they cover all sequences of a copy.
  std::vector<Index> rows_of(const PatchCell& cell, Index rows) const {
    std::vector<Index> positions;
    if (cell.group) {
      positions =
          std::find_if(task_.groups.begin(), task_.groups.end(), [&](const TokenGroup& group) {
            return group.name == *cell.group;
          })->positions;
    } else if (cell.position) {
      positions = {*cell.position};
    } else {
      positions.resize(static_cast<std::size_t>(rows));
      std::iota(positions.begin(), positions.end(), Index{0});
      return positions;
    }
    if (items_of(options_.point) == PointItems::maps) {
      return positions;
    }
    std::vector<Index> all;
    for (std::size_t i = 0; i + 1 < contrast_.starts().size(); ++i) {
      for (const Index position : positions) {
        all.push_back(contrast_.starts()[i] + position);
      }
    }
    return all;
  }

  std::vector<Elements> elements_of(const PatchCell& cell) const {
    std::vector<Elements> elements;
    const std::vector<Tensor>& values = other_values(cell.layer);
    for (std::size_t value = 0; value < values.size(); ++value) {
      const ValueLayout layout(options_.point, values[value].shape());
      Index first = 0;
      Index last = layout.items - 1;
      if (cell.item) {
        const std::vector<Index> numbers =
            item_numbers(options_.point, cell.layer, layout.items, heads_);
        first = last = std::find(numbers.begin(), numbers.end(), *cell.item) - numbers.begin();
      }
      for (const Index row : rows_of(cell, layout.rows)) {
        for (Index item = first; item <= last; ++item) {
          const Index begin = row * layout.row_stride + item * layout.item_stride;
          if (!elements.empty() && elements.back().value == value &&
              elements.back().begin + elements.back().count == begin) {
            elements.back().count += layout.width;
          } else {
            elements.push_back({value, begin, layout.width});
          }
        }
      }
    }
    return elements;
  }

  // Calls a function with a batch of copies of the text, and a hook that patches one cell of a
  // layer in each copy.
  template <class Function>
  void run_copies(std::span<const PatchCell> cells, const Function& function) const {
    const NoGrad no_grad;
    const Index layer = cells.front().layer;
    std::vector<std::vector<Elements>> elements;
    for (const PatchCell& cell : cells) {
      elements.push_back(elements_of(cell));
    }
    ReplaceElements hook({.point = options_.point, .layer = layer}, other_values(layer), elements);
    function(contrast_.batch(base_, std::ssize(cells)), hook);
  }

  // Patches cells of one layer, each in its own copy of the text.
  void patch_together(std::span<PatchCell> cells) const {
    run_copies(cells, [&](const Batch& batch, ForwardHook& hook) {
      const Tensor ends =
          replay_.ends_of_copies(cells.front().layer, batch, std::ssize(cells), hook);
      const std::vector<double> found = contrast_.of_copies(replay_, ends, batch);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        cells[i].difference = found[i];
      }
    });
  }

  const LanguageModel& model_;
  const PatchGridOptions& options_;
  const PatchingTask& task_;
  const std::vector<std::int32_t>& base_;  // [T]
  HeadLayout heads_;
  AnswerContrast contrast_;
  ForwardReplay replay_;  // of the base
  double difference_ = 0;
  double other_difference_ = 0;
  NextToken other_next_;
  ValuesByPoint others_;
};

// Throws Error for options that have no effect with the others.
void require_effects(const PatchGridOptions& options) {
  const Point point = options.point;
  require_value(options.by_position || options.positions == NumberRange{}, "positions",
                "needs parts by position");
  require_value(options.attribution || !(options.fix_pattern || options.drop_gradients),
                options.fix_pattern ? "qk_fix" : "grad_drop", "needs method attribution or both");
  require_value(!options.fix_pattern || point == Point::q || point == Point::k ||
                    point == Point::rot_q || point == Point::rot_k,
                "qk_fix", "needs point q, k, rot_q or rot_k, got ", name_of(point));
}

void require_layer_point(Point point) {
  require_value(is_in_layer(point), "point", "expected a point of layers, got ", name_of(point));
}

}  // namespace

void set_parts(PatchGridOptions& options, std::string_view by) {
  if (by.empty()) {
    by = items_of(options.point) != PointItems::features ? "head" : "position";
  }
  std::string list;
  for (const std::string_view name : kPatchParts) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  require_value(std::ranges::find(kPatchParts, by) != kPatchParts.end(), "by", "expected one of ",
                list, "; got '", by, "'");
  options.by_item = by.starts_with("head");
  options.by_position = by.ends_with("position");
  options.by_group = by.ends_with("group");
}

std::string parts_name(const PatchGridOptions& options) {
  const std::string axis = options.by_position ? "position" : options.by_group ? "group" : "";
  if (!options.by_item) {
    return axis.empty() ? "layer" : axis;
  }
  return axis.empty() ? "head" : "head," + axis;
}

PatchGrid patch_grid(const LanguageModel& model, const PatchingTask& task,
                     const PatchGridOptions& options) {
  require_layer_point(options.point);
  require_effects(options);
  require_value(!options.by_group || !options.by_position, "by",
                "expected either positions or groups of them");
  const PatchRun run(model, task, options);
  if (options.by_group) {
    check_groups(task.groups, std::ssize(task.clean));
  }
  const double whole = run.other_difference() - run.base_difference();
  PatchGrid grid{
      .clean_difference = options.noising ? run.base_difference() : run.other_difference(),
      .corrupt_difference = options.noising ? run.other_difference() : run.base_difference(),
      .clean_next = options.noising ? run.base_next() : run.other_next(),
      .corrupt_next = options.noising ? run.other_next() : run.base_next(),
      .cells = run.cells()};
  run.require_different();
  if (options.patch) {
    run.patch(grid.cells);
  }
  if (options.attribution) {
    run.attribute(grid.cells);
  }
  for (PatchCell& cell : grid.cells) {
    cell.recovered = options.patch ? (cell.difference - run.base_difference()) / whole
                                   : std::numeric_limits<double>::quiet_NaN();
    cell.attribution /= options.drop_gradients ? std::abs(whole) : whole;
  }
  return grid;
}

Index patch_grid_tokens(const LanguageModel& model, Index length, const PatchGridOptions& options,
                        Index groups) {
  require_layer_point(options.point);
  const Index layers = model.heads().layers();
  Index targets = options.by_position ? 0 : options.by_group ? groups : 1;
  for (Index position = 0; options.by_position && position < length; ++position) {
    targets += options.positions.contains(position) ? 1 : 0;
  }
  const PointValues values = values_of(model, make_batch({{0}}), [&](Point point, Index /*layer*/) {
    return point == options.point;
  });
  Index of_layers = 0;  // tokens times layers
  for (const auto& [spot, value] : values) {
    if (options.layers.contains(spot.second)) {
      const Index items = options.by_item ? ValueLayout(spot.first, value.shape()).items : 1;
      const Index cells = items * targets * length;
      of_layers += (options.patch ? cells * (layers - spot.second) : items * targets * layers) +
                   (options.fix_pattern ? cells : 0);
    }
  }
  const Index backward = options.attribution ? 3 * (options.drop_gradients ? layers + 1 : 1) : 0;
  return (2 + backward) * length + (of_layers + layers - 1) / layers + 1;
}

}  // namespace headlight
