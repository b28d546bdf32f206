#include "train/checkpoint_writer.h"

#include <chrono>
#include <utility>

#include "kernels/parallel.h"

namespace headlight {
namespace {

// What the standard library throws, for want of memory or of threads, is a failure to save as well.
template <class Work>
auto as_error(const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(error.what());
  }
}

}  // namespace

void CheckpointWriter::prepare(const Gpt& model, const Optimizer& optimizer) {
  if (snapshot_ == nullptr) {
    snapshot_ = std::make_unique<Snapshot>(model, optimizer);
  }
}

WrittenCheckpoint CheckpointWriter::write(const CheckpointParts& parts,
                                          const WriteOptions& options) const {
  const kernels::SingleThreadScope processors_are_for_training;
  options.first();
  WrittenCheckpoint written{.path = save_checkpoint(run_, parts, options.checkpoint),
                            .complaint = ""};
  try {
    remove_old_checkpoints(run_, parts.state.iteration, options.prune);
  } catch (const Error& error) {
    written.complaint = error.what();
  }
  return written;
}

void CheckpointWriter::begin(const CheckpointParts& parts, WriteOptions options) {
  require(!is_writing(), "[CheckpointWriter] the checkpoint before has not been collected");
  prepare(parts.model, parts.optimizer);
  snapshot_->take(parts.model, parts.optimizer);
  state_ = parts.state;
  const auto work = [this, options = std::move(options), &tokenizer = parts.tokenizer] {
    return write({snapshot_->model(), tokenizer, snapshot_->optimizer(), state_}, options);
  };
  result_ = as_error([&] { return std::async(std::launch::async, work); });
}

std::optional<WrittenCheckpoint> CheckpointWriter::collect_finished() {
  if (!is_writing() || result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  return wait();
}

std::optional<WrittenCheckpoint> CheckpointWriter::wait() {
  if (!is_writing()) {
    return std::nullopt;
  }
  return as_error([&] { return result_.get(); });
}

}  // namespace headlight
