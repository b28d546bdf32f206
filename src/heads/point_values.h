#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/head_layout.h"

namespace headlight {

// The value of a point as rows of items; of attn_scores and pattern the rows are queries.
struct ValueLayout {
  ValueLayout(Point point, const Shape& shape);

  Index rows = 0;
  Index items = 0;  // heads; of points without any: elements
  Index width = 0;  // elements of an item
  Index row_stride = 0;
  Index item_stride = 0;
};

// The numbers that the items of a value have: those of the heads, or 0, 1, 2 ...
std::vector<Index> item_numbers(Point point, Index layer, Index items, const HeadLayout& heads);

// A point and its layer, 0 for points of no layer.
using Spot = std::pair<Point, Index>;
using PointValues = std::map<Spot, Tensor>;

// Keeps what passes come by, the last of each.
class KeepValues final : public ForwardHook {
 public:
  explicit KeepValues(std::function<bool(Point, Index)> wants) : wants_(std::move(wants)) {}

  bool wants(Point point, Index layer) const override { return wants_(point, layer); }
  Tensor visit(const Place& place, const Tensor& value) override;

  PointValues values;

 private:
  std::function<bool(Point, Index)> wants_;
};

// The mean of the rows of values [N, ...] that have the same row.
class RowMeans {
 public:
  void add(const Tensor& value);
  // [F], F the elements of a row, after one row at least.
  Tensor row(DType dtype) const;

 private:
  std::vector<double> sums_;
  double rows_ = 0;
};

// What a pass comes by, of maps those of its last sequence. Records no gradient.
PointValues values_of(const Gpt& model, const Batch& batch,
                      std::function<bool(Point, Index)> wants);
// The same of one sequence.
PointValues values_of(const Gpt& model, const std::vector<std::int32_t>& tokens,
                      std::function<bool(Point, Index)> wants);

}  // namespace headlight
