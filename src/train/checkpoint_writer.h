#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "headlight/train/checkpoint.h"
#include "train/checkpoint_list.h"
#include "train/snapshot.h"

namespace headlight {

struct WrittenCheckpoint {
  std::filesystem::path path;
  std::string complaint;  // why older ones could not be removed; empty: they were
};

struct WriteOptions {
  CheckpointOptions checkpoint;
  PruneOptions prune;           // what goes when the checkpoint is complete
  std::function<void()> first;  // runs before anything is written
};

// Writes the checkpoints of a run, one at a time, on a thread of its own from a copy of weights and
// moments. What it waits for is the disk; training waits for the copy alone.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::filesystem::path run) : run_(std::move(run)) {}
  // Waits for the checkpoint that is being written.
  ~CheckpointWriter() = default;

  // Takes the memory for the copy; begin() does so otherwise.
  void prepare(const Gpt& model, const Optimizer& optimizer);
  // Copies the parts and starts to write them. The tokenizer must outlive the writer. What was
  // begun before must have been collected. Throws Error when no thread can be had.
  void begin(const CheckpointParts& parts, WriteOptions options);

  bool is_writing() const { return result_.valid(); }
  // The checkpoint that was begun, once: when it is complete, or as soon as it is. Nothing when it
  // is not complete yet, or none was begun. Throws Error when it could not be written.
  std::optional<WrittenCheckpoint> collect_finished();
  std::optional<WrittenCheckpoint> wait();

 private:
  WrittenCheckpoint write(const CheckpointParts& parts, const WriteOptions& options) const;

  std::filesystem::path run_;
  std::unique_ptr<Snapshot> snapshot_;
  TrainingState state_;
  std::future<WrittenCheckpoint> result_;  // last: its destructor waits for the thread
};

}  // namespace headlight
