#pragma once

#include <cstddef>
#include <vector>

#include "headlight/base/index.h"

namespace headlight {

// Range of elements of one parameter.
struct Segment {
  std::size_t parameter = 0;
  Index begin = 0;
  Index end = 0;

  Index size() const { return end - begin; }
  bool operator==(const Segment&) const = default;
};

using Segments = std::vector<Segment>;

// Size of a parameter, and whether it may be cut.
struct DivisibleParameter {
  Index elements = 0;
  bool is_whole = false;  // never cut: one process owns all of it
};

// Cuts the elements of all parameters twice. Buckets are sent as soon as their gradients are
// complete. Each bucket has one piece per shard. Processes halve a bucket repeatedly, so its pieces
// are the leaves of a binary tree, and each process ends with a subtree. The cuts do not depend on
// the number of processes.
class GradientLayout {
 public:
  // `pieces`, the number of shards, is a power of two.
  GradientLayout(const std::vector<DivisibleParameter>& parameters, Index pieces);

  // Number of buckets, in the order of backward passes: the last parameters first.
  Index bucket_count() const { return static_cast<Index>(buckets_.size()); }
  Index piece_count() const { return pieces_; }
  // Returns the segments of pieces `first` to `last` - 1 of a bucket; neighbours are joined.
  Segments segments(Index bucket, Index first, Index last) const;
  // Returns the parameters with elements in a bucket, each once.
  std::vector<std::size_t> parameters_of(Index bucket) const;

 private:
  using Bucket = std::vector<Segments>;  // by piece

  void halve(const Segments& run, const std::vector<DivisibleParameter>& parameters, Index pieces,
             Bucket& into) const;

  Index pieces_;
  std::vector<Bucket> buckets_;
};

Index count_elements(const Segments& segments);

}  // namespace headlight
