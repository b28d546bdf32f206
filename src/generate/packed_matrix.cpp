#include "generate/packed_matrix.h"

#include <algorithm>

#include "headlight/ops/layout.h"
#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {

using kernels::kPanelRows;

namespace {

// Maximum number of panels for which a section of columns fits into the second-level cache while
// all rows of x use it. Each chunk rounds x again, so that few large chunks are the fastest.
constexpr Index kMostPanels = 24;

Index panels_of_chunk(Index panels) {
  return std::clamp<Index>(divided_up(panels, kernels::max_threads()), 1, kMostPanels);
}

}  // namespace

kernels::PanelFormat panel_format(WeightFormat format) {
  switch (format) {
    case WeightFormat::bfloat16:
      return kernels::PanelFormat::bfloat16;
    case WeightFormat::int8:
      return kernels::PanelFormat::int8;
    case WeightFormat::float32:
      break;
  }
  return kernels::PanelFormat::float32;
}

PackedMatrix::PackedMatrix(const Tensor& weight, const Tensor& bias, WeightFormat format)
    : rows_(weight.size(0)),
      columns_(weight.size(1)),
      panel_bytes_(kernels::panel_bytes(panel_format(format), columns_)),
      format_(panel_format(format)),
      memory_(Tensor::empty({panels() * panel_bytes_ / 4}, DType::int32)) {
  const Tensor source = to_contiguous(weight.detach());
  const float* from = source.data<float>();
  auto* to = reinterpret_cast<char*>(memory_.data<std::int32_t>());
  kernels::parallel_for(
      panels(), kernels::row_grain(columns_ * kPanelRows), [&](Index begin, Index end) {
        for (Index panel = begin; panel < end; ++panel) {
          const Index row = panel * kPanelRows;
          kernels::pack_panel(format_, from + row * columns_, std::min(kPanelRows, rows_ - row),
                              columns_, to + panel * panel_bytes_);
        }
      });
  if (bias.defined()) {
    bias_ = Tensor::zeros({panels() * kPanelRows});
    std::copy_n(to_contiguous(bias.detach()).data<float>(), rows_, bias_.data<float>());
  }
}

void PackedMatrix::multiply(Index begin, Index end, Index batch, const StepVectors& x,
                            const StepVectors& y) const {
  const Index row = begin * kPanelRows;
  const auto* memory = reinterpret_cast<const char*>(memory_.data<std::int32_t>());
  kernels::multiply_panels(format_, {.panels = memory + begin * panel_bytes_,
                                     .count = end - begin,
                                     .panel_bytes = panel_bytes_,
                                     .columns = columns_,
                                     .x = x.start,
                                     .x_stride = x.stride,
                                     .y = y.start + row,
                                     .y_stride = y.stride,
                                     .batch = batch});
  if (bias_.defined()) {
    const float* bias = bias_.data<float>() + row;
    for (Index b = 0; b < batch; ++b) {
      kernels::loops<float>().add(bias, y.of(b) + row, y.of(b) + row, (end - begin) * kPanelRows);
    }
  }
}

Tensor PackedMatrix::product(const Tensor& x) const {
  Tensor rows = to_contiguous(x);                                     // [N, columns]
  Tensor padded = Tensor::empty({x.size(0), panels() * kPanelRows});  // [N, rows]
  const StepVectors from{rows.data<float>(), columns_};
  const StepVectors to{padded.data<float>(), padded.size(1)};
  kernels::parallel_for(panels(), panels_of_chunk(panels()),
                        [&](Index begin, Index end) { multiply(begin, end, x.size(0), from, to); });
  return to_contiguous(slice(padded, 1, 0, rows_));
}

}  // namespace headlight
