#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/gradient_layout.h"
#include "headlight/autograd/autograd.h"
#include "headlight/cluster/processes.h"
#include "headlight/tensor/element_range.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {

struct ShardedGradientsOptions {
  Index shards = 1;  // S: parts of an update's data; a power of two, at least the processes' number
  std::vector<std::string> whole = {};  // parameters that one process updates alone
};

// The gradients of one update, computed in S shards by W processes. Process r computes the shards
// r S/W to (r + 1) S/W - 1, one after another; their gradients are added in a binary tree over all
// shards, whoever computed them, so that the sums have the same bits for every W. Each process ends
// with the sums of a part of the elements, updates these and keeps their moments alone (Rajbhandari
// et al., "ZeRO", arXiv 1910.02054, stage 1: recursive halving, then recursive doubling for the
// weights, 2 (W - 1) / W elements a parameter and process). What one process adds up it sends while
// backward goes on.
//
// An update: for each own shard zero_grad(), losses and backward passes, end_shard(); before the
// last backward pass of the last shard expect_last(), whose function that pass calls. Then norm(),
// the optimizer's step, spread_weights().
class ShardedGradients {
 public:
  // `parameters` are contiguous leaves of one type, the same ones in every process.
  ShardedGradients(Processes& processes, NamedTensors parameters,
                   const ShardedGradientsOptions& options);
  ~ShardedGradients();
  ShardedGradients(const ShardedGradients&) = delete;
  ShardedGradients& operator=(const ShardedGradients&) = delete;

  Processes& processes() const { return processes_; }
  Index shards() const { return layout_.piece_count(); }
  // Those of this process.
  Index own_shards() const { return shards() / processes_.count(); }
  Index first_shard() const { return processes_.rank() * own_shards(); }
  // What this process updates.
  TensorParts owned() const { return parts_of(processes_.rank()); }

  // From here on gradients may be sent as soon as they are complete.
  LeafFunction expect_last();
  // What the parameters have as gradients, nothing counting as zeros, is that of the next own
  // shard. After the last one, their gradients hold the sums of all shards where this process owns
  // them.
  void end_shard();
  // Of a number for each own shard over all shards, in the same tree.
  double sum(std::vector<double> own) const;
  // Euclidean norm of the whole gradient.
  double norm();
  // Every process gets the weights that the others have updated.
  void spread_weights();

  // Of the state "KIND.PARAMETER" of an optimizer that is not divided.
  const Shape& whole_shape(const std::string& state) const;
  // The state of a divided optimizer as it would be whole: in process 0; nothing in the others.
  NamedTensors gather_state(const NamedTensors& part);
  // The owned elements of whole tensors.
  void take_own_state(const NamedTensors& whole, const NamedTensors& part) const;

 private:
  // Pieces of a bucket.
  struct Pieces {
    Index first = 0;
    Index last = 0;
  };
  // One exchange of halves.
  struct Halving {
    Index partner = 0;
    Pieces kept;
    Pieces given;
  };

  std::vector<Halving> halvings(Index bucket, Index rank) const;
  Pieces owned_pieces(Index bucket, Index rank) const;
  TensorParts parts_of(Index rank) const;
  Segments segments(Index bucket, const Pieces& pieces) const {
    return layout_.segments(bucket, pieces.first, pieces.last);
  }

  bool is_last_shard() const { return done_ + 1 == own_shards(); }
  void add_shard(std::size_t parameter);
  void mark_ready(std::size_t parameter);
  void reduce_all();
  bool wait_for(Index bucket);
  void reduce(Index bucket);
  void stop();

  Processes& processes_;
  NamedTensors parameters_;
  std::unordered_map<const GradNode*, std::size_t> place_;  // of a leaf among the parameters
  GradientLayout layout_;
  std::vector<std::vector<Index>> buckets_of_;  // by parameter
  Index done_ = 0;                              // own shards of this update
  // Sums of 1, 2, 4 ... own shards that wait for their other half, by parameter.
  std::vector<std::vector<Tensor>> waiting_sums_;
  std::vector<bool> is_added_;  // by parameter: the present shard's gradient

  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::vector<Index> missing_;  // by bucket: parameters whose gradients are not complete
  bool is_stopped_ = false;
  std::future<void> reduction_;  // of the update in progress; last: its destructor waits
};

}  // namespace headlight
