#include "headlight/datasets/text_files.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>

#include "base/all_errors.h"
#include "base/share.h"
#include "base/strings/lower_case.h"
#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "headlight/base/error.h"
#include "headlight/datasets/token_file.h"
#include "headlight/kernels/machine/memory.h"
#include "storage/byte_source.h"
#include "storage/compressed/decompression.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kValidationFile = "val.bin";
constexpr std::string_view kReadme = "readme";
constexpr std::array<std::string_view, 2> kJsonLines{".jsonl", ".ndjson"};
constexpr std::array<std::string_view, 2> kTables{".csv", ".tsv"};
constexpr std::array<std::string_view, 3> kPlain{".txt", ".text", ".md"};

// Arguments of find_text_files() besides the names.
struct Search {
  std::string_view token_file;
  std::vector<std::string>* warnings;
};

template <std::size_t N>
bool ends_with_any(std::string_view name, const std::array<std::string_view, N>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// Paths of a folder's files, sorted by name.
struct FolderContent {
  std::vector<std::string> texts;
  std::vector<std::string> shards;
  std::vector<std::string> validation_shards;
  bool has_manifest = false;             // of shards
  std::map<std::string, Index> skipped;  // counts by kind: ".csv", "folder"
};

std::string ending_of(std::string_view name) {
  const std::string lower = lower_case(name);
  const std::string_view inner = without_compression(lower);
  return fs::path(inner).extension().string() + lower.substr(inner.size());
}

// Returns the kind of a folder entry that is not data. A README describes the data.
std::string kind_of(const fs::directory_entry& entry, const std::string& name) {
  std::error_code disconnected;
  if (!entry.is_regular_file(disconnected)) {
    return entry.is_directory(disconnected) ? "folder" : "special file";
  }
  if (lower_case(name).starts_with(kReadme)) {
    return "README";
  }
  const std::string ending = ending_of(name);
  return ending.empty() ? "without extension" : escaped(ending);
}

void add_entry(const fs::directory_entry& entry, const std::string& name, FolderContent& content) {
  std::error_code disconnected;
  const bool is_file = entry.is_regular_file(disconnected);
  if (is_file && is_token_file(name)) {
    const bool is_validation = name.find("_val_") != std::string::npos;
    (is_validation ? content.validation_shards : content.shards).push_back(entry.path().string());
  } else if (is_file && is_text_name(name) && !lower_case(name).starts_with(kReadme)) {
    content.texts.push_back(entry.path().string());
  } else {
    ++content.skipped[kind_of(entry, name)];
  }
  content.has_manifest = content.has_manifest || name == kShardManifest;
}

FolderContent content_of(const fs::path& folder) {
  FolderContent content;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) {
      add_entry(*entry, name, content);
    }
  }
  require(!error, shown(folder), ": ", error.message());
  for (auto* paths : {&content.texts, &content.shards, &content.validation_shards}) {
    std::sort(paths->begin(), paths->end());
  }
  return content;
}

// Returns "2 .csv, 1 folder", with the most frequent kind first.
std::string counts_of(const std::map<std::string, Index>& kinds) {
  constexpr std::size_t kMostKinds = 6;
  std::vector<std::pair<std::string, Index>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  Index others = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [kind, count] = sorted[i];
    others += i < kMostKinds ? 0 : count;
    const bool is_word = kind == "folder" || kind == "special file";
    text += i < kMostKinds
                ? concat_text(i > 0 ? ", " : "", count, " ", kind, is_word && count > 1 ? "s" : "")
                : "";
  }
  return others > 0 ? concat_text(text, ", ", others, " others") : text;
}

void add_skipped(const fs::path& folder, std::size_t count,
                 const std::map<std::string, Index>& skipped, std::vector<std::string>* warnings) {
  Index sum = 0;
  for (const auto& [kind, number] : skipped) {
    sum += number;
  }
  if (sum > 0 && warnings != nullptr) {
    warnings->push_back(concat_text(shown(folder), ": read ", count,
                                    count == 1 ? " file" : " files", "; skipped ", sum, ": ",
                                    counts_of(skipped)));
  }
}

// Drops companions of token files from the skipped files: they are not lost data.
void remove_companions(std::map<std::string, Index>& skipped) {
  for (const char* kind : {".idx", ".json", ".pkl", ".py", "README"}) {
    skipped.erase(kind);
  }
}

void add_kinds(const std::vector<std::string>& paths, std::map<std::string, Index>& skipped) {
  for (const std::string& path : paths) {
    ++skipped[escaped(ending_of(path))];
  }
}

