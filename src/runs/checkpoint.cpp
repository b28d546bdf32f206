#include "headlight/runs/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "headlight/storage/atomic_directory.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/manifest.h"
#include "runs/state_json.h"
#include "storage/input_file.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestState = Index{1} << 24;  // bytes

// Renames `target`, which is useless, to a temporary name and returns that name. If this process
// dies, the next run removes the renamed directory.
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

void write_parts(const fs::path& folder, const CheckpointParts& parts) {
  const NamedTensors moments = parts.optimizer.state();
  require_finite(parts.adapter == nullptr ? parts.written.model.parameters() : parts.updates, "");
  require_finite(moments, "");
  TrainingState state = parts.state;
  state.optimizer_steps = parts.optimizer.step_count();
  if (parts.adapter == nullptr) {
    write_model_files(folder, parts.written, parts.tokenizer);
  } else {
    write_adapter(folder, *parts.adapter, parts.updates);
    write_tokenizer_files(folder, parts.written.model, parts.tokenizer);
  }
  write_safetensors(folder / kCheckpointMoments, moments);
  write_file(folder / kCheckpointState, to_state_json(state));
}

void require_usable(const Checkpoint& entry) {
  require(has_manifest(entry.path), shown(entry.path), ": MANIFEST.json is missing");
  verify_manifest(entry.path, is_adapter(entry.path) ? kAdapterCheckpointFiles : kCheckpointFiles);
  const Index iteration = read_training_state(entry.path).iteration;
  require(iteration == entry.iteration, shown(entry.path), ": its state.json belongs to step ",
          iteration);
}

// Writes a checkpoint to `target`, replacing an existing one. If the file system cannot exchange
// directories, keeps a complete checkpoint and moves a damaged one away first.
void write_checkpoint(const fs::path& target, const CheckpointParts& parts, bool is_complete) {
  AtomicDirectory directory(target, AtomicDirectory::Target::may_exist);
  write_parts(directory.path(), parts);
  directory.seal();
  // Check that it can be read before any older checkpoint is removed.
  require_usable({directory.path(), parts.state.iteration});
  std::error_code ignored;
  const bool is_new = fs::symlink_status(target, ignored).type() == fs::file_type::not_found;
  if (is_new) {
    directory.commit();
  } else if (!directory.exchange() && !is_complete) {
    const fs::path damaged = set_aside(target);
    directory.commit();
    fs::remove_all(damaged, ignored);
  }
}

bool is_usable(const Checkpoint& entry) {
  try {
    require_usable(entry);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Returns true if another optimizer saved these moments: then no name matches, since names start
// with the kind of moment. Some optimizers have no moments at all.
bool are_of_other_optimizers(const NamedTensors& saved, const NamedTensors& state) {
  const auto is_saved = [&](const auto& item) {
    return std::any_of(saved.begin(), saved.end(),
                       [&](const auto& other) { return other.first == item.first; });
  };
  const bool have_none = saved.empty() && state.empty();
  return !have_none && std::none_of(state.begin(), state.end(), is_saved);
}

// Throws Error for moments that no optimizer produces, which would make weights infinite or NaN.
void require_sound(const NamedTensors& moments, const std::string& where) {
  for (const auto& moment : moments) {
    const std::string& name = moment.first;
    const bool is_square = name.starts_with("exp_avg_sq.");
    const Tensor elements = to_contiguous(moment.second);
    dispatch_floating(elements.dtype(), "require_sound", [&](auto zero) {
      const auto* values = elements.data<decltype(zero)>();
      const auto* end = values + elements.numel();
      const auto* bad = std::find_if(values, end, [&](auto value) {
        return !std::isfinite(value) || (is_square && value < 0);
      });
      require(bad == end, where, ": tensor ", name, ": expected finite numbers",
              is_square ? " of at least 0" : "", ", got ", bad == end ? zero : *bad,
              "; remove this checkpoint to resume from an older one");
    });
  }
}

bool leads_beyond(const fs::path& link, Index iteration) {
  std::error_code none;
  const fs::path name = fs::read_symlink(link, none).filename();
  const std::vector<Checkpoint> all = checkpoints_of(link.parent_path());
  return std::any_of(all.begin(), all.end(), [&](const Checkpoint& entry) {
    return entry.iteration > iteration && entry.path.filename() == name;
  });
}

}  // namespace

fs::path save_checkpoint(const fs::path& run, const CheckpointParts& parts,
                         const CheckpointOptions& options) {
  std::error_code ignored_error;
  fs::create_directories(run, ignored_error);
  const std::string name = checkpoint_name(parts.state.iteration);
  const fs::path target = run / name;
  const bool is_complete = is_usable({target, parts.state.iteration});
  if (!is_complete || options.replace) {
    write_checkpoint(target, parts, is_complete);
  }
  set_link(run / kLatestLink, name);
  if (options.best) {
    set_link(run / kBestLink, name);
  }
  return target;
}

Index checkpoint_bytes(const LanguageModel& model, const Optimizer& optimizer) {
  constexpr Index kSmallFiles = Index{1} << 16;
  Index bytes = kSmallFiles;
  for (const NamedTensors& tensors : {model.parameters(), optimizer.state()}) {
    for (const auto& [name, tensor] : tensors) {
      bytes += tensor.numel() * static_cast<Index>(element_size(tensor.dtype()));
    }
  }
  return bytes;
}

std::vector<Checkpoint> checkpoints_of(const fs::path& run) {
  std::vector<Checkpoint> found;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto iteration = iteration_of_checkpoint(entry->path().filename().string());
    std::error_code disconnected;
    if (iteration && entry->symlink_status(disconnected).type() == fs::file_type::directory) {
      found.push_back({entry->path(), *iteration});
    }
  }
  if (error) {
    fail_system("list", run, error.value());
  }
  std::sort(found.begin(), found.end(),
            [](const Checkpoint& a, const Checkpoint& b) { return a.iteration > b.iteration; });
  return found;
}

