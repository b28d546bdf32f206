#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "headlight/base/index.h"

namespace headlight {

inline constexpr Index kMaxRank = 8;

// Up to kMaxRank sizes or strides, stored in place.
class Shape {
 public:
  Shape() = default;
  // Throws Error for more than kMaxRank entries.
  Shape(std::initializer_list<Index> sizes)
      : Shape(std::span<const Index>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const Index> sizes);
  // Returns `rank` entries of `value`.
  static Shape filled(Index rank, Index value);

  Index rank() const { return rank_; }
  Index operator[](Index axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  Index& operator[](Index axis) { return sizes_[static_cast<std::size_t>(axis)]; }
  const Index* begin() const { return sizes_.data(); }
  const Index* end() const { return sizes_.data() + rank_; }
  Index* begin() { return sizes_.data(); }
  Index* end() { return sizes_.data() + rank_; }
  Index back() const { return (*this)[rank_ - 1]; }

  void push_back(Index size);
  void insert(Index axis, Index size);
  void erase(Index axis);

  bool operator==(const Shape& other) const;

 private:
  std::array<Index, kMaxRank> sizes_{};
  Index rank_ = 0;
};

// Returns the number of elements; 1 for a scalar. Throws Error if a size is negative or the product
// does not fit an Index.
Index numel(const Shape& shape);

// Returns row-major strides, in elements.
Shape contiguous_strides(const Shape& shape);

// Returns the broadcast of both shapes by NumPy's rule. Throws Error with `where`.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view where);

// Returns `axis` counted from the front; -1 is the last. Throws Error with `where` if out of range.
Index normalize_axis(Index axis, Index rank, std::string_view where);

// "[4, 8]"
void append_text(std::string& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace headlight
