#include "distributed/gradient_layout.h"

#include <algorithm>
#include <utility>

namespace headlight {
namespace {

// Large enough to outweigh a message's latency, small enough to start sending early.
constexpr Index kBucketElements = Index{1} << 20;  // 4 MiB of float32
// Cuts at multiples keep the vectors of kernels whole, so that optimizers compute the same bits.
constexpr Index kGradientAlignment = 64;

void append(Segments& segments, const Segment& more) {
  if (more.size() == 0) {
    return;
  }
  if (!segments.empty() && segments.back().parameter == more.parameter &&
      segments.back().end == more.begin) {
    segments.back().end = more.end;
  } else {
    segments.push_back(more);
  }
}

// Fills buckets with the parameters from the last to the first. Cuts a parameter without is_whole
// where a bucket is full, from its first element on.
std::vector<Segments> fill_buckets(const std::vector<DivisibleParameter>& parameters) {
  std::vector<Segments> buckets;
  Index room = 0;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    for (Index begin = 0; begin < parameters[i].elements;) {
      const Index left = parameters[i].elements - begin;
      if (room < kGradientAlignment) {
        buckets.emplace_back();
        room = kBucketElements;
      }
      const Index taken = parameters[i].is_whole
                              ? left
                              : std::min(left, room / kGradientAlignment * kGradientAlignment);
      append(buckets.back(), {i, begin, begin + taken});
      begin += taken;
      room -= taken;
    }
  }
  return buckets;
}

// Returns the allowed cut nearest to the middle, in elements from the beginning of the run.
Index middle_of(const Segments& run, const std::vector<DivisibleParameter>& parameters) {
  const Index middle = count_elements(run) / 2;
  Index begin = 0;
  for (const Segment& segment : run) {
    const Index end = begin + segment.size();
    if (middle < end) {
      if (parameters[segment.parameter].is_whole) {
        return middle - begin < end - middle ? begin : end;
      }
      const Index element = segment.begin + (middle - begin);  // element of the parameter
      const Index aligned = element / kGradientAlignment * kGradientAlignment;
      return std::max(begin, begin + aligned - segment.begin);
    }
    begin = end;
  }
  return begin;
}

// Returns the first `count` elements of a run, and the rest.
std::pair<Segments, Segments> split(const Segments& run, Index count) {
  std::pair<Segments, Segments> parts;
  for (const Segment& segment : run) {
    const Index taken = std::clamp<Index>(count, 0, segment.size());
    append(parts.first, {segment.parameter, segment.begin, segment.begin + taken});
    append(parts.second, {segment.parameter, segment.begin + taken, segment.end});
    count -= taken;
  }
  return parts;
}

}  // namespace

Index count_elements(const Segments& segments) {
  Index count = 0;
  for (const Segment& segment : segments) {
    count += segment.size();
  }
  return count;
}

GradientLayout::GradientLayout(const std::vector<DivisibleParameter>& parameters, Index pieces)
    : pieces_(pieces) {
  for (const Segments& run : fill_buckets(parameters)) {
    halve(run, parameters, pieces, buckets_.emplace_back());
  }
}

void GradientLayout::halve(const Segments& run, const std::vector<DivisibleParameter>& parameters,
                           Index pieces, Bucket& into) const {
  if (pieces == 1) {
    into.push_back(run);
    return;
  }
  const auto [low, high] = split(run, middle_of(run, parameters));
  halve(low, parameters, pieces / 2, into);
  halve(high, parameters, pieces / 2, into);
}

Segments GradientLayout::segments(Index bucket, Index first, Index last) const {
  const Bucket& pieces = buckets_[static_cast<std::size_t>(bucket)];
  Segments joined;
  for (Index piece = first; piece < last; ++piece) {
    for (const Segment& segment : pieces[static_cast<std::size_t>(piece)]) {
      append(joined, segment);
    }
  }
  return joined;
}

std::vector<std::size_t> GradientLayout::parameters_of(Index bucket) const {
  std::vector<std::size_t> found;
  for (const Segment& segment : segments(bucket, 0, pieces_)) {
    if (std::find(found.begin(), found.end(), segment.parameter) == found.end()) {
      found.push_back(segment.parameter);
    }
  }
  return found;
}

}  // namespace headlight
