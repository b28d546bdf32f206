#include "headlight/formats/run_layout.h"

#include <algorithm>

#include "base/strings/read_number.h"
#include "base/strings/zero_padded.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step_";
constexpr std::size_t kDigits = 8;  // at least

// Returns the first of `path`, its best and its latest checkpoint that holds one of these files.
std::optional<fs::path> folder_with(const fs::path& path,
                                    std::initializer_list<std::string_view> files) {
  for (const fs::path& folder : {path, path / kBestLink, path / kLatestLink}) {
    if (std::any_of(files.begin(), files.end(),
                    [&](std::string_view file) { return fs::exists(folder / file); })) {
      return folder;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string checkpoint_name(Index iteration) {
  return std::string(kStepPrefix) + zero_padded(iteration, kDigits);
}

std::optional<Index> iteration_of_checkpoint(std::string_view name) {
  if (!name.starts_with(kStepPrefix) || name.size() < kStepPrefix.size() + kDigits) {
    return std::nullopt;
  }
  const Index iteration = read_number<Index>(name.substr(kStepPrefix.size())).value_or(-1);
  return iteration >= 0 && name == checkpoint_name(iteration) ? std::optional(iteration)
                                                              : std::nullopt;
}

std::optional<fs::path> model_in(const fs::path& path) {
  return folder_with(path, {"config.json", kAdapterConfig});
}

std::optional<fs::path> tokenizer_in(const fs::path& path) {
  return folder_with(path, {"tokenizer.json", "vocab.json", "tokenizer.model"});
}

}  // namespace headlight
