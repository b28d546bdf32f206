#include "distributed/sharded_gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "kernels/loops.h"
#include "kernels/threads/parallel.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

std::vector<DivisibleParameter> divisible(const NamedTensors& parameters,
                                          const std::vector<std::string>& whole) {
  std::vector<DivisibleParameter> result;
  for (const auto& [name, tensor] : parameters) {
    result.push_back({.elements = tensor.numel(),
                      .is_whole = std::find(whole.begin(), whole.end(), name) != whole.end()});
  }
  return result;
}

// Returns a view of consecutive elements.
Tensor part_of(const Tensor& tensor, Index begin, Index size) {
  return tensor.strided_view({size}, {1}, begin);
}

// Adds `from` to `to`.
void add_elements(const Tensor& from, Tensor& to) {
  dispatch_floating(to.dtype(), "ShardedGradients", [&](auto zero) {
    using T = decltype(zero);
    const T* source = from.data<T>();
    T* target = to.data<T>();
    kernels::parallel_for(to.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
      kernels::loops<T>().add(source + begin, target + begin, target + begin, end - begin);
    });
  });
}

using SentRuns = std::vector<std::span<const std::byte>>;
using ReceivedRuns = std::vector<std::span<std::byte>>;

// Appends the memory of segments in the tensors that tensor_of(parameter) returns.
template <class Runs, class TensorOf>
void add_runs(const Segments& segments, const TensorOf& tensor_of, Runs& runs) {
  for (const Segment& segment : segments) {
    Tensor tensor = tensor_of(segment.parameter);
    const std::size_t element = element_size(tensor.dtype());
    runs.emplace_back(
        writable_bytes_of(tensor).data() + static_cast<std::size_t>(segment.begin) * element,
        static_cast<std::size_t>(segment.size()) * element);
  }
}

// Returns consecutive runs of `buffer` with the sizes of the segments.
ReceivedRuns runs_in(Tensor& buffer, const Segments& segments) {
  const std::size_t element = element_size(buffer.dtype());
  ReceivedRuns runs;
  std::byte* begin = writable_bytes_of(buffer).data();
  for (const Segment& segment : segments) {
    runs.emplace_back(begin, static_cast<std::size_t>(segment.size()) * element);
    begin += runs.back().size();
  }
  return runs;
}

// Adds `arrived`, which holds the segments one after the other, to the gradients.
template <class TensorOf>
void add_arrived(const Tensor& arrived, const Segments& segments, const TensorOf& tensor_of) {
  Index begin = 0;
  for (const Segment& segment : segments) {
    Tensor sum = part_of(tensor_of(segment.parameter), segment.begin, segment.size());
    add_elements(part_of(arrived, begin, segment.size()), sum);
    begin += segment.size();
  }
}

double sum_of_squares(const Tensor& tensor, const Segment& segment) {
  return dispatch_floating(tensor.dtype(), "ShardedGradients", [&](auto zero) {
    using T = decltype(zero);
    double sum = 0;
    for (Index begin = segment.begin; begin < segment.end; begin += kernels::kElementGrain) {
      const Index end = std::min(begin + kernels::kElementGrain, segment.end);
      sum += kernels::loops<T>().sum_of_squares(tensor.data<T>() + begin, end - begin);
    }
    return sum;
  });
}

// Returns "wte.weight" for "exp_avg.wte.weight".
std::string parameter_of(const std::string& state) { return state.substr(state.find('.') + 1); }

enum class Direction { to_whole, to_part };

// Copies between a tensor and its ranges, which `part` holds one after the other.
void copy_ranges(const std::vector<ElementRange>& ranges, const Tensor& part, const Tensor& whole,
                 Direction direction) {
  Index begin = 0;
  for (const ElementRange& range : ranges) {
    Tensor in_part = part_of(part, begin, range.size());
    Tensor in_whole = part_of(whole, range.begin, range.size());
    direction == Direction::to_whole ? in_whole.copy_from(in_part) : in_part.copy_from(in_whole);
    begin += range.size();
  }
}

Index total(const std::vector<ElementRange>& ranges) {
  Index count = 0;
  for (const ElementRange& range : ranges) {
    count += range.size();
  }
  return count;
}

}  // namespace

