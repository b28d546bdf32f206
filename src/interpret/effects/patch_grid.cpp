#include "headlight/interpret/effects/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <deque>
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
#include "interpret/layer_maps.h"
#include "interpret/values_by_point.h"

namespace headlight {
namespace {

// Returns for each row and item of two values [rows x items] whether an element differs.
std::vector<char> different_items(Point point, const Tensor& a, const Tensor& b) {
  const ValueLayout layout(point, a.shape());
  std::vector<char> different;
  dispatch_floating(a.dtype(), "patch_grid", [&](auto zero) {
    using T = decltype(zero);
    for (Index row = 0; row < layout.rows; ++row) {
      for (Index item = 0; item < layout.items; ++item) {
        const Index begin = row * layout.row_stride + item * layout.item_stride;
        const T* first = a.data<T>() + begin;
        different.push_back(!std::equal(first, first + layout.width, b.data<T>() + begin));
      }
    }
  });
  return different;
}

// Replaces the values of a pass by those of another one, and keeps where they differ.
class KeepOther final : public ForwardHook {
 public:
  KeepOther(Point point, ValuesByPoint& values) : point_(point), values_(values) {}

  bool wants(Point point, Index /*layer*/) const override { return point == point_; }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    Tensor& kept = values_.at({site.point, site.layer}).at(static_cast<std::size_t>(site.sequence));
    const Tensor other = to_contiguous(value).clone();
    different[{site.point, site.layer}].push_back(different_items(point_, kept, other));
    kept = other;
    return value;
  }

  std::map<PointInLayer, std::vector<std::vector<char>>> different;  // as the values

 private:
  Point point_;
  ValuesByPoint& values_;
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
        difference_(contrast_.of_replay(replay_)) {
    KeepOther other(options.point, others_);
    const std::vector<std::int32_t>& text = options.noising ? task.corrupt : task.clean;
    const ForwardReplay other_replay(model, contrast_.batch(text), &other, 0,
                                     ForwardReplay::Runs::at_starts);
    other_difference_ = contrast_.of_replay(other_replay);
    other_next_ = next_of(other_replay);
    different_ = std::move(other.different);
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
    std::deque<ReplaceCell> hooks;
    std::vector<ChangedRun> runs;
    std::vector<PatchCell*> changed;
    for (PatchCell& cell : cells) {
      cell.difference = difference_;
      if (const std::optional<Index> change = first_change(cell)) {
        const Index first = first_computed(model_, *change);
        runs.push_back({&hooks.emplace_back(*this, cell, first), cell.layer, first});
        changed.push_back(&cell);
      }
    }
    const std::vector<double> found = contrast_.of_runs(replay_, runs, options_.progress);
    for (std::size_t i = 0; i < found.size(); ++i) {
      changed[i]->difference = found[i];
    }
    options_.progress(1);
  }

