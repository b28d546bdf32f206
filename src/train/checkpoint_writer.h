#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "headlight/train/checkpoint.h"
#include "train/snapshot.h"

namespace headlight {

// Writes the checkpoints of a run, one at a time, on a thread of its own from a copy of weights and
// moments. What it waits for is the disk; training waits for the copy alone.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::filesystem::path run) : run_(std::move(run)) {}
  // Waits for the checkpoint that is being written.
  ~CheckpointWriter() = default;

  // Takes the memory for the copy; begin() does so otherwise.
  void prepare(const Gpt& model, const Optimizer& optimizer);
  // Copies the parts and starts to write them; `first` runs before that on the same thread. The
  // tokenizer must outlive the writer. What was begun before must have been collected.
  void begin(const CheckpointParts& parts, const CheckpointOptions& options,
             std::function<void()> first);

  bool is_writing() const { return result_.valid(); }
  // The path of the checkpoint that was begun, once: when it is complete, or as soon as it is.
  // Nothing when it is not complete yet, or none was begun. Throws what writing has thrown.
  std::optional<std::filesystem::path> collect_finished();
  std::optional<std::filesystem::path> wait();

 private:
  std::filesystem::path run_;
  std::unique_ptr<Snapshot> snapshot_;
  TrainingState state_;
  std::future<std::filesystem::path> result_;  // last: its destructor waits for the thread
};

}  // namespace headlight
