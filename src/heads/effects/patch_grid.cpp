#include "headlight/heads/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "heads/effects/patching_task.h"
#include "heads/point_values.h"

namespace headlight {
namespace {

// Copies of the text that one pass reads at once: products of many rows are faster.
constexpr Index kRowsAtOnce = 1024;

// Adds a leaf to the value of a point in every layer, whose gradient is that of the value.
class KeepGradients final : public ForwardHook {
 public:
  explicit KeepGradients(Point point) : point_(point) {}
  bool wants(Point point, Index) const override { return point == point_; }
  Tensor visit(const Place& place, const Tensor& value) override {
    Tensor leaf = Tensor::zeros(value.shape(), value.dtype());
    leaf.set_requires_grad(true);
    leaves[place.layer] = leaf;
    return value + leaf;
  }

  std::map<Index, Tensor> leaves;

 private:
  Point point_;
};

Index place_of_number(Index number, const std::vector<Index>& numbers) {
  return std::find(numbers.begin(), numbers.end(), number) - numbers.begin();
}

// In copy b of a text the values of cell b are those of another text.
class ReplaceCells final : public ForwardHook {
 public:
  ReplaceCells(Point point, const HeadLayout& heads, const Tensor& other,
               std::span<const PatchCell> cells)
      : point_(point), heads_(heads), other_(other), cells_(cells) {}

  bool wants(Point point, Index layer) const override {
    return point == point_ && layer == cells_.front().layer;
  }
  Tensor visit(const Place& place, const Tensor& value) override {
    Tensor changed = to_contiguous(value).clone();
    const bool is_map = items_of(point_) == PointItems::maps;  // of one sequence at a time
    const ValueLayout whole(point_, changed.shape());
    const ValueLayout from(point_, other_.shape());
    for (std::size_t b = 0; b < cells_.size(); ++b) {
      if (!is_map) {
        replace(cells_[b], changed, whole, static_cast<Index>(b) * from.rows, from);
      } else if (place.sequence == static_cast<Index>(b)) {
        replace(cells_[b], changed, whole, 0, from);
      }
    }
    return changed;
  }

 private:
  Index place_of_item(const PatchCell& cell, Index items) const {
    return place_of_number(*cell.item, item_numbers(point_, cell.layer, items, heads_));
  }
  void replace(const PatchCell& cell, Tensor& changed, const ValueLayout& whole, Index first_row,
               const ValueLayout& from) const {
    const Index begin = cell.position.value_or(0);
    const Index end = cell.position ? begin + 1 : from.rows;
    const Index first = cell.item ? place_of_item(cell, from.items) : 0;
    const Index last = cell.item ? first + 1 : from.items;
    for (Index row = begin; row < end; ++row) {
      for (Index item = first; item < last; ++item) {
        const Index to = (first_row + row) * whole.row_stride + item * whole.item_stride;
        changed.strided_view({from.width}, {1}, to)
            .copy_from(other_.strided_view({from.width}, {1},
                                           row * from.row_stride + item * from.item_stride));
      }
    }
  }

  Point point_;
  const HeadLayout& heads_;
  const Tensor& other_;
  std::span<const PatchCell> cells_;  // of one layer
};

std::map<Index, Tensor> by_layer(const PointValues& values) {
  std::map<Index, Tensor> result;
  for (const auto& [spot, value] : values) {
    result[spot.second] = value;
  }
  return result;
}

// A pair whose texts have been read: the one that is changed, and the one that gives values.
class PatchRun {
 public:
  PatchRun(const Gpt& model, const PatchingTask& task, const PatchGridOptions& options)
      : model_(model),
        options_(options),
        base_(options.noising ? task.clean : task.corrupt),
        heads_(model.heads()),
        answers_(slice(model.head_weight(), 0, task.answer, task.answer + 1) -
                 slice(model.head_weight(), 0, task.wrong, task.wrong + 1)) {
    const NoGrad no_grad;
    const auto wants = [&](Point point, Index) { return point == options.point; };
    KeepValues other(wants);
    other_difference_ =
        read(options.noising ? task.corrupt : task.clean, &other).to_vector().front();
    others_ = by_layer(other.values);
    const Batch batch = make_batch({base_});
    KeepValues own(wants);
    residuals_.push_back(model.residual(batch, 0).detach());
    for (Index layer = 0; layer < model.config().n_layer; ++layer) {
      residuals_.push_back(
          model.run_layers(layer, layer + 1, residuals_.back(), batch, {.hook = &own}).detach());
    }
    own_ = by_layer(own.values);
    difference_ = differences(model.config().n_layer, 1, nullptr).front();
  }

