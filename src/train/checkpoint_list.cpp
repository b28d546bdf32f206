#include "train/checkpoint_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/printable.h"
#include "files/posix_file.h"
#include "headlight/base/error.h"
#include "headlight/files/manifest.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_";
constexpr std::size_t kDigits = 8;  // at least

std::optional<Index> iteration_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) {
    return std::nullopt;
  }
  Index iteration = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, iteration);
  const bool whole = error == std::errc{} && stop == end && iteration >= 0;
  return whole && name == checkpoint_name(iteration) ? std::optional(iteration) : std::nullopt;
}

}  // namespace

std::string checkpoint_name(Index iteration) {
  std::string digits = std::to_string(iteration);
  digits.insert(0, digits.size() < kDigits ? kDigits - digits.size() : 0, '0');
  return std::string(kPrefix) + digits;
}

bool is_checkpoint_name(std::string_view name) { return iteration_of(name).has_value(); }

std::vector<CheckpointEntry> checkpoints_of(const fs::path& run) {
  std::vector<CheckpointEntry> found;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<Index> iteration = iteration_of(entry->path().filename().string());
    std::error_code gone;
    if (iteration && entry->symlink_status(gone).type() == fs::file_type::directory) {
      found.push_back({entry->path(), *iteration});
    }
  }
  if (error) {
    fail_system("list", run, error.value());
  }
  std::sort(found.begin(), found.end(), [](const CheckpointEntry& a, const CheckpointEntry& b) {
    return a.iteration > b.iteration;
  });
  return found;
}

void verify_checkpoint(const fs::path& path) {
  require(has_manifest(path), shown(path), ": MANIFEST.json is missing");
  verify_manifest(path);
}

void remove_old_checkpoints(const fs::path& run, Index iteration, const PruneOptions& options) {
  std::error_code no_best;
  const fs::path best = fs::read_symlink(run / "best", no_best);
  const auto is_useless = [&](Index update) {
    return std::find(options.passed_over.begin(), options.passed_over.end(), update) !=
           options.passed_over.end();
  };
  Index kept = 0;
  for (const CheckpointEntry& entry : checkpoints_of(run)) {
    const bool is_later = entry.iteration > iteration;
    const bool counts = !is_later && !is_useless(entry.iteration);
    kept += counts ? 1 : 0;
    if (is_later || (counts && kept <= options.keep) || entry.path.filename() == best) {
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