ShardedGradients::ShardedGradients(Processes& processes, NamedTensors parameters,
                                   const ShardedGradientsOptions& options)
    : processes_(processes),
      parameters_(std::move(parameters)),
      layout_(divisible(parameters_, options.whole), options.shards),
      buckets_of_(parameters_.size()),
      is_added_(parameters_.size()) {
  require(std::has_single_bit(static_cast<std::uint64_t>(options.shards)) &&
              options.shards >= processes.count(),
          "[ShardedGradients] expected a power of two from ", processes.count(), ", got ",
          options.shards, " shards");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    require(tensor.requires_grad() && tensor.is_contiguous() &&
                tensor.dtype() == parameters_.front().second.dtype(),
            "[ShardedGradients] ", name, ": expected a contiguous leaf of the others' type");
    parameter_index_[tensor.grad_node().get()] = i;
  }
  for (Index bucket = 0; bucket < layout_.bucket_count(); ++bucket) {
    for (const std::size_t parameter : layout_.parameters_of(bucket)) {
      buckets_of_[parameter].push_back(bucket);
    }
  }
  waiting_sums_.assign(
      static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(own_shards()))),
      std::vector<Tensor>(parameters_.size()));
}

ShardedGradients::~ShardedGradients() { stop(); }

// The first halving is between neighbours, so that each sum adds two neighbours' shards.
// The halves that a process keeps vary by bucket, which spreads undivided parameters.
std::vector<ShardedGradients::Halving> ShardedGradients::halvings(Index bucket, Index rank) const {
  const Index role = rank ^ (bucket % processes_.count());
  std::vector<Halving> result;
  Pieces own{0, shards()};
  for (Index distance = 1; distance < processes_.count(); distance *= 2) {
    const Index middle = (own.first + own.last) / 2;
    const Pieces low{own.first, middle};
    const Pieces high{middle, own.last};
    const bool keeps_low = (role & distance) == 0;
    result.push_back({.partner = rank ^ distance,
                      .kept = keeps_low ? low : high,
                      .given = keeps_low ? high : low});
    own = result.back().kept;
  }
  return result;
}

ShardedGradients::Pieces ShardedGradients::owned_pieces(Index bucket, Index rank) const {
  const std::vector<Halving> all = halvings(bucket, rank);
  return all.empty() ? Pieces{0, shards()} : all.back().kept;
}

TensorParts ShardedGradients::parts_of(Index rank) const {
  TensorParts parts;
  for (Index bucket = 0; bucket < layout_.bucket_count(); ++bucket) {
    for (const Segment& segment : segments(bucket, owned_pieces(bucket, rank))) {
      parts[parameters_[segment.parameter].first].push_back({segment.begin, segment.end});
    }
  }
  return parts;
}

LeafFunction ShardedGradients::expect_last() {
  if (!is_last_shard() || processes_.count() == 1) {
    return {};
  }
  missing_.clear();
  for (Index bucket = 0; bucket < layout_.bucket_count(); ++bucket) {
    missing_.push_back(static_cast<Index>(layout_.parameters_of(bucket).size()));
  }
  reduction_ = std::async(std::launch::async, [this] { reduce_all(); });
  return [this](const GradNode& leaf) {
    if (const auto found = parameter_index_.find(&leaf); found != parameter_index_.end()) {
      add_shard(found->second);
      mark_ready(found->second);
    }
  };
}

// Adds waiting sums of equal numbers of shards to the current shard's gradient.
void ShardedGradients::add_shard(std::size_t parameter) {
  Tensor& leaf = parameters_[parameter].second;
  if (!leaf.grad().defined()) {
    leaf.set_grad(Tensor::zeros(leaf.shape(), leaf.dtype()));
  }
  Tensor sum = leaf.grad();
  std::size_t level = 0;
  for (; (done_ >> level) % 2 == 1; ++level) {
    Tensor& left = waiting_sums_[level][parameter];
    add_elements(left, sum);
    left = Tensor();
  }
  if (!is_last_shard()) {
    waiting_sums_[level][parameter] = sum;
    leaf.zero_grad();
  }
  is_added_[parameter] = true;
}

void ShardedGradients::mark_ready(std::size_t parameter) {
  {
    const std::lock_guard lock(mutex_);
    for (const Index bucket : buckets_of_[parameter]) {
      --missing_[static_cast<std::size_t>(bucket)];
    }
  }
  changed_.notify_one();
}

void ShardedGradients::end_shard() {
  const bool shares = is_last_shard() && processes_.count() > 1;
  if (shares && !reduction_.valid()) {
    expect_last();  // without a backward pass
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!is_added_[i]) {
      add_shard(i);
      if (shares) {
        mark_ready(i);
      }
    }
  }
  std::fill(is_added_.begin(), is_added_.end(), false);
  done_ = is_last_shard() ? 0 : done_ + 1;
  if (shares) {
    reduction_.get();
  }
}

void ShardedGradients::reduce_all() {
  const kernels::SingleThreadScope others_compute;
  for (Index bucket = 0; bucket < layout_.bucket_count() && wait_for(bucket); ++bucket) {
    reduce(bucket);
  }
}

