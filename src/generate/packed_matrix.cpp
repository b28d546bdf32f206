#include "generate/packed_matrix.h"

#include <algorithm>

#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {

using kernels::kPanelRows;

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

}  // namespace headlight
