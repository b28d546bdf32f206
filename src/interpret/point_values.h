#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/head_layout.h"

namespace headlight {

// Memory layout of a point's value: rows of items. For attn_scores and pattern, rows are queries.
struct ValueLayout {
  ValueLayout(Point point, const Shape& shape);

  Index rows = 0;
  Index items = 0;  // heads; elements for points without heads
  Index width = 0;  // elements of an item
  Index row_stride = 0;
  Index item_stride = 0;
};

// Numbers of the items of a value: head numbers, or 0, 1, 2 ...
std::vector<Index> item_numbers(Point point, Index layer, Index items, const HeadLayout& heads);

bool covers(const PointRange& target, Point point, Index layer);
bool covers(const std::vector<PointRange>& targets, Point point, Index layer);  // any of them

// Hook that puts rows [N, C] in the place of the embeddings of a pass.
class GivenEmbeddings final : public ForwardHook {
 public:
  explicit GivenEmbeddings(Tensor rows, bool in_family_units = false)
      : rows_(std::move(rows)), in_family_units_(in_family_units) {}

  bool wants(Point point, Index) const override { return point == Point::embed; }
  bool in_family_units() const override { return in_family_units_; }
  Tensor visit(const HookSite&, const Tensor&) override { return rows_; }

 private:
  Tensor rows_;
  bool in_family_units_;
};

// Hook that keeps a copy of the last value of each wanted point, or of part(value).
class KeepValues final : public ForwardHook {
 public:
  using Part = std::function<Tensor(const HookSite& site, const Tensor& value)>;
  explicit KeepValues(std::function<bool(Point, Index)> wants, Part part = nullptr,
                      bool in_family_units = false)
      : wants_(std::move(wants)), part_(std::move(part)), in_family_units_(in_family_units) {}

  bool wants(Point point, Index layer) const override { return wants_(point, layer); }
  bool in_family_units() const override { return in_family_units_; }
  Tensor visit(const HookSite& site, const Tensor& value) override;

  PointValues values;

 private:
  std::function<bool(Point, Index)> wants_;
  Part part_;
  bool in_family_units_;
};

// Runs the model and returns the values of the wanted points; for maps only the last sequence's.
// Records no gradient.
PointValues values_of(const LanguageModel& model, const Batch& batch,
                      std::function<bool(Point, Index)> wants, bool in_family_units = false);

// Means of the wanted points [N, ...] over the rows of all batches, [F] with the elements of a row,
// in the units of the model's family. `is_stream`: also over the last token of the text, which is
// only a target in the batches.
PointValues mean_rows(const LanguageModel& model, const SequentialBatches& batches, bool is_stream,
                      const std::function<bool(Point, Index)>& wants);

}  // namespace headlight