  double base_difference() const { return difference_; }
  double other_difference() const { return other_difference_; }

  std::vector<PatchCell> cells() const;
  // Sets `difference` of cells of one layer.
  void patch(std::span<PatchCell> cells) const;
  // Sets `attribution`, in units of the logits.
  void attribute(std::vector<PatchCell>& cells) const;

 private:
  // The logit of the answer less that of the wrong token, [1].
  Tensor read(const std::vector<std::int32_t>& text, ForwardHook* hook) const {
    const Batch batch = make_batch({text});
    return difference_of(model_.hidden(batch, {.hook = hook}), batch);
  }
  Tensor difference_of(const Tensor& hidden, const Batch& batch) const {
    return reshape(linear(last_rows(hidden, batch), answers_), {batch.sequence_count()});
  }
  // Of copies of the text from a layer on, with a hook.
  std::vector<double> differences(Index layer, Index copies, ForwardHook* hook) const {
    const NoGrad no_grad;
    const Batch batch =
        make_batch(std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(copies), base_));
    const Tensor& one = residuals_[static_cast<std::size_t>(layer)];  // [T, C]
    const Tensor many = reshape(
        expand(reshape(one, {1, one.size(0), one.size(1)}), {copies, one.size(0), one.size(1)}),
        {copies * one.size(0), one.size(1)});
    return difference_of(model_.hidden_from(layer, many, batch, {.hook = hook}), batch).to_vector();
  }
  Index place_in(const PatchCell& cell, Index items) const {
    return place_of_number(*cell.item, item_numbers(options_.point, cell.layer, items, heads_));
  }

  const Gpt& model_;
  const PatchGridOptions& options_;
  std::vector<std::int32_t> base_;  // [T]
  HeadLayout heads_;
  Tensor answers_;  // [1, C]
  double difference_ = 0;
  double other_difference_ = 0;
  std::map<Index, Tensor> others_;  // of the other text, by layer
  std::map<Index, Tensor> own_;
  std::vector<Tensor> residuals_;  // [L + 1] of [T, C]
};

std::vector<PatchCell> PatchRun::cells() const {
  std::vector<PatchCell> cells;
  const auto length = static_cast<Index>(base_.size());
  for (const auto& [layer, value] : others_) {
    if (!options_.layers.contains(layer)) {
      continue;
    }
    std::vector<std::optional<Index>> items{std::nullopt};
    if (options_.by_item) {
      const ValueLayout layout(options_.point, value.shape());
      const std::vector<Index> numbers = item_numbers(options_.point, layer, layout.items, heads_);
      items.assign(numbers.begin(), numbers.end());
    }
    for (const std::optional<Index>& item : items) {
      if (!options_.by_position) {
        cells.push_back({.layer = layer, .item = item});
        continue;
      }
      for (Index position = 0; position < length; ++position) {
        if (options_.positions.contains(position)) {
          cells.push_back({.layer = layer, .item = item, .position = position});
        }
      }
    }
  }
  require_value(!others_.empty(), "point", "this model computes no ", name_of(options_.point));
  require_value(!cells.empty(), "layers", "expected layers 0 to ", model_.config().n_layer - 1,
                options_.by_position ? concat_text(" and positions 0 to ", length - 1) : "",
                ", got none of them");
  return cells;
}

void PatchRun::patch(std::span<PatchCell> cells) const {
  const Index layer = cells.front().layer;
  ReplaceCells hook(options_.point, heads_, others_.at(layer), cells);
  const std::vector<double> found = differences(layer, std::ssize(cells), &hook);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].difference = found[i];
  }
}