// Waits for a bucket's gradients. Returns false after stop().
bool ShardedGradients::wait_for(Index bucket) {
  std::unique_lock lock(mutex_);
  const auto& missing = missing_[static_cast<std::size_t>(bucket)];
  changed_.wait(lock, [&] { return missing == 0 || is_stopped_; });
  return !is_stopped_;
}

void ShardedGradients::reduce(Index bucket) {
  const auto gradient = [&](std::size_t i) { return parameters_[i].second.grad(); };
  for (const Halving& halving : halvings(bucket, processes_.rank())) {
    const Segments kept = segments(bucket, halving.kept);
    Tensor arrived = Tensor::empty({count_elements(kept)}, parameters_.front().second.dtype());
    SentRuns sent;
    add_runs(segments(bucket, halving.given), gradient, sent);
    processes_.exchange_runs(halving.partner, sent, runs_in(arrived, kept));
    add_arrived(arrived, kept, gradient);
  }
}

void ShardedGradients::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_one();
}

double ShardedGradients::sum(std::vector<double> own) const {
  for (std::size_t distance = 1; distance < own.size(); distance *= 2) {
    for (std::size_t i = 0; i < own.size(); i += 2 * distance) {
      own[i] += own[i + distance];
    }
  }
  own.resize(1);
  add_across(processes_, own);
  return own.front();
}

double ShardedGradients::norm() {
  // By bucket and piece. Pieces of other processes stay zero.
  std::vector<double> sums(static_cast<std::size_t>(layout_.bucket_count() * shards()));
  kernels::parallel_for(layout_.bucket_count(), 1, [&](Index begin, Index end) {
    for (Index bucket = begin; bucket < end; ++bucket) {
      const Pieces own = owned_pieces(bucket, processes_.rank());
      for (Index piece = own.first; piece < own.last; ++piece) {
        double& sum = sums[static_cast<std::size_t>(bucket * shards() + piece)];
        for (const Segment& segment : layout_.segments(bucket, piece, piece + 1)) {
          sum += sum_of_squares(parameters_[segment.parameter].second.grad(), segment);
        }
      }
    }
  });
  add_across(processes_, sums);
  double sum = 0;
  for (const double part : sums) {
    sum += part;
  }
  return std::sqrt(sum);
}

void ShardedGradients::spread_weights() {
  const auto weights = [&](std::size_t i) { return parameters_[i].second; };
  for (Index distance = processes_.count() / 2; distance > 0; distance /= 2) {
    SentRuns sent;
    ReceivedRuns received;
    for (Index bucket = 0; bucket < layout_.bucket_count(); ++bucket) {
      const std::vector<Halving> all = halvings(bucket, processes_.rank());
      const Halving& halving =
          all[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(distance)))];
      add_runs(segments(bucket, halving.kept), weights, sent);
      add_runs(segments(bucket, halving.given), weights, received);
    }
    processes_.exchange_runs(processes_.rank() ^ distance, sent, received);
  }
}

const Shape& ShardedGradients::whole_shape(const std::string& state) const {
  const std::string name = parameter_of(state);
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const auto& item) { return item.first == name; });
  require(found != parameters_.end(), "[ShardedGradients] ", state, ": state of no parameter");
  return found->second.shape();
}

NamedTensors ShardedGradients::gather_state(const NamedTensors& part) {
  NamedTensors whole;
  for (const auto& [name, own] : part) {
    if (processes_.leads()) {
      whole.emplace_back(name, Tensor::empty(whole_shape(name), own.dtype()));
    } else if (own.numel() > 0) {
      Tensor sent = own;
      processes_.exchange(0, writable_bytes_of(sent), {});
    }
  }
  for (Index rank = 0; processes_.leads() && rank < processes_.count(); ++rank) {
    const TensorParts parts = parts_of(rank);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto& [name, own] = part[i];
      const auto found = parts.find(parameter_of(name));
      if (found != parts.end()) {
        Tensor arrived = own;
        if (rank > 0) {
          arrived = Tensor::empty({total(found->second)}, own.dtype());
          processes_.exchange(rank, {}, writable_bytes_of(arrived));
        }
        copy_ranges(found->second, arrived, whole[i].second, Direction::to_whole);
      }
    }
  }
  return whole;
}

void ShardedGradients::take_own_state(const NamedTensors& whole, const NamedTensors& part) const {
  const TensorParts parts = owned();
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (const auto found = parts.find(parameter_of(part[i].first)); found != parts.end()) {
      copy_ranges(found->second, part[i].second, whole[i].second, Direction::to_part);
    }
  }
}

}  // namespace headlight
