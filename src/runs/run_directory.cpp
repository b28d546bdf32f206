#include "runs/run_directory.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "headlight/formats/run_layout.h"
#include "headlight/storage/atomic_directory.h"
#include "headlight/storage/file_writer.h"
#include "kernels/threads/parallel.h"
#include "storage/posix_file.h"
#include "train/optimizer_state.h"

namespace headlight {

namespace fs = std::filesystem;

namespace {

// Files of a run, except checkpoints and links.
constexpr std::array kFiles{kRunConfig, kRunMetrics, kRunTable,    kRunEvents,
                            kRunHeads,  kRunSamples, kRunReference};

bool is_name_of_run(std::string_view name) {
  constexpr std::string_view kDamaged = ".damaged";
  if (name.ends_with(kDamaged)) {
    name.remove_suffix(kDamaged.size());
  }
  return name == kLatestLink || name == kBestLink || iteration_of_checkpoint(name) ||
         std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end();
}

// Creates the folder and its parents and syncs them to disk, so that they survive a power failure.
// Returns true if it created the folder.
bool make_synced_folder(const fs::path& path) {
  std::vector<fs::path> changed;  // folders with a new entry
  std::error_code error;
  for (fs::path folder = path; !fs::exists(folder, error) && parent_folder(folder) != folder;
       folder = parent_folder(folder)) {
    changed.push_back(parent_folder(folder));
  }
  const bool made = fs::create_directories(path, error);
  require(!error, shown(path), ": cannot make the run directory: ", error.message());
  for (const fs::path& folder : changed) {
    sync_folder(folder);
  }
  return made;
}

// Converts standard exceptions to Error: lack of memory or threads also prevents saving.
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

NamedTensors empty_like(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) {
    result.emplace_back(name, Tensor::empty(tensor.shape(), tensor.dtype()));
  }
  return result;
}

// Requires contiguous tensors, which optimizers guarantee for parameters and moments.
void copy_all(const NamedTensors& from, const NamedTensors& to) {
  require(from.size() == to.size(), "[RunDirectory] the copy is of another model");
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Tensor& source = from[i].second;
    Tensor target = to[i].second.detach();
    require(source.shape() == target.shape(), "[RunDirectory] the copy is of another model");
    dispatch_floating(source.dtype(), "RunDirectory", [&](auto zero) {
      using T = decltype(zero);
      std::copy_n(source.data<T>(), source.numel(), target.mutable_data<T>());
    });
  }
}

}  // namespace

// Copy of model and optimizer, for saving during training. It doubles their memory.
class RunDirectory::Copy {
 public:
  Copy(const Gpt& model, const Optimizer& optimizer, const Adapter* adapter)
      : adapter_(adapter),
        model_(adapter == nullptr ? Gpt::blank(model.config(), model.dtype()) : nullptr),
        original_(model),
        optimizer_(empty_like(optimizer.state())) {}

  void take(const CheckpointParts& parts) {
    if (adapter_ != nullptr) {
      updates_ = adapter_tensors(*adapter_, original_);
    } else {
      copy_all(parts.written.model.parameters(), model_->parameters());
    }
    copy_all(parts.optimizer.state(), optimizer_.state());
    optimizer_.set_step_count(parts.optimizer.step_count());
    state_ = parts.state;
  }

  CheckpointParts parts(const Tokenizer& tokenizer) const {
    return {.written = model_ == nullptr ? original_ : *model_,
            .tokenizer = tokenizer,
            .optimizer = optimizer_,
            .state = state_,
            .adapter = adapter_,
            .updates = updates_};
  }

 private:
  const Adapter* adapter_;      // null: the weights are saved
  std::unique_ptr<Gpt> model_;  // null with an adapter
  const Gpt& original_;
  NamedTensors updates_;  // of the adapter
  OptimizerState optimizer_;
  TrainingState state_;
};

RunDirectory::RunDirectory(fs::path path, const SavePolicy& policy)
    : path_(std::move(path)), policy_(policy) {
  try {
    was_made_ = make_synced_folder(path_);
    had_lock_ = DirectoryLock::has_file(path_);
    lock_.emplace(path_);
  } catch (const LockedError&) {
    throw;
  } catch (const Error& failure) {
    throw SaveError(failure.what());
  }
}

RunDirectory::~RunDirectory() {
  quiesce();
  if (is_used_) {
    return;
  }
  if (!had_lock_) {
    lock_->remove_file();
  }
  if (was_made_) {
    std::error_code not_empty;
    fs::remove(path_, not_empty);
  }
}

