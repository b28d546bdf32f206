#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "headlight/tensor/tensor.h"
#include "kernels/panels/panels.h"
#include "kernels/panels/rounded_rows.h"

namespace headlight {

// Vectors of a step, stored with a constant stride.
struct StepVectors {
  float* start = nullptr;
  Index stride = 0;  // elements from one vector to the next

  float* of(Index b) const { return start + b * stride; }
};

// Rows of a matrix that their source packs.
struct PackedRows {
  Index count = 0;
  kernels::PanelLayout layout = {};
  bool is_rounded = false;  // whether packing changes the weights
  // Packs rows [first, first + count) into the lanes of a panel, from `lane` on. Several
  // threads call it at once.
  std::function<void(Index first, Index count, Index lane, void* panel)> pack = {};
};

// Packs rows of float32 or bfloat16, [N, columns], into the lanes of a panel from `lane` on. Panels
// of bfloat16 hold bfloat16 rows as they are; otherwise see kernels::pack_panel(). Throws Error, a
// sentence without its subject, for values that would not be finite then.
void pack_rows(const Tensor& rows, WeightFormat format, Index lane, void* panel);

// A matrix [rows, columns] and its bias in the layout that generation steps read: panels of 16
// rows. Copies share the panels.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `bias` may be undefined.
  PackedMatrix(const Tensor& weight, const Tensor& bias, WeightFormat format);
  // Packs rows that follow one another. Throws Error if the layout changes inside a panel.
  PackedMatrix(Index columns, const std::vector<PackedRows>& parts, const Tensor& bias);

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  Index panels() const { return kernels::panel_count(rows_); }

  // Computes the rows of panels [begin, end) of y = weight x + bias for `batch` vectors. Writes 0
  // to the padding of the last panel.
  void multiply(Index begin, Index end, Index batch, const StepVectors& x,
                const StepVectors& y) const;
  // Returns x [N, columns] times the weight transposed, plus the bias: [N, rows]. Runs on all
  // threads.
  Tensor product(const Tensor& x) const;
  // As product(), but rounds x to numbers that the CPU multiplies fastest: see
  // kernels::RoundedRows. Needs has_rounded_product().
  Tensor rounded_product(const Tensor& x,
                         kernels::Rounding rounding = kernels::Rounding::one_byte) const;
  bool has_rounded_product() const;
  // Returns rows [first, last), [last - first, columns], as the float32 weights that the panels
  // represent. `first` is a multiple of 16.
  Tensor unpacked(Index first, Index last) const;
  // Writes the weights of one row, [columns].
  void unpack_row(Index row, float* weights) const;
  const Tensor& bias() const { return bias_; }
  // Returns the size of the panels.
  Index bytes() const;
  // Returns the size of the panels of a matrix of these rows.
  static Index bytes_of(Index columns, const std::vector<PackedRows>& parts);
  // Returns true if all panels hold integers; see kernels::multiplies_int8_fast().
  bool has_integers() const;
  // Returns true if all panels hold bfloat16.
  bool has_bfloat16() const;
  // Returns true if packing changed the weights, or may have changed them.
  bool is_rounded() const { return is_rounded_; }

 private:
  // Consecutive panels of one layout.
  struct Section {
    Index begin = 0;  // panel
    Index end = 0;
    kernels::PanelLayout layout = {};
    Index panel_bytes = 0;
    Tensor memory = {};
    char* start = nullptr;  // of memory

    void* panel(Index number) const { return start + (number - begin) * panel_bytes; }
  };

  bool has_only(WeightFormat format) const;
  // Calls use(section, product without x) for the sections of panels [begin, end).
  template <class Use>
  void for_sections(Index begin, Index end, Index batch, const StepVectors& y,
                    const Use& use) const;
  void add_bias(Index begin, Index end, Index batch, const StepVectors& y) const;
  void add_sections(const std::vector<PackedRows>& parts);  // without memory
  void add_section(const kernels::PanelLayout& layout, Index end);
  const Section& section_of(Index panel) const;

  Index rows_ = 0;
  Index columns_ = 0;
  bool is_rounded_ = false;
  std::vector<Section> sections_;
  Tensor bias_;  // [16 panels] or undefined
};

// Returns x [..., columns] times the transposed matrix, plus its bias: [..., rows]. Multiplies with
// the float32 weights that the panels represent, unpacking few rows at a time, without rounding x.
// Only x gets a gradient: the matrix and its bias are frozen.
Tensor packed_linear(const Tensor& x, const std::shared_ptr<const PackedMatrix>& matrix,
                     Precision precision = Precision::float32);

}  // namespace headlight
