#include "kernels/panels/rounded_rows.h"

#include <algorithm>

#include "headlight/kernels/precision.h"
#include "kernels/bfloat16/tiles.h"
#include "kernels/panels/integer_panels.h"
#include "kernels/threads/parallel.h"

namespace headlight::kernels {
namespace {

constexpr Index kPassBytes = Index{3} << 18;  // of the second-level cache

Index blocks_of(Index columns) { return divided_up(columns, kScaleBlock); }

Index rows_of_strip(WeightFormat format) {
  return format == WeightFormat::int8 ? integer_panels().strip_rows : bfloat16_tiles()->rows;
}

Index bytes_of_strip(WeightFormat format, Index columns) {
  return format == WeightFormat::int8
             ? integer_panels().strip_bytes * blocks_of(columns)
             : bfloat16_tiles()->rows * columns * static_cast<Index>(sizeof(Bfloat16Bits));
}

}  // namespace

bool RoundedRows::supports(WeightFormat format, Index columns) {
  if (format == WeightFormat::int8) {
    return integer_panels().strip_rows > 0;
  }
  return format == WeightFormat::bfloat16 && supports_precision(Precision::bfloat16) &&
         columns % kBfloat16Depth == 0;
}

RoundedRows::RoundedRows(WeightFormat format, const MatrixView<float>& x, Index rows, Index columns,
                         Rounding rounding)
    : format_(format),
      rows_(rows),
      columns_(columns),
      strip_rows_(rows_of_strip(format)),
      strip_bytes_(bytes_of_strip(format, columns)),
      has_rest_(format == WeightFormat::int8 && rounding == Rounding::two_bytes),
      memory_(static_cast<std::size_t>(strips() * strip_bytes_ * (has_rest_ ? 2 : 1))),
      start_(static_cast<char*>(memory_.data())) {
  parallel_for(strips(), row_grain(columns * strip_rows_), [&](Index begin, Index end) {
    for (Index number = begin; number < end; ++number) {
      const Index row = number * strip_rows_;
      const Index height = std::min(strip_rows_, rows_ - row);
      if (format_ == WeightFormat::int8) {
        integer_panels().round_strip(x.from(row, 0), height, columns_,
                                     {strip(number), has_rest_ ? rest(number) : nullptr});
      } else {
        bfloat16_tiles()->pack_strip(x.from(row, 0), columns_, height, columns_,
                                     reinterpret_cast<Bfloat16Bits*>(strip(number)));
      }
    }
  });
}

Index RoundedRows::strips_of_pass() const {
  const Index most = std::max<Index>(1, kPassBytes / strip_bytes_);
  return divided_up(strips(), divided_up(strips(), most));
}

void RoundedRows::multiply(const PanelLayout& layout, const PanelProduct& product) const {
  const bool is_integer = format_ == WeightFormat::int8;
  const Index unpacked = is_integer ? integer_panels().unpacked_bytes * blocks_of(columns_) : 0;
  Storage memory(static_cast<std::size_t>(std::max<Index>(1, unpacked)));
  for (Index first = 0; first < strips(); first += strips_of_pass()) {
    PanelProduct part = product;
    const Index row = first * strip_rows_;
    part.batch = std::min(strips_of_pass() * strip_rows_, rows_ - row);
    part.y += row * part.y_stride;
    if (is_integer) {
      StripProduct bytes{.panels = part, .strips = strip(first), .unpacked = memory.data()};
      integer_panels().multiply_strips(layout.integers, bytes);
      if (has_rest_) {
        bytes.strips = rest(first);
        bytes.adds = true;
        integer_panels().multiply_strips(layout.integers, bytes);
      }
    } else {
      multiply_strips(part, reinterpret_cast<const Bfloat16Bits*>(strip(first)), *bfloat16_tiles());
    }
  }
}

}  // namespace headlight::kernels
