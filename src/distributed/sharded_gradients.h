#pragma once

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "distributed/gradient_layout.h"
#include "headlight/autograd/autograd.h"
#include "headlight/distributed/processes.h"
#include "headlight/tensor/element_range.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {

struct ShardedGradientsOptions {
  Index shards = 1;  // S: parts of a step's data; a power of two, at least the number of processes
  std::vector<std::string> whole = {};  // names of parameters that are never cut
};

// Gradients of one step, computed in S shards by W processes. Process r computes the shards r S/W
// to (r + 1) S/W - 1, one after another. A binary tree over all shards fixes the order of
// additions, so the sums have the same bits for every W. Each process gets the sums of a part of
// the elements, updates these and keeps only their moments (Rajbhandari et al., "ZeRO", arXiv
// 1910.02054, stage 1). It sends gradients by recursive halving during the backward pass, then
// weights by recursive doubling: 2 (W - 1) / W elements per parameter and process.
//
// A step: for each own shard zero_grad(), losses, backward passes and end_shard(). Call
// expect_last() before the last backward pass of the last shard, and give it the returned function.
// Then norm(), the optimizer's step and spread_weights().
class ShardedGradients {
 public:
  // `parameters` are contiguous leaves of one type, equal in all processes.
  ShardedGradients(Processes& processes, NamedTensors parameters,
                   const ShardedGradientsOptions& options);
  ~ShardedGradients();
  ShardedGradients(const ShardedGradients&) = delete;
  ShardedGradients& operator=(const ShardedGradients&) = delete;

  Processes& processes() const { return processes_; }
  Index shards() const { return layout_.piece_count(); }
  // Number of shards of this process.
  Index own_shards() const { return shards() / processes_.count(); }
  Index first_shard() const { return processes_.rank() * own_shards(); }
  // Elements that this process updates.
  TensorParts owned() const { return parts_of(processes_.rank()); }

  // Lets gradients be sent as soon as they are complete. Returns the function for backward.
  LeafFunction expect_last();
  // Ends an own shard, whose gradients the parameters hold; missing ones count as zeros. After
  // the last shard, the gradients of owned elements hold the sums of all shards.
  void end_shard();
  // Returns the sum over all shards, in the same tree. `own`: one number per own shard.
  double sum(std::vector<double> own) const;
  // Returns the Euclidean norm of the whole gradient.
  double norm();
  // Sends the updated weights of each process to all others.
  void spread_weights();

  // Returns the shape of the undivided state "KIND.PARAMETER" of an optimizer.
  const Shape& whole_shape(const std::string& state) const;
  // Returns the undivided optimizer state in process 0, nothing in the others. Collective.
  NamedTensors gather_state(const NamedTensors& part);
  // Copies the owned elements of whole tensors into `part`.
  void take_own_state(const NamedTensors& whole, const NamedTensors& part) const;

 private:
  // Range of pieces of a bucket.
  struct Pieces {
    Index first = 0;
    Index last = 0;
  };
  // One exchange of halves with a partner.
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
  std::unordered_map<const GradNode*, std::size_t> parameter_index_;  // index of a leaf's parameter
  GradientLayout layout_;
  std::vector<std::vector<Index>> buckets_of_;  // bucket indices by parameter
  Index done_ = 0;                              // finished own shards of this step
  // Sums of 1, 2, 4 ... own shards, by parameter, that wait for an equal sum to add.
  std::vector<std::vector<Tensor>> waiting_sums_;
  std::vector<bool> is_added_;  // by parameter: the current shard's gradient

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Index> missing_;  // parameters with incomplete gradients, by bucket
  bool is_stopped_ = false;
  std::future<void> reduction_;  // reduction of the current step; last: its destructor waits
};

}  // namespace headlight