bool holds_run(const fs::path& directory) {
  std::error_code error;
  const bool has_link = fs::exists(fs::symlink_status(directory / kLatestLink, error));
  return has_link || (fs::is_directory(directory, error) && !checkpoints_of(directory).empty());
}

fs::path find_latest_checkpoint(const fs::path& run, std::vector<std::string>& skipped) {
  require(fs::is_directory(run), shown(run), ": no such run directory");
  for (const Checkpoint& entry : checkpoints_of(run)) {
    try {
      require_usable(entry);
      return entry.path;
    } catch (const Error& error) {
      skipped.push_back("skipped " + entry.path.filename().string() + ": " + error.what());
    }
  }
  fail(shown(run), ": no complete checkpoint to resume from",
       skipped.empty() ? "" : "; " + skipped.front());
}

TrainingState read_training_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kCheckpointState;
  return parse_state_json(read_whole_file(path, kLargestState), shown(path));
}

bool read_optimizer(const fs::path& checkpoint, Optimizer& optimizer) {
  const fs::path path = checkpoint / kCheckpointMoments;
  const NamedTensors saved = read_safetensors(path);
  const NamedTensors state = optimizer.state();
  if (are_of_other_optimizers(saved, state)) {
    for (const auto& [name, tensor] : state) {
      Tensor(tensor).fill(0);
    }
    optimizer.set_step_count(0);
    return false;
  }
  copy_tensors(saved, state, shown(path));
  require_sound(state, shown(path));
  optimizer.set_step_count(read_training_state(checkpoint).optimizer_steps);
  return true;
}

void repair_links(const fs::path& checkpoint, const TrainingState& state) {
  const fs::path run = checkpoint.parent_path();
  set_link(run / kLatestLink, checkpoint.filename());
  const std::string best = checkpoint_name(state.best_iteration);
  std::error_code error;
  if (state.best_iteration >= 0 && fs::is_directory(run / best, error)) {
    set_link(run / kBestLink, best);
  } else if (leads_beyond(run / kBestLink, state.iteration)) {
    fs::remove(run / kBestLink, error);
    if (error) {
      fail_system("remove", run / kBestLink, error.value());
    }
    sync_folder(run);
  }
}

void remove_old_checkpoints(const fs::path& run, Index iteration, const Retention& retention) {
  std::error_code no_best;
  const fs::path best = fs::read_symlink(run / kBestLink, no_best).filename();
  const auto is_useless = [&](Index update) {
    return std::find(retention.passed_over.begin(), retention.passed_over.end(), update) !=
           retention.passed_over.end();
  };
  Index kept = 0;
  for (const Checkpoint& entry : checkpoints_of(run)) {
    const bool is_later = entry.iteration > iteration;
    const bool counts = !is_later && !is_useless(entry.iteration);
    kept += counts ? 1 : 0;
    if (is_later || (counts && kept <= retention.keep) || entry.path.filename() == best) {
      continue;
    }
    std::error_code error;
    fs::remove_all(entry.path, error);
    if (error) {
      fail_system("remove", entry.path, error.value());
    }
  }
}

}  // namespace headlight
