#include "headlight/train/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "headlight/io/atomic_directory.h"
#include "headlight/io/file_writer.h"
#include "headlight/io/model_directory.h"
#include "headlight/io/safetensors.h"
#include "io/input_file.h"
#include "io/posix_file.h"
#include "text/printable.h"
#include "train/checkpoint_list.h"
#include "train/state_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestState = Index{1} << 20;  // bytes

void require_finite(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    const Tensor elements = to_contiguous(tensor);
    const bool finite = dispatch_floating(elements.dtype(), "save_checkpoint", [&](auto zero) {
      const auto* values = elements.data<decltype(zero)>();
      return std::all_of(values, values + elements.numel(),
                         [](auto value) { return std::isfinite(value); });
    });
    require(finite, name, " holds values that are not finite");
  }
}

bool is_complete(const fs::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What stands at `target` and is of no use gets another name, one that is swept away if this
// process dies. Returns it.
fs::path set_aside(const fs::path& target) {
  const fs::path aside = temporary_path(target.string() + ".damaged");
  std::error_code error;
  fs::remove_all(aside, error);
  fs::rename(target, aside, error);
  if (error) {
    fail_system("rename", target, error.value());
  }
  return aside;
}

// Reads what was written again: nothing older may be removed for a checkpoint that cannot be read.
void verify_written(const fs::path& target) {
  try {
    verify_checkpoint(target);
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove_all(target, ignored);
    throw;
  }
}

void write_checkpoint(const fs::path& target, const CheckpointParts& parts) {
  const NamedTensors moments = parts.optimizer.state();
  require_finite(parts.model.parameters());
  require_finite(moments);
  std::error_code ignored;
  const bool replaces = fs::symlink_status(target, ignored).type() != fs::file_type::not_found;
  const fs::path damaged = replaces ? set_aside(target) : fs::path();
  TrainingState state = parts.state;
  state.optimizer_steps = parts.optimizer.step_count();
  AtomicDirectory directory(target);
  write_model_files(directory.path(), parts.model, parts.tokenizer);
  write_safetensors(directory.path() / "optimizer.safetensors", moments);
  write_file(directory.path() / "state.json", to_state_json(state));
  directory.commit();
  verify_written(target);
  if (replaces) {
    fs::remove_all(damaged, ignored);
  }
}

void require_same_iteration(const CheckpointEntry& entry) {
  const Index iteration = read_training_state(entry.path).iteration;
  require(iteration == entry.iteration, shown(entry.path), ": its state.json is of update ",
          iteration);
}

}  // namespace

fs::path save_checkpoint(const fs::path& run, const CheckpointParts& parts,
                         const CheckpointOptions& options) {
  const std::string name = checkpoint_name(parts.state.iteration);
  const fs::path target = run / name;
  if (!is_complete(target)) {
    write_checkpoint(target, parts);
  }
  set_link(run / "latest", name);
  if (options.best) {
    set_link(run / "best", name);
  }
  remove_old_checkpoints(run, parts.state.iteration, options.keep);
  return target;
}

Index checkpoint_bytes(const Gpt& model, const Optimizer& optimizer) {
  constexpr Index kSmallFiles = Index{1} << 16;
  Index bytes = kSmallFiles;
  for (const NamedTensors& tensors : {model.parameters(), optimizer.state()}) {
    for (const auto& [name, tensor] : tensors) {
      bytes += tensor.numel() * static_cast<Index>(element_size(tensor.dtype()));
    }
  }
  return bytes;
}

fs::path find_latest_checkpoint(const fs::path& run, std::vector<std::string>& skipped) {
  require(fs::is_directory(run), shown(run), ": no such run directory");
  for (const CheckpointEntry& entry : checkpoints_of(run)) {
    try {
      verify_checkpoint(entry.path);
      require_same_iteration(entry);
      return entry.path;
    } catch (const Error& error) {
      skipped.push_back("skipped " + entry.path.filename().string() + ": " + error.what());
    }
  }
  fail(shown(run), ": no complete checkpoint to resume from",
       skipped.empty() ? "" : "; " + skipped.front());
}

TrainingState read_training_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / "state.json";
  return parse_state_json(read_text_file(path, kLargestState), shown(path));
}

void read_optimizer(const fs::path& checkpoint, Optimizer& optimizer) {
  const fs::path path = checkpoint / "optimizer.safetensors";
  copy_tensors(read_safetensors(path), optimizer.state(), shown(path));
  optimizer.set_step_count(read_training_state(checkpoint).optimizer_steps);
}

void repair_links(const fs::path& checkpoint, const TrainingState& state) {
  const fs::path run = checkpoint.parent_path();
  set_link(run / "latest", checkpoint.filename());
  if (state.best_iteration >= 0) {
    const std::string best = checkpoint_name(state.best_iteration);
    std::error_code ignored;
    if (fs::is_directory(run / best, ignored)) {
      set_link(run / "best", best);
    }
  }
}

}  // namespace headlight