// Adds the folder's token files. `validates`: the caller wants data to evaluate on.
void add_shards(const FolderContent& content, bool validates, std::vector<TextFile>& files) {
  const bool has_both = !content.shards.empty() && !content.validation_shards.empty();
  const bool takes_validation = content.shards.empty() || (has_both && validates);
  for (const std::string& path : takes_validation ? content.validation_shards : content.shards) {
    files.push_back({.path = path});
    if (has_both && !validates) {
      files.back().validation_paths = content.validation_shards;
    }
  }
}

// Returns the token file of a nanoGPT folder; nothing if there is none.
std::optional<TextFile> prepared_file(const fs::path& folder, std::string_view token_file) {
  std::error_code error;
  for (const std::string_view name : {token_file, kTrainFile}) {
    if (fs::is_regular_file(folder / name, error)) {
      TextFile file{.path = (folder / name).string()};
      const fs::path beside = folder / kValidationFile;
      if (name == kTrainFile && fs::is_regular_file(beside, error)) {
        file.validation_paths = {beside.string()};
      }
      return file;
    }
  }
  return std::nullopt;
}

void add_folder(const fs::path& folder, const Search& search, std::vector<TextFile>& files) {
  FolderContent content = content_of(folder);
  const std::size_t before = files.size();
  if (std::optional<TextFile> file = prepared_file(folder, search.token_file)) {
    files.push_back(std::move(*file));
  } else {
    require(!content.texts.empty() || !content.shards.empty() || !content.validation_shards.empty(),
            shown(folder),
            ": no text files in this folder (.txt, .text, .md, .jsonl, .ndjson, also with .gz or "
            ".zst), nor token files (.bin), got ",
            content.skipped.empty() ? "none" : counts_of(content.skipped));
    if (content.texts.empty() || content.has_manifest) {
      add_shards(content, search.token_file == kValidationFile, files);
    }
  }
  if (files.size() > before) {
    remove_companions(content.skipped);
    add_kinds(content.texts, content.skipped);
  } else {
    add_kinds(content.shards, content.skipped);
    add_kinds(content.validation_shards, content.skipped);
    for (std::string& path : content.texts) {
      files.push_back({.path = std::move(path)});
    }
  }
  add_skipped(folder, files.size() - before, content.skipped, search.warnings);
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (result == GLOB_NOSPACE) {
    throw std::bad_alloc();
  }
  require(!names.empty(), shown(pattern), ": no file matches this pattern");
  return names;
}

std::vector<std::string> parts_between_commas(const std::string& name) {
  std::vector<std::string> parts = split_at_commas(name);
  std::erase(parts, "");
  return parts;
}

void add_files(const std::string& name, const Search& search, std::vector<TextFile>& files) {
  require(!name.empty(), "expected the name of a file, got an empty one");
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (name == kStandardInput || (fs::exists(status) && !fs::is_directory(status))) {
    files.push_back({.path = name});
    return;
  }
  if (fs::is_directory(status)) {
    add_folder(name, search, files);
    return;
  }
  if (name.find(',') != std::string::npos) {
    const std::vector<std::string> parts = parts_between_commas(name);
    require(!parts.empty(), "expected the names of files, got '", name, "'");
    use_each(parts, "names", [&](const std::string& part) { add_files(part, search, files); });
    return;
  }
  require(name.find_first_of("*?[") != std::string::npos, shown(name), ": ",
          error ? error.message() : "No such file or directory");
  for (const std::string& match : matches_of(name)) {
    fs::is_directory(match, error) ? add_folder(match, search, files)
                                   : files.push_back({.path = match});
  }
}

}  // namespace

std::string TextFile::name() const { return is_standard_input() ? "standard input" : shown(path); }

void report_reading(std::vector<TextFile>& files, const std::function<void(double)>& progress) {
  Index all = 0;
  for (const TextFile& file : files) {
    std::error_code unknown;
    const auto bytes = static_cast<Index>(std::filesystem::file_size(file.path, unknown));
    if (unknown) {
      return;
    }
    all += is_token_file(file.path) ? 0 : bytes;
  }
  if (all == 0) {
    return;
  }
  const auto read = std::make_shared<Index>(0);
  for (TextFile& file : files) {
    file.on_read = [all, read, progress](Index bytes) {
      if (bytes == 0) {
        return;  // the end, after which a second reading would begin
      }
      *read += bytes;
      progress(share_of(*read, all));
      *read %= all;
    };
  }
}

std::vector<TextFile> find_text_files(const std::vector<std::string>& names,
                                      std::string_view token_file,
                                      std::vector<std::string>* warnings) {
  std::vector<TextFile> files;
  use_each(names, "names", [&](const std::string& name) {
    add_files(name, {token_file, warnings}, files);
  });
  const auto inputs = std::count_if(files.begin(), files.end(),
                                    [](const TextFile& file) { return file.is_standard_input(); });
  require(inputs <= 1, "-: standard input can be read only once, but is named ", inputs, " times");
  return files;
}

