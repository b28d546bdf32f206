#include "nn/packed/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "headlight/ops/layout.h"
#include "ops/common.h"
#include "ops/matrix.h"

namespace headlight {
namespace {

using kernels::kPanelRows;

// Maximum number of panels for which a section of columns fits into the second-level cache while
// all rows of x use it. product() rounds x again for each chunk, so that few large ones are
// fastest.
constexpr Index kMostPanels = 24;
// Twice as many where x is rounded once for all chunks, because panels are read once.
constexpr Index kMostRoundedPanels = 48;

// Returns a number of panels that divides all into equal shares for the threads, and is even:
// products take two panels at a time.
Index panels_of_chunk(Index panels, Index most) {
  const Index threads = kernels::max_threads();
  const Index rounds = divided_up(panels, threads * most);
  return std::max<Index>(2, rounded_up(divided_up(panels, threads * rounds), 2));
}

// Throws Error unless all values stay finite in every format, bfloat16 included.
void require_packable(const Tensor& values) {
  constexpr float kLimit = 0x1.FFp127F;  // the least number that bfloat16 rounds to infinity
  const float* from = values.data<float>();
  bool fits = true;
  for (Index i = 0; i < values.numel(); ++i) {
    fits &= std::abs(from[i]) < kLimit;
  }
  require(fits, "contains values that are not finite once they are packed; use float32 weights");
}

}  // namespace

void pack_rows(const Tensor& rows, WeightFormat format, Index lane, void* panel) {
  const Index count = rows.size(0);
  const Index columns = rows.size(1);
  if (format == WeightFormat::bfloat16 && rows.dtype() == DType::bfloat16) {
    kernels::pack_panel(to_contiguous(rows).data<BFloat16>(), count, columns, lane, panel);
  } else {
    const Tensor values = to_contiguous(convert(rows, DType::float32));
    if (format != WeightFormat::float32) {
      require_packable(values);
    }
    kernels::pack_panel(format, values.data<float>(), count, columns, lane, panel);
  }
}

PackedMatrix::PackedMatrix(const Tensor& weight, const Tensor& bias, WeightFormat format)
    : PackedMatrix(weight.size(1),
                   {{.count = weight.size(0),
                     .layout = format,
                     .is_rounded = format != WeightFormat::float32,
                     .pack =
                         [format, source = to_contiguous(weight.detach())](
                             Index first, Index count, Index lane, void* panel) {
                           pack_rows(slice(source, 0, first, first + count), format, lane, panel);
                         }}},
                   bias) {}

namespace {

// Rows of one part that belong to one panel.
struct PanelShare {
  const PackedRows* part;
  Index first;  // row of the part
  Index count;
  Index lane;
};

// Returns the shares of all panels, in order.
std::vector<std::vector<PanelShare>> shares_of_panels(const std::vector<PackedRows>& parts) {
  std::vector<std::vector<PanelShare>> panels;
  Index row = 0;
  for (const PackedRows& part : parts) {
    for (Index first = 0; first < part.count;) {
      const Index lane = row % kPanelRows;
      if (lane == 0) {
        panels.emplace_back();
      }
      const Index count = std::min(kPanelRows - lane, part.count - first);
      panels.back().push_back({&part, first, count, lane});
      first += count;
      row += count;
    }
  }
  return panels;
}

}  // namespace

void PackedMatrix::add_section(const kernels::PanelLayout& layout, Index end) {
  const Index begin = sections_.empty() ? 0 : sections_.back().end;
  if (!sections_.empty() && sections_.back().layout == layout) {
    sections_.back().end = end;
  } else if (end > begin) {
    sections_.push_back({.begin = begin,
                         .end = end,
                         .layout = layout,
                         .panel_bytes = kernels::panel_bytes(layout, columns_)});
  }
}

void PackedMatrix::add_sections(const std::vector<PackedRows>& parts) {
  for (const PackedRows& part : parts) {
    require(sections_.empty() || rows_ % kPanelRows == 0 || sections_.back().layout == part.layout,
            "[PackedMatrix] expected one layout for the 16 rows of a panel, got two at row ",
            rows_);
    rows_ += part.count;
    is_rounded_ = is_rounded_ || part.is_rounded;
    add_section(part.layout, panels());
  }
}

Index PackedMatrix::bytes_of(Index columns, const std::vector<PackedRows>& parts) {
  PackedMatrix matrix;
  matrix.columns_ = columns;
  matrix.add_sections(parts);
  return matrix.bytes();
}

PackedMatrix::PackedMatrix(Index columns, const std::vector<PackedRows>& parts, const Tensor& bias)
    : columns_(columns) {
  add_sections(parts);
  for (Section& section : sections_) {
    section.memory =
        Tensor::empty({(section.end - section.begin) * section.panel_bytes / 4}, DType::int32);
    section.start = reinterpret_cast<char*>(section.memory.data<std::int32_t>());
  }
  const std::vector<std::vector<PanelShare>> shares = shares_of_panels(parts);
  kernels::parallel_for(
      panels(), kernels::row_grain(columns_ * kPanelRows), [&](Index begin, Index end) {
        for (Index panel = begin; panel < end; ++panel) {
          const Section& section = section_of(panel);
          std::memset(section.panel(panel), 0, static_cast<std::size_t>(section.panel_bytes));
          for (const PanelShare& share : shares[static_cast<std::size_t>(panel)]) {
            share.part->pack(share.first, share.count, share.lane, section.panel(panel));
          }
        }
      });
  if (bias.defined()) {
    bias_ = Tensor::zeros({panels() * kPanelRows});
    std::copy_n(to_contiguous(bias.detach()).data<float>(), rows_, bias_.data<float>());
  }
}

const PackedMatrix::Section& PackedMatrix::section_of(Index panel) const {
  const auto* found = &sections_.front();
  while (panel >= found->end) {
    ++found;
  }
  return *found;
}

Index PackedMatrix::bytes() const {
  Index bytes = 0;
  for (const Section& section : sections_) {
    bytes += (section.end - section.begin) * section.panel_bytes;
  }
  return bytes;
}

bool PackedMatrix::has_integers() const { return has_only(WeightFormat::int8); }

bool PackedMatrix::has_bfloat16() const { return has_only(WeightFormat::bfloat16); }

bool PackedMatrix::has_only(WeightFormat format) const {
  return std::all_of(sections_.begin(), sections_.end(),
                     [format](const Section& section) { return section.layout.format == format; });
}

template <class Use>
void PackedMatrix::for_sections(Index begin, Index end, Index batch, const StepVectors& y,
                                const Use& use) const {
  for (const Section& section : sections_) {
    const Index first = std::max(begin, section.begin);
    const Index count = std::min(end, section.end) - first;
    if (count > 0) {
      use(section, kernels::PanelProduct{.panels = section.panel(first),
                                         .count = count,
                                         .panel_bytes = section.panel_bytes,
                                         .columns = columns_,
                                         .y = y.start + first * kPanelRows,
                                         .y_stride = y.stride,
                                         .batch = batch});
    }
  }
}

void PackedMatrix::add_bias(Index begin, Index end, Index batch, const StepVectors& y) const {
  if (bias_.defined()) {
    const Index row = begin * kPanelRows;
    const float* bias = bias_.data<float>() + row;
    for (Index b = 0; b < batch; ++b) {
      kernels::loops<float>().add(bias, y.of(b) + row, y.of(b) + row, (end - begin) * kPanelRows);
    }
  }
}

void PackedMatrix::multiply(Index begin, Index end, Index batch, const StepVectors& x,
                            const StepVectors& y) const {
  for_sections(begin, end, batch, y, [&](const Section& section, kernels::PanelProduct product) {
    product.x = x.start;
    product.x_stride = x.stride;
    kernels::multiply_panels(section.layout, product);
  });
  add_bias(begin, end, batch, y);
}

Tensor PackedMatrix::product(const Tensor& x) const {
  Tensor rows = to_contiguous(x);                                     // [N, columns]
  Tensor padded = Tensor::empty({x.size(0), panels() * kPanelRows});  // [N, rows]
  const StepVectors from{rows.data<float>(), columns_};
  const StepVectors to{padded.data<float>(), padded.size(1)};
  kernels::parallel_for(panels(), panels_of_chunk(panels(), kMostPanels),
                        [&](Index begin, Index end) { multiply(begin, end, x.size(0), from, to); });
  return to_contiguous(slice(padded, 1, 0, rows_));
}

bool PackedMatrix::has_rounded_product() const {
  return std::all_of(sections_.begin(), sections_.end(), [this](const Section& section) {
    return section.layout.format == sections_.front().layout.format &&
           kernels::RoundedRows::supports(section.layout.format, columns_);
  });
}

Tensor PackedMatrix::rounded_product(const Tensor& x, kernels::Rounding rounding) const {
  const Tensor whole = to_contiguous(x);  // [N, columns]
  const Index batch = x.size(0);
  Tensor padded = Tensor::empty({batch, panels() * kPanelRows});  // [N, rows]
  const kernels::RoundedRows rows(sections_.front().layout.format,
                                  {whole.data<float>(), columns_, 1}, batch, columns_, rounding);
  const StepVectors to{padded.data<float>(), padded.size(1)};
  const Index chunk = panels_of_chunk(panels(), kMostRoundedPanels);
  kernels::parallel_for(panels(), chunk, [&](Index begin, Index end) {
    for_sections(begin, end, batch, to,
                 [&](const Section& section, const kernels::PanelProduct& product) {
                   rows.multiply(section.layout, product);
                 });
    add_bias(begin, end, batch, to);
  });
  return to_contiguous(slice(padded, 1, 0, rows_));
}

Tensor PackedMatrix::unpacked(Index first, Index last) const {
  require(first % kPanelRows == 0 && first >= 0 && first <= last && last <= rows_,
          "[PackedMatrix] no rows ", first, " to ", last, " of ", rows_);
  Tensor weights = Tensor::empty({last - first, columns_});
  float* to = weights.data<float>();
  kernels::parallel_for(kernels::panel_count(last - first),
                        kernels::row_grain(columns_ * kPanelRows), [&](Index begin, Index end) {
                          for (Index panel = begin; panel < end; ++panel) {
                            const Index row = panel * kPanelRows;
                            const Index number = first / kPanelRows + panel;
                            const Section& section = section_of(number);
                            kernels::unpack_panel(section.layout, section.panel(number),
                                                  std::min(kPanelRows, last - first - row),
                                                  columns_, to + row * columns_);
                          }
                        });
  return weights;
}

void PackedMatrix::unpack_row(Index row, float* weights) const {
  const Index panel = row / kPanelRows;
  const Section& section = section_of(panel);
  kernels::unpack_row(section.layout, section.panel(panel), row % kPanelRows, columns_, weights);
}

namespace {

// Weights to unpack at a time: enough for large products, few enough to stay in a cache.
constexpr Index kUnpackedElements = Index{1} << 18;

// Calls body(first, weights) for consecutive rows of the matrix, unpacked [rows, columns].
template <class Body>
void for_rows(const PackedMatrix& matrix, const Body& body) {
  const Index panels =
      std::max<Index>(1, kUnpackedElements / (kPanelRows * std::max<Index>(1, matrix.columns())));
  for (Index first = 0; first < matrix.rows(); first += panels * kPanelRows) {
    body(first, matrix.unpacked(first, std::min(matrix.rows(), first + panels * kPanelRows)));
  }
}

}  // namespace

Tensor packed_linear(const Tensor& x, const std::shared_ptr<const PackedMatrix>& matrix,
                     Precision precision) {
  require(matrix != nullptr && x.defined() && x.rank() >= 1 && x.size(-1) == matrix->columns() &&
              x.size(-1) > 0,
          "[packed_linear] expected an input with a last axis as wide as the matrix");
  require_type(x, DType::float32, "packed_linear", "input");
  const Index rows = x.numel() / x.size(-1);
  Shape shape = x.shape();
  shape[shape.rank() - 1] = matrix->rows();
  Tensor value = Tensor::empty(shape);
  const Matrix<float> to = matrix_of<float>(value);
  const Tensor whole = to_contiguous(x.detach());
  for_rows(*matrix, [&](Index first, const Tensor& weights) {
    auto product = product_of<float>(matrix_of<float>(whole), matrix_of<float>(weights),
                                     {to.data + first, rows, weights.size(0)},
                                     {Transposed::second, precision});
    product.c_stride = to.columns;
    product.bias = matrix->bias().defined() ? matrix->bias().data<float>() + first : nullptr;
    kernels::gemm(product);
  });
  return record_shapes(
      "packed_linear", value, {x}, [matrix, precision](auto in, const Tensor& grad) {
        Tensor x_grad = Tensor::empty(in[0].shape());
        const Tensor grads = to_contiguous(grad);
        const Matrix<const float> from = matrix_of<float>(grads);
        for_rows(*matrix, [&](Index first, const Tensor& weights) {
          auto product = product_of<float>({from.data + first, from.rows, weights.size(0)},
                                           matrix_of<float>(weights), matrix_of<float>(x_grad),
                                           {Transposed::none, precision});
          product.a_stride = from.columns;
          product.beta = first == 0 ? 0.0F : 1.0F;
          kernels::gemm(product);
        });
        return std::vector<Tensor>{x_grad};
      });
}

}  // namespace headlight
