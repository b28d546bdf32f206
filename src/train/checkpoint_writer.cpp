#include "train/checkpoint_writer.h"

#include <chrono>
#include <utility>

#include "headlight/tensor/machine.h"

namespace headlight {

void CheckpointWriter::prepare(const Gpt& model, const Optimizer& optimizer) {
  if (snapshot_ == nullptr) {
    snapshot_ = std::make_unique<Snapshot>(model, optimizer);
  }
}

void CheckpointWriter::begin(const CheckpointParts& parts, const CheckpointOptions& options,
                             std::function<void()> first) {
  require(!is_writing(), "[CheckpointWriter] the checkpoint before has not been collected");
  prepare(parts.model, parts.optimizer);
  snapshot_->take(parts.model, parts.optimizer);
  state_ = parts.state;
  const auto write = [this, options, &tokenizer = parts.tokenizer, before = std::move(first)] {
    set_thread_count(1);  // of this thread: it must not take processors from training
    before();
    return save_checkpoint(run_, {snapshot_->model(), tokenizer, snapshot_->optimizer(), state_},
                           options);
  };
  result_ = std::async(std::launch::async, write);
}

std::optional<std::filesystem::path> CheckpointWriter::collect_finished() {
  if (!is_writing() || result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  return result_.get();
}

std::optional<std::filesystem::path> CheckpointWriter::wait() {
  return is_writing() ? std::optional(result_.get()) : std::nullopt;
}

}  // namespace headlight