WeightedName split_weight(const std::string& name) {
  constexpr Index kMillion = 1'000'000;
  constexpr std::size_t kMostDigits = 7;
  std::error_code error;
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos || colon == 0 || fs::exists(name, error)) {
    return {.name = name};
  }
  const std::string_view digits = std::string_view(name).substr(colon + 1);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string_view whole = digits.substr(0, point);
  std::string fraction(digits.substr(std::min(point + 1, digits.size())));
  const auto is_number = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (whole.empty() || !is_number(whole) || !is_number(fraction)) {
    return {.name = name};
  }
  const bool is_short = whole.size() <= kMostDigits && fraction.size() < kMostDigits;
  fraction.resize(kMostDigits - 1, '0');
  const Index weight =
      is_short ? std::stoll(std::string(whole)) * kMillion + std::stoll(fraction) : 0;
  require(weight > 0 && weight <= kMillion * kMillion, shown(name),
          ": expected a weight above 0, of at most ", kMillion,
          " and with at most 6 digits after the point, got ", digits);
  return {.name = name.substr(0, colon), .weight = weight};
}

std::vector<WeightedFiles> find_weighted_files(const std::vector<std::string>& names,
                                               std::vector<std::string>* warnings) {
  constexpr Index kDefault = 1'000'000;
  std::vector<WeightedName> sources;
  for (const std::string& name : names) {
    std::error_code error;
    const bool is_list = name.find(',') != std::string::npos && !fs::exists(name, error);
    for (const std::string& part : is_list ? parts_between_commas(name) : std::vector{name}) {
      sources.push_back(split_weight(part));
    }
  }
  const bool any = std::any_of(sources.begin(), sources.end(),
                               [](const WeightedName& source) { return source.weight > 0; });
  if (!any) {
    return {{.files = find_text_files(names, kTrainFile, warnings)}};
  }
  std::vector<WeightedFiles> result;
  Index divisor = 0;
  for (const WeightedName& source : sources) {
    const Index weight = source.weight == 0 ? kDefault : source.weight;
    divisor = std::gcd(divisor, weight);
    result.push_back(
        {.files = find_text_files({source.name}, kTrainFile, warnings), .weight = weight});
  }
  for (WeightedFiles& source : result) {
    source.weight /= divisor;
  }
  return result;
}

std::vector<TextFile> find_all_files(const std::vector<std::string>& names) {
  std::vector<TextFile> files;
  for (const WeightedFiles& source : find_weighted_files(names)) {
    files.insert(files.end(), source.files.begin(), source.files.end());
  }
  return files;
}

bool is_text_name(std::string_view name) {
  const std::string lower = lower_case(name);
  return ends_with_any(without_compression(lower), kPlain) || is_json_lines_name(lower);
}

bool is_json_lines_name(std::string_view name) {
  const std::string lower = lower_case(name);
  return ends_with_any(without_compression(lower), kJsonLines);
}

bool is_table_name(std::string_view name) {
  const std::string lower = lower_case(name);
  return ends_with_any(without_compression(lower), kTables);
}

void hold_standard_input(std::vector<TextFile>& files) {
  for (TextFile& file : files) {
    if (!file.is_standard_input() || file.held != nullptr) {
      continue;
    }
    constexpr std::size_t kReadAtOnce = std::size_t{4} << 20;
    const auto source = standard_input();
    std::string bytes;
    for (std::size_t count = kReadAtOnce; count == kReadAtOnce;) {
      const std::size_t used = bytes.size();
      if (used + kReadAtOnce > bytes.capacity()) {
        const std::string missing = missing_memory(2.0 * static_cast<double>(used + kReadAtOnce));
        require(missing.empty(), "standard input: does not fit in memory: ", missing);
      }
      bytes.resize(used + kReadAtOnce);
      count = read_fully(*source, std::span<char>(bytes).subspan(used));
      bytes.resize(used + count);
    }
    file.held = std::make_shared<const std::string>(std::move(bytes));
  }
}

Index require_fits(const TextFile& file) {
  constexpr double kAlwaysThere = 1 << 20;  // bytes; fewer are read faster than memory is queried
  std::error_code error;
  const auto bytes = file.is_standard_input() ? 0 : fs::file_size(file.path, error);
  const auto size = error ? 0.0 : static_cast<double>(bytes);
  const std::string missing = size <= kAlwaysThere ? "" : missing_memory(size);
  require(missing.empty(), file.name(), ": does not fit in memory: it has ", missing);
  return static_cast<Index>(size);
}

std::string names_of(const std::vector<TextFile>& files) {
  if (files.size() == 2) {
    return files[0].name() + " and " + files[1].name();
  }
  const std::string first = files.empty() ? "no file" : files[0].name();
  return files.size() < 2 ? first : concat_text(first, " and ", files.size() - 1, " more");
}

}  // namespace headlight