void RunDirectory::require_no_foreign_files() const {
  for (const std::string_view name : kFiles) {
    std::error_code ignored;
    require(had_lock_ || !fs::exists(fs::symlink_status(path_ / name, ignored)),
            shown(path_ / name),
            ": was not written by a run, but this run would replace it; choose another --out_dir");
  }
}

std::vector<fs::path> RunDirectory::sweep() const {
  return remove_stale_temporaries(path_, is_name_of_run);
}

void RunDirectory::begin(const std::string& settings) {
  is_used_ = true;
  saving([&] { write_file(path_ / kRunConfig, settings); });
}

std::string RunDirectory::resume_from(const fs::path& checkpoint, const TrainingState& state) {
  complete_ = state.iteration;
  for (const Checkpoint& other : checkpoints_of(path_)) {
    if (other.iteration > state.iteration) {
      passed_over_.push_back(other.iteration);
    }
  }
  saving([&] { repair_links(checkpoint, state); });
  return remove_old(state.iteration, {});
}

std::string RunDirectory::remove_old(Index iteration, const std::vector<Index>& passed_over) const {
  try {
    remove_old_checkpoints(path_, iteration, {.keep = policy_.keep, .passed_over = passed_over});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void RunDirectory::prepare(const Gpt& model, const Optimizer& optimizer, const Adapter* adapter) {
  require(policy_.in_background || adapter == nullptr,
          "[RunDirectory] expected in_background with an adapter");
  if (copy_ == nullptr && policy_.in_background) {
    copy_ = std::make_unique<Copy>(model, optimizer, adapter);
  }
}

void RunDirectory::save(const CheckpointParts& parts, bool best, std::function<void()> first) {
  collect();
  bytes_ = checkpoint_bytes(parts.written.model, parts.optimizer);
  begun_ = parts.state.iteration;
  std::erase(passed_over_, begun_);  // the new checkpoint replaces the damaged one
  try {
    start_writing(parts, {.best = best, .replace = complete_ == begun_}, std::move(first));
  } catch (const Error& error) {
    give_up(error);
  }
}

void RunDirectory::start_writing(const CheckpointParts& parts, const CheckpointOptions& options,
                                 std::function<void()> first) {
  const auto write = [this, options, first = std::move(first)](const CheckpointParts& written) {
    first();
    save_checkpoint(path_, written, options);
    return remove_old(written.state.iteration, passed_over_);
  };
  if (!policy_.in_background) {
    written_ = std::async(std::launch::deferred, write, std::cref(parts));
    written_.wait();
    return;
  }
  require(copy_ != nullptr, "[RunDirectory] expected prepare() before save()");
  copy_->take(parts);
  const auto work = [this, write, &tokenizer = parts.tokenizer] {
    const kernels::SingleThreadScope processors_are_for_training;
    return write(copy_->parts(tokenizer));
  };
  written_ = as_error([&] { return std::async(std::launch::async, work); });
}

std::vector<SaveEvent> RunDirectory::take_events(bool wait) {
  if (wait || (written_.valid() &&
               written_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)) {
    collect();
  }
  return std::exchange(events_, {});
}

void RunDirectory::quiesce() const {
  if (written_.valid()) {
    written_.wait();
  }
}

void RunDirectory::collect() {
  if (!written_.valid()) {
    return;
  }
  try {
    const std::string complaint = as_error([&] { return written_.get(); });
    complete_ = std::exchange(begun_, -1);
    events_.push_back({.checkpoint = path_ / checkpoint_name(complete_)});
    if (!complaint.empty()) {
      events_.push_back({.warning = complaint});
    }
  } catch (const Error& error) {
    give_up(error);
  }
}

void RunDirectory::give_up(const Error& error) {
  const fs::path path = path_ / checkpoint_name(std::exchange(begun_, -1));
  const std::string last =
      complete_ < 0 ? "; there is no complete checkpoint yet"
                    : "; the last complete one is " + shown(path_ / checkpoint_name(complete_));
  const Error problem(concat_text("cannot save ", shown(path), ", which takes ", bytes_,
                                  " bytes: ", error.what(), last));
  handle_write_error(problem);
  events_.push_back({.warning = problem.what()});
}

void RunDirectory::handle_write_error(const Error& error) const {
  if (policy_.stops_on_error) {
    throw SaveError(error.what());
  }
}

}  // namespace headlight
