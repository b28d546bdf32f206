#include "headlight/runs/seen_text.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/formats/run_layout.h"
#include "headlight/runs/config_source.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kExcerptBytes = 96;
constexpr Index kLeastBytes = 24;  // shorter texts occur anywhere
constexpr Index kExcerptsPerFile = 16;
constexpr Index kMostBytes = Index{1} << 30;  // of training data

// Returns the run directory of a run or of one of its checkpoints; "" for other models.
fs::path run_of(const fs::path& model) {
  std::error_code error;
  const fs::path folder = fs::canonical(model, error);  // follows RUN/best
  for (const fs::path& run : {folder, folder.parent_path()}) {
    if (fs::is_regular_file(run / kRunConfig, error) &&
        fs::is_regular_file(run / kRunMetrics, error)) {
      return run;
    }
  }
  return {};
}

std::string read_part(const InputFile& file, Index begin, Index bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  file.read(begin, std::as_writable_bytes(std::span(text)));
  return text;
}

// Adds evenly spread excerpts of a file.
void add_excerpts(const TextFile& text, std::vector<std::string>& excerpts) {
  if (text.is_standard_input()) {
    return;
  }
  const InputFile file(text.path);
  const Index bytes = std::min(file.size(), kExcerptBytes);
  const Index room = file.size() - bytes;
  const Index count = std::min(kExcerptsPerFile, room + 1);
  for (Index i = 0; i < count && bytes >= kLeastBytes; ++i) {
    excerpts.push_back(read_part(file, room * i / count, bytes));
  }
}

// Removes the excerpts that occur in the first `bytes` of a file.
void remove_found(const InputFile& file, Index bytes, std::vector<std::string>& excerpts) {
  constexpr Index kAtOnce = Index{1} << 24;
  for (Index begin = 0; begin < bytes && !excerpts.empty(); begin += kAtOnce) {
    const Index overlap = std::min(begin, kExcerptBytes - 1);
    const Index end = std::min(bytes, begin + kAtOnce);
    const std::string part = read_part(file, begin - overlap, end - begin + overlap);
    std::erase_if(excerpts, [&](const std::string& excerpt) {
      const std::boyer_moore_horspool_searcher searcher(excerpt.begin(), excerpt.end());
      return std::search(part.begin(), part.end(), searcher) != part.end();
    });
  }
}

// Removes the excerpts that occur in the data on which the run trained.
void remove_trained(const TrainConfig& config, std::vector<std::string>& excerpts) {
  Index left = kMostBytes;
  for (const TextFile& text : find_all_files(config.data)) {
    if (text.is_standard_input()) {
      continue;
    }
    const InputFile file(text.path);
    const bool is_split =
        config.validation_data.empty() && text.validation_paths.empty() && config.split_seed == 0;
    const double share = is_split ? 1 - config.validation_fraction : 1;
    const Index bytes =
        std::min(left, static_cast<Index>(share * static_cast<double>(file.size())));
    remove_found(file, bytes, excerpts);
    left -= bytes;
  }
}

}  // namespace

std::string seen_in_training(const fs::path& model, const std::vector<TextFile>& files) {
  const fs::path run = run_of(model);
  if (run.empty()) {
    return "";
  }
  try {
    std::vector<std::string> unseen;
    for (const TextFile& file : files) {
      add_excerpts(file, unseen);
    }
    const auto all = std::ssize(unseen);
    remove_trained(read_run_config(run), unseen);
    const Index seen = all - std::ssize(unseen);
    if (2 * seen > all) {
      return concat_text(names_of(files), ": the run trained on this text (", seen, " of ", all,
                         " excerpts): the loss does not say how the model predicts new text; "
                         "headlight train --resume ",
                         shown(run), " --eval_only evaluates on the part that it held out");
    }
  } catch (const Error&) {
    // The data has moved, or a file is damaged, which the evaluation itself reports.
  }
  return "";
}

}  // namespace headlight
