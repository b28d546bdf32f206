#pragma once

#include "headlight/tensor/storage.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/panels/panels.h"

namespace headlight::kernels {

struct Bfloat16Tiles;

// How many bytes an element of x has in products with integers.
enum class Rounding { one_byte, two_bytes };

// Many rows of x, rounded once to the numbers that the CPU multiplies fastest with panels of a
// format. bfloat16: to bfloat16. Integers: to bytes, times a scale for 32 columns; with two bytes
// an element takes twice the time, and keeps 2^-15 of the largest of the 32. The bits of a
// row's products depend neither on the other rows nor on which panels are computed together.
class RoundedRows {
 public:
  // Returns whether the CPU has such products, and multiplies x faster than as it is.
  static bool supports(WeightFormat format, Index columns);

  // Rounds x [rows, columns], whose columns are contiguous, on all threads. Needs supports().
  RoundedRows(WeightFormat format, const MatrixView<float>& x, Index rows, Index columns,
              Rounding rounding = Rounding::one_byte);

  // As multiply_panels(), with these rows as x; all rows are multiplied.
  void multiply(const PanelLayout& layout, const PanelProduct& product) const;

 private:
  Index strips() const { return divided_up(rows_, strip_rows_); }
  char* strip(Index number) const { return start_ + number * strip_bytes_; }
  // Returns the rounded differences of a strip from x; only with two bytes.
  char* rest(Index number) const { return strip(strips() + number); }
  // Returns the number of strips that the second-level cache holds beside two panels.
  Index strips_of_pass() const;

  WeightFormat format_;
  Index rows_;
  Index columns_;
  Index strip_rows_;
  Index strip_bytes_;
  bool has_rest_;
  Storage memory_;
  char* start_;
};

}  // namespace headlight::kernels
