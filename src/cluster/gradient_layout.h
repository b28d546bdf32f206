#pragma once

#include <cstddef>
#include <vector>

#include "headlight/base/index.h"

namespace headlight {

// Elements of one parameter.
struct Segment {
  std::size_t parameter = 0;
  Index begin = 0;
  Index end = 0;

  Index size() const { return end - begin; }
  bool operator==(const Segment&) const = default;
};

using Segments = std::vector<Segment>;

// What is to be divided.
struct DivisibleParameter {
  Index elements = 0;
  bool is_whole = false;  // all of it belongs to one process
};

// The elements of all parameters, cut twice: into buckets, which are sent as soon as their
// gradients are known, and each bucket into pieces, one a shard. Processes that share a bucket
// halve it again and again, so a bucket's pieces are the leaves of a binary tree and what a process
// ends with is a subtree. The cuts depend on the parameters and the number of shards alone,
// whatever the number of processes.
class GradientLayout {
 public:
  // `pieces` is a power of two.
  GradientLayout(const std::vector<DivisibleParameter>& parameters, Index pieces);

  // In the order in which backward passes come to know gradients: those of the last parameters
  // first.
  Index bucket_count() const { return static_cast<Index>(buckets_.size()); }
  Index piece_count() const { return pieces_; }
  // Of pieces `first` to `last` - 1 of a bucket; neighbours are joined.
  Segments segments(Index bucket, Index first, Index last) const;
  // Parameters with elements in a bucket, each once.
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
