#include "headlight/train/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "headlight/io/atomic_directory.h"
#include "headlight/io/file_writer.h"
#include "headlight/io/manifest.h"
#include "headlight/io/model_directory.h"
#include "headlight/io/safetensors.h"
#include "io/input_file.h"
#include "text/checked_json.h"
#include "text/printable.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step_";
constexpr Index kLargestState = Index{1} << 20;  // bytes
constexpr int kStateVersion = 1;

std::string step_name(Index iteration) {
  std::string digits = std::to_string(iteration);
  digits.insert(0, digits.size() < 8 ? 8 - digits.size() : 0, '0');
  return std::string(kStepPrefix) + digits;
}

bool is_step_name(const std::string& name) {
  return name.rfind(kStepPrefix, 0) == 0 && name.size() >= kStepPrefix.size() + 8 &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(kStepPrefix.size()), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// Newest first.
std::vector<fs::path> checkpoints_of(const fs::path& run) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (entry.is_directory() && !entry.is_symlink() &&
        is_step_name(entry.path().filename().string())) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string();
    const std::string y = b.filename().string();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

std::string state_json(const TrainingState& state) {
  nlohmann::ordered_json json{{"version", kStateVersion},
                              {"iteration", state.iteration},
                              {"best_validation_loss", nullptr},
                              {"config", state.config}};
  if (std::isfinite(state.best_validation_loss)) {
    json["best_validation_loss"] = state.best_validation_loss;
  }
  return json.dump(2) + "\n";
}

void remove_old(const fs::path& run, Index keep) {
  std::error_code no_best;
  const fs::path best = fs::read_symlink(run / "best", no_best);
  const std::vector<fs::path> all = checkpoints_of(run);
  for (std::size_t i = static_cast<std::size_t>(keep); i < all.size(); ++i) {
    if (all[i].filename() != best) {
      fs::remove_all(all[i]);
    }
  }
}

}  // namespace

fs::path save_checkpoint(const fs::path& run, const CheckpointParts& parts,
                         const CheckpointOptions& options) {
  const std::string name = step_name(parts.state.iteration);
  const fs::path target = run / name;
  if (!fs::exists(target)) {
    AtomicDirectory directory(target);
    write_model_files(directory.path(), parts.model, parts.tokenizer);
    write_safetensors(directory.path() / "optimizer.safetensors", parts.optimizer.state());
    write_file(directory.path() / "state.json", state_json(parts.state));
    directory.commit();
  }
  set_link(run / "latest", name);
  if (options.best) {
    set_link(run / "best", name);
  }
  remove_old(run, options.keep);
  return target;
}

fs::path find_latest_checkpoint(const fs::path& run, std::vector<std::string>& skipped) {
  require(fs::is_directory(run), shown(run), ": no such run directory");
  for (const fs::path& candidate : checkpoints_of(run)) {
    try {
      require(has_manifest(candidate), shown(candidate), ": MANIFEST.json is missing");
      verify_manifest(candidate);
      return candidate;
    } catch (const Error& error) {
      skipped.emplace_back(error.what());
    }
  }
  fail(shown(run), ": no complete checkpoint to resume from",
       skipped.empty() ? "" : "; the newest is damaged: " + skipped.front());
}

TrainingState read_training_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / "state.json";
  const Json json = parse_json(read_text_file(path, kLargestState), shown(path));
  const auto member = [&](const char* key) -> const Json& {
    require(json.is_object() && json.contains(key), shown(path), ": ", key, " is missing");
    return json.at(key);
  };
  require(member("version") == kStateVersion, shown(path), ": version: expected ", kStateVersion);
  require(member("iteration").is_number_unsigned(), shown(path),
          ": iteration: expected a whole number");
  require(member("config").is_string(), shown(path), ": config: expected a text");
  TrainingState state{.iteration = member("iteration").get<Index>(),
                      .config = member("config").get<std::string>()};
  require(state.iteration >= 0, shown(path), ": iteration: expected at least 0");
  if (member("best_validation_loss").is_number()) {
    state.best_validation_loss = member("best_validation_loss").get<double>();
  }
  return state;
}

void read_optimizer(const fs::path& checkpoint, Optimizer& optimizer) {
  const fs::path path = checkpoint / "optimizer.safetensors";
  copy_tensors(read_safetensors(path), optimizer.state(), shown(path));
  optimizer.set_step_count(read_training_state(checkpoint).iteration);
}

}  // namespace headlight