void PatchRun::attribute(std::vector<PatchCell>& cells) const {
  KeepGradients hook(options_.point);
  backward(reshape(read(base_, &hook), {}));
  std::map<Index, std::vector<double>> effects;  // (other - own) gradient, element by element
  for (const auto& [layer, leaf] : hook.leaves) {
    const NoGrad no_grad;
    effects[layer] = to_contiguous((others_.at(layer) - own_.at(layer)) * leaf.grad()).to_vector();
  }
  for (PatchCell& cell : cells) {
    const ValueLayout value(options_.point, others_.at(cell.layer).shape());
    const std::vector<double>& effect = effects.at(cell.layer);
    const Index first = cell.item ? place_in(cell, value.items) : 0;
    const Index last = cell.item ? first + 1 : value.items;
    for (Index row = cell.position.value_or(0);
         row < (cell.position ? *cell.position + 1 : value.rows); ++row) {
      for (Index item = first; item < last; ++item) {
        const auto begin = effect.begin() + row * value.row_stride + item * value.item_stride;
        cell.attribution = std::accumulate(begin, begin + value.width, cell.attribution);
      }
    }
  }
}

// Cells of one layer at a time, as many as a pass takes.
void patch_all(const PatchRun& run, std::vector<PatchCell>& cells, Index length,
               const std::function<void(double)>& progress) {
  const auto most = static_cast<std::size_t>(std::max<Index>(1, kRowsAtOnce / length));
  for (std::size_t begin = 0; begin < cells.size();) {
    std::size_t end = begin;
    while (end < cells.size() && end - begin < most && cells[end].layer == cells[begin].layer) {
      ++end;
    }
    run.patch(std::span(cells).subspan(begin, end - begin));
    begin = end;
    if (progress) {
      progress(static_cast<double>(end) / static_cast<double>(cells.size()));
    }
  }
}

double correlation_of(const std::vector<MeanPatchCell>& cells) {
  const auto count = static_cast<double>(cells.size());
  double mean_a = 0;
  double mean_b = 0;
  for (const MeanPatchCell& cell : cells) {
    mean_a += cell.cell.recovered / count;
    mean_b += cell.cell.attribution / count;
  }
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (const MeanPatchCell& cell : cells) {
    const double a = cell.cell.recovered - mean_a;
    const double b = cell.cell.attribution - mean_b;
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  return ab / std::sqrt(aa * bb);
}

// Means of the same cell of every pair.
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

}  // namespace

PatchGrid patch_grid(const Gpt& model, const PatchingTask& task, const PatchGridOptions& options) {
  check_task(task, model);
  require_value(is_in_layer(options.point), "point", "expected a point of layers, got ",
                name_of(options.point));
  const PatchRun run(model, task, options);
  const double whole = run.other_difference() - run.base_difference();
  PatchGrid grid{
      .clean_difference = options.noising ? run.base_difference() : run.other_difference(),
      .corrupt_difference = options.noising ? run.other_difference() : run.base_difference(),
      .cells = run.cells()};
  require_different(grid.clean_difference, grid.corrupt_difference);
  if (options.patch) {
    patch_all(run, grid.cells, static_cast<Index>(task.clean.size()), options.progress);
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

PatchStudy patch_pairs(const Gpt& model, const std::vector<PatchingTask>& tasks,
                       const PatchGridOptions& options) {
  require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
  PatchStudy study;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    require_value(!options.by_position || tasks[i].clean.size() == tasks[0].clean.size(), "pairs",
                  "positions of texts of the same length can be compared, got ",
                  tasks[0].clean.size(), " tokens in pair 1 and ", tasks[i].clean.size(),
                  " in pair ", i + 1);
    PatchGridOptions of_pair = options;
    if (options.progress) {
      of_pair.progress = [&](double share) {
        options.progress((static_cast<double>(i) + share) / static_cast<double>(tasks.size()));
      };
    }
    const auto grid = [&] { return patch_grid(model, tasks[i], of_pair); };
    study.pairs.push_back(tasks.size() == 1 ? grid()
                                            : in_place(concat_text("pair ", i + 1, ": "), grid));
  }
  study.cells = mean_cells(study.pairs);
  study.correlation = options.patch && options.attribution
                          ? correlation_of(study.cells)
                          : std::numeric_limits<double>::quiet_NaN();
  return study;
}

}  // namespace headlight
