#include "headlight/heads/effects/patch_grid.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "heads/effects/answer_contrast.h"
#include "heads/effects/token_groups.h"
#include "heads/spot_values.h"

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
  ReplaceElements(Place where, const std::vector<Tensor>& other,
                  const std::vector<std::vector<Elements>>& elements)
      : where_(where), other_(other), elements_(elements) {}

  bool wants(Point point, Index layer) const override {
    return point == where_.point && layer == where_.layer;
  }
  Tensor visit(const Place& place, const Tensor& value) override {
    Tensor changed = to_contiguous(value).clone();
    if (items_of(where_.point) == PointItems::maps) {  // value of one sequence
      const auto number = static_cast<std::size_t>(place.sequence);
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

  Place where_;
  const std::vector<Tensor>& other_;
  const std::vector<std::vector<Elements>>& elements_;
};

// A pair of texts after their passes: the patched text (base) and the source of values (other).
class PatchRun {
 public:
  PatchRun(const Gpt& model, const PatchingTask& task, const PatchGridOptions& options)
      : model_(model),
        options_(options),
        task_(task),
        base_(options.noising ? task.clean : task.corrupt),
        heads_(model.heads()),
        contrast_(model, task),
        replay_(read_base()),
        difference_(difference_of(replay_)) {
    KeepSpots other = keep_point();
    const std::vector<std::int32_t>& text = options.noising ? task.corrupt : task.clean;
    other_difference_ = difference_of(ForwardReplay(model, contrast_.batch(text), &other));
    others_ = std::move(other.values);
  }

  double base_difference() const { return difference_; }
  double other_difference() const { return other_difference_; }
  void require_different() const {
    contrast_.require_different(options_.noising ? difference_ : other_difference_,
                                options_.noising ? other_difference_ : difference_);
  }

  std::vector<PatchCell> cells() const {
    std::vector<PatchCell> cells;
    const std::vector<PatchCell> places = this->places();
    for (const auto& [spot, values] : others_) {
      const Index layer = spot.second;
      if (!options_.layers.contains(layer)) {
        continue;
      }
      for (const std::optional<Index>& item : items(layer)) {
        for (PatchCell cell : places) {
          cell.layer = layer;
          cell.item = item;
          cells.push_back(cell);
        }
      }
    }
    require_value(!others_.empty(), "point", "this model does not compute ",
                  name_of(options_.point));
    require_value(
        !cells.empty(), "layers", "expected layers 0 to ", model_.config().n_layer - 1,
        options_.by_position ? concat_text(" and positions 0 to ", std::ssize(base_) - 1) : "",
        ", got none of them");
    return cells;
  }

  // Sets `difference` of all cells.
  void patch(std::vector<PatchCell>& cells) const {
    const auto most = static_cast<std::size_t>(std::max<Index>(1, kRowsAtOnce / contrast_.rows()));
    for (std::size_t begin = 0; begin < cells.size();) {
      std::size_t end = begin;
      while (end < cells.size() && end - begin < most && cells[end].layer == cells[begin].layer) {
        ++end;
      }
      patch_together(std::span(cells).subspan(begin, end - begin));
      begin = end;
      options_.progress(static_cast<double>(end) / static_cast<double>(cells.size()));
    }
  }

  // Sets `attribution`, in units of the logits.
  void attribute(std::vector<PatchCell>& cells) const {
    KeepSpots hook = keep_point(true);
    const FrozenWeights frozen(model_);
    const Tensor measured = contrast_.after(model_, base_, &hook);
    require_value(measured.requires_grad(), "metric",
                  "expected a value with a gradient with respect to the logits");
    backward(measured);
    // (other - own) * gradient, element by element.
    std::map<Index, std::vector<std::vector<double>>> effects;
    for (const auto& [spot, leaves] : hook.leaves) {
      const NoGrad no_grad;
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        const Tensor change = others_.at(spot)[i] - hook.values.at(spot)[i];
        effects[spot.second].push_back(to_contiguous(change * leaves[i].grad()).to_vector());
      }
    }
    for (PatchCell& cell : cells) {
      for (const Elements& run : elements_of(cell)) {
        const auto begin = effects.at(cell.layer)[run.value].begin() + run.begin;
        cell.attribution = std::accumulate(begin, begin + run.count, cell.attribution);
      }
    }
  }

 private:
  KeepSpots keep_point(bool with_leaves = false) const {
    return KeepSpots([point = options_.point](Point at, Index) { return at == point; },
                     with_leaves);
  }
  const std::vector<Tensor>& other_values(Index layer) const {
    return others_.at({options_.point, layer});
  }
  // Uses a hook, as for cells: attention that exposes its maps rounds differently.
  ForwardReplay read_base() const {
    KeepSpots own = keep_point();
    return ForwardReplay(model_, contrast_.batch(base_), &own);
  }
  // Bit-identical to the computation in patch_together().
  double difference_of(const ForwardReplay& replay) const {
    const NoGrad no_grad;
    return contrast_.of_copies(model_, replay.ends(), replay.batch()).front();
  }
  // Positions or groups that have separate cells within an item.
  std::vector<PatchCell> places() const {
    std::vector<PatchCell> places;
    if (options_.by_group) {
      for (const TokenGroup& group : task_.groups) {
        places.push_back({.group = group.name});
      }
    } else if (options_.by_position) {
      for (Index position = 0; position < std::ssize(base_); ++position) {
        if (options_.positions.contains(position)) {
          places.push_back({.position = position});
        }
      }
    } else {
      places.push_back({});
    }
    return places;
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
    std::vector<Index> places;
    if (cell.group) {
      places = std::find_if(task_.groups.begin(), task_.groups.end(), [&](const TokenGroup& group) {
                 return group.name == *cell.group;
               })->positions;
    } else if (cell.position) {
      places = {*cell.position};
    } else {
      places.resize(static_cast<std::size_t>(rows));
      std::iota(places.begin(), places.end(), Index{0});
      return places;
    }
    if (items_of(options_.point) == PointItems::maps) {
      return places;
    }
    std::vector<Index> all;
    for (std::size_t i = 0; i + 1 < contrast_.starts().size(); ++i) {
      for (const Index place : places) {
        all.push_back(contrast_.starts()[i] + place);
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

  // Patches cells of one layer, each in its own copy of the text.
  void patch_together(std::span<PatchCell> cells) const {
    const NoGrad no_grad;
    const Index layer = cells.front().layer;
    std::vector<std::vector<Elements>> elements;
    for (const PatchCell& cell : cells) {
      elements.push_back(elements_of(cell));
    }
    ReplaceElements hook({.point = options_.point, .layer = layer}, other_values(layer), elements);
    const auto copies = std::ssize(cells);
    const Batch batch = contrast_.batch(base_, copies);
    const Tensor& one = replay_.residual(layer);  // [R, C]
    const Tensor many = reshape(
        expand(reshape(one, {1, one.size(0), one.size(1)}), {copies, one.size(0), one.size(1)}),
        {copies * one.size(0), one.size(1)});
    const std::vector<double> found =
        contrast_.of_copies(model_, model_.hidden_from(layer, many, batch, {.hook = &hook}), batch);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].difference = found[i];
    }
  }

  const Gpt& model_;
  const PatchGridOptions& options_;
  const PatchingTask& task_;
  const std::vector<std::int32_t>& base_;  // [T]
  HeadLayout heads_;
  AnswerContrast contrast_;
  ForwardReplay replay_;  // of the base
  double difference_ = 0;
  double other_difference_ = 0;
  SpotValues others_;
};

void require_layer_point(Point point) {
  require_value(is_in_layer(point), "point", "expected a point of layers, got ", name_of(point));
}

}  // namespace

PatchGrid patch_grid(const Gpt& model, const PatchingTask& task, const PatchGridOptions& options) {
  require_layer_point(options.point);
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
    cell.attribution /= whole;
  }
  return grid;
}

Index patch_grid_tokens(const Gpt& model, Index length, const PatchGridOptions& options) {
  require_layer_point(options.point);
  const Index layers = model.config().n_layer;
  Index places = options.by_position ? 0 : 1;
  for (Index position = 0; options.by_position && position < length; ++position) {
    places += options.positions.contains(position) ? 1 : 0;
  }
  const PointValues values = values_of(model, make_batch({{0}}), [&](Point point, Index /*layer*/) {
    return point == options.point;
  });
  Index of_layers = 0;  // tokens times layers
  for (const auto& [spot, value] : values) {
    if (options.layers.contains(spot.second)) {
      const Index items = options.by_item ? ValueLayout(spot.first, value.shape()).items : 1;
      of_layers += items * places * length * (layers - spot.second);
    }
  }
  return 2 * length + (of_layers + layers - 1) / layers + 1;
}

}  // namespace headlight