  // Sets `attribution`, in units of the metric.
  void attribute(std::vector<PatchCell>& cells) const {
    const Point point = options_.point;
    const GradientPasses passes = gradient_passes(
        model_, contrast_, base_,
        [&](Point at, Index) {
          return at == point || (options_.fix_pattern && at == Point::pattern);
        },
        options_.drop_gradients);
    const NoGrad no_grad;
    const std::size_t at_once = !options_.fix_pattern            ? cells.size()
                                : model_.takes_passes_together() ? 64
                                                                 : 1;
    for_layers(cells, at_once, [&](std::span<PatchCell> together) {
      for (const auto& effects : options_.fix_pattern ? pattern_effects(together, passes)
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

  // Neighbouring items of a token.
  struct Span {
    Index sequence = 0;
    Index position = 0;
    Index item = 0;
    Index items = 1;
  };

  // Replaces the values of a cell by those of the other text, in the pass of a run.
  class ReplaceCell final : public ForwardHook {
   public:
    // `first`: of the run.
    ReplaceCell(const PatchRun& run, const PatchCell& cell, Index first)
        : run_(run), cell_(cell), first_(first) {}

    bool wants(Point point, Index layer) const override {
      return point == run_.options_.point && layer == cell_.layer;
    }
    Tensor visit(const HookSite& site, const Tensor& value) override {
      Tensor changed = to_contiguous(value).clone();
      run_.for_spans(cell_, [&](const Span& span) {
        if (!run_.is_map() || span.sequence == site.sequence) {
          const Tensor& other = run_.other_of(cell_, span);
          const auto [from, count] = run_.place_of(span, other.shape(), 0);
          const Index to = run_.place_of(span, changed.shape(), first_).first;
          if (span.position >= first_) {
            changed.strided_view({count}, {1}, to)
                .copy_from(other.strided_view({count}, {1}, from));
          }
        }
      });
      return changed;
    }

   private:
    const PatchRun& run_;
    const PatchCell& cell_;
    Index first_;
  };

  bool is_map() const { return items_of(options_.point) == PointItems::maps; }
  // Returns the number of the value with a span: each sequence has its map, others share one value.
  std::size_t value_with(const Span& span) const {
    return static_cast<std::size_t>(is_map() ? span.sequence : 0);
  }
  const Tensor& other_of(const PatchCell& cell, const Span& span) const {
    return other_values(cell.layer)[value_with(span)];
  }

  // Returns the row of a span in its value, whose sequences begin at position `first`.
  Index row_of(const Span& span, Index first) const {
    const Index begin = is_map() ? 0
                                 : contrast_.starts()[static_cast<std::size_t>(span.sequence)] -
                                       span.sequence * first;
    return begin + span.position - first;
  }
  // Returns the offset and number of a span's elements in a value of this shape, whose sequences
  // begin at position `first`.
  std::pair<Index, Index> place_of(const Span& span, const Shape& shape, Index first) const {
    const ValueLayout layout(options_.point, shape);
    return {row_of(span, first) * layout.row_stride + span.item * layout.item_stride,
            span.items * layout.width};
  }

  // Calls a function with all spans of a cell.
  template <class Function>
  void for_spans(const PatchCell& cell, const Function& function) const {
    const ValueLayout layout(options_.point, other_values(cell.layer).front().shape());
    Index first = 0;
    Index last = layout.items - 1;
    if (cell.item) {
      const std::vector<Index> numbers =
          item_numbers(options_.point, cell.layer, layout.items, heads_);
      first = last = std::find(numbers.begin(), numbers.end(), *cell.item) - numbers.begin();
    }
    const Index step = is_map() ? 1 : last - first + 1;
    for (Index sequence = 0; sequence + 1 < std::ssize(contrast_.starts()); ++sequence) {
      for (const Index position : positions_of(cell, sequence)) {
        for (Index item = first; item <= last; item += step) {
          function(Span{sequence, position, item, step});
        }
      }
    }
  }

  // Returns the first position that a cell changes; none if the values of the two texts are equal.
  std::optional<Index> first_change(const PatchCell& cell) const {
    std::optional<Index> first;
    const auto& different = different_.at({options_.point, cell.layer});
    for_spans(cell, [&](const Span& span) {
      const Index items = ValueLayout(options_.point, other_of(cell, span).shape()).items;
      const auto begin = different[value_with(span)].begin() + row_of(span, 0) * items + span.item;
      if (std::find(begin, begin + span.items, 1) != begin + span.items) {
        first = std::min(first.value_or(span.position), span.position);
      }
    });
    return first;
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
        for_spans(cell, [&](const Span& span) {
          const auto [first, count] = place_of(span, other_of(cell, span).shape(), 0);
          const auto begin = elements[value_with(span)].begin() + first;
          sum = std::accumulate(begin, begin + count, sum);
        });
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
    std::deque<ReplaceCell> hooks;
    std::vector<ChangedRun> runs;
    for (const PatchCell& cell : cells) {
      runs.push_back({&hooks.emplace_back(*this, cell, 0), layer});
    }
    replay_.run_below(layer + 1, runs, &keep);
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

  const std::vector<Tensor>& other_values(Index layer) const {
    return others_.at({options_.point, layer});
  }
  // Keeps the values of the base for now.
  ForwardReplay read_base() {
    KeepPoints own([point = options_.point](Point at, Index) { return at == point; });
    ForwardReplay replay(model_, contrast_.batch(base_), &own, options_.memory);
    others_ = std::move(own.values);
    return replay;
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

  std::vector<Index> positions_of(const PatchCell& cell, Index sequence) const {
    if (cell.group) {
      return std::ranges::find(task_.groups, *cell.group, &TokenGroup::name)->positions;
    }
    if (cell.position) {
      return {*cell.position};
    }
    const auto b = static_cast<std::size_t>(sequence);
    std::vector<Index> all(
        static_cast<std::size_t>(contrast_.starts()[b + 1] - contrast_.starts()[b]));
    std::iota(all.begin(), all.end(), Index{0});
    return all;
  }

  const LanguageModel& model_;
  const PatchGridOptions& options_;
  const PatchingTask& task_;
  const std::vector<std::int32_t>& base_;  // [T]
  HeadLayout heads_;
  AnswerContrast contrast_;
  ValuesByPoint others_;                                              // values of the other text
  std::map<PointInLayer, std::vector<std::vector<char>>> different_;  // from the base, by item
  ForwardReplay replay_;                                              // of the base
  double difference_ = 0;
  double other_difference_ = 0;
  NextToken other_next_;
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

namespace {

// Returns the first position that each target of an item changes; targets that change nothing are
// left out.
std::vector<Index> changed_positions(const LanguageModel& model, const PatchingTask& task,
                                     const PatchGridOptions& options, Index groups) {
  const Index different =
      model.is_causal() ? std::ranges::mismatch(task.clean, task.corrupt).in1 - task.clean.begin()
                        : 0;
  if (!options.by_position) {
    return std::vector<Index>(static_cast<std::size_t>(options.by_group ? groups : 1), different);
  }
  std::vector<Index> positions;
  for (Index position = different; position < std::ssize(task.clean); ++position) {
    if (options.positions.contains(position)) {
      positions.push_back(position);
    }
  }
  return positions;
}

}  // namespace

Index patch_grid_tokens(const LanguageModel& model, const PatchingTask& task,
                        const PatchGridOptions& options, Index groups) {
  require_layer_point(options.point);
  const Index layers = model.heads().layers();
  const Index answer = std::max<Index>(std::ssize(task.answer), 1);  // its last token is not read
  const Index length = std::ssize(task.clean) + answer - 1;
  const std::vector<Index> positions = changed_positions(model, task, options, groups);
  Index rows = 0;  // of all targets of an item
  for (const Index position : positions) {
    rows += length - first_computed(model, position);
  }
  const PointValues values = values_of(model, make_batch({{0}}), [&](Point point, Index /*layer*/) {
    return point == options.point;
  });
  Index of_layers = 0;  // tokens times layers
  for (const auto& [spot, value] : values) {
    if (options.layers.contains(spot.second)) {
      const Index items = options.by_item ? ValueLayout(spot.first, value.shape()).items : 1;
      const Index cells = items * std::ssize(positions);
      of_layers += (options.patch ? items * rows * (layers - spot.second) : cells * layers) +
                   (options.fix_pattern ? cells * length : 0);
    }
  }
  const Index backward = options.attribution ? 3 * (options.drop_gradients ? layers + 1 : 1) : 0;
  return (2 + backward) * length + (of_layers + layers - 1) / layers + 1;
}

}  // namespace headlight
