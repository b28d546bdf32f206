#include "headlight/interpret/activations/activation_files.h"

#include <algorithm>
#include <system_error>

#include "base/json.h"
#include "base/strings/printable.h"
#include "base/strings/zero_padded.h"
#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "interpret/activations/activation_rows.h"
#include "storage/posix_file.h"
#include "tensor/array_source.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kMostRows = 65536;
constexpr Index kMostBytes = Index{1} << 30;

bool is_npz(const fs::path& path) { return path.extension() == ".npz"; }

void check_file(const fs::path& path, StoredFloats type) {
  require(is_npz(path) || path.extension() == ".safetensors", shown(path),
          ": expected a name that ends in .npz or .safetensors");
  require(!is_npz(path) || type != StoredFloats::bfloat16, shown(path),
          ": NumPy has no bfloat16; choose float16, or a name that ends in .safetensors");
  require_replaceable(path);
  const FileWriter trial(temporary_path(path));  // removed at once: reports a bad path early
}

// acts.npz -> acts-00002.npz
fs::path shard_path(const fs::path& path, std::size_t number) {
  const std::string digits = zero_padded(static_cast<Index>(number), 5);
  return path.parent_path() / (path.stem().string() + "-" + digits + path.extension().string());
}

fs::path index_path(const fs::path& path) { return fs::path(path).replace_extension(".json"); }

void write_arrays(const fs::path& path, const std::vector<ArraySource>& arrays, StoredFloats type) {
  if (is_npz(path)) {
    write_npz(path, arrays, type);
  } else {
    write_safetensors(path, arrays, {{"format", "pt"}}, type);
  }
}

// Returns the names, types and shapes of all files' arrays. `sources`: arrays of one file. `rows`
// and `contexts`: numbers in all files together, which replace the numbers in the shapes.
std::vector<ActivationArrayInfo> infos_of(const std::vector<ArraySource>& sources, Index rows,
                                          Index contexts, StoredFloats type) {
  std::vector<ActivationArrayInfo> arrays;
  for (const ArraySource& source : sources) {
    const std::string_view stored =
        source.dtype == DType::float32 ? name_of(type) : name_of(source.dtype);
    Shape shape = source.shape;
    if (source.name == "offsets") {
      *shape.begin() = contexts + 1;
    } else if (source.name.find('/') == std::string::npos) {  // neither a map nor item numbers
      *shape.begin() = rows;
    }
    arrays.push_back({source.name, std::string(stored), shape});
  }
  return arrays;
}

// Runs the model over contexts and writes the file of their activations. Until then they are in a
// temporary file on the same disk. Fills in the arrays of `result`, and adds their lost values.
void write_span(const fs::path& file, const ActivationPlan& plan,
                const ActivationContexts& contexts, const ContextSpan& span,
                const ActivationFileOptions& options, ActivationFiles& result) {
  ArraysOnDisk disk(file);
  const std::vector<KeptArray> kept =
      gather_activations(plan, contexts, span, options.activations, options.on_context, disk);
  std::vector<ArraySource> arrays;
  for (const KeptArray& array : kept) {
    arrays.push_back(array.stored ? disk.source(*array.stored, array.name)
                                  : source_of(array.name, array.numbers));
  }
  write_arrays(file, arrays, options.type);
  if (result.arrays.empty()) {
    result.arrays = infos_of(arrays, result.rows, contexts.count(), options.type);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].stored) {
      const LostValues& more = disk.lost(*kept[i].stored);
      LostValues& sum = result.arrays[i].lost;
      sum.too_large += options.type == StoredFloats::float16 ? more.too_large : 0;
      sum.not_numbers += more.not_numbers;
    }
  }
}

Json index_json(const ActivationFiles& files, const std::vector<ContextSpan>& spans,
                const ActivationFileOptions& options) {
  Json index{{"model", options.model},
             {"type", std::string(name_of(options.type))},
             {"rows", files.rows},
             {"shards", Json::array()},
             {"arrays", Json::array()}};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    index["shards"].push_back(
        {{"file", files.files[i].filename().string()}, {"rows", spans[i].rows}});
  }
  for (const ActivationArrayInfo& array : files.arrays) {
    index["arrays"].push_back(
        {{"name", array.name},
         {"type", array.type},
         {"shape", std::vector<Index>(array.shape.begin(), array.shape.end())}});
  }
  return index;
}

// Throws Error if the name of the index belongs to another file.
void require_own_index(const fs::path& path) {
  const fs::path index = index_path(path);
  require(!fs::exists(index) || fs::exists(shard_path(path, 0)), shown(index),
          ": exists but does not list ", shown(shard_path(path, 0)), "; choose another name");
}

// Removes files of an earlier call with another number of files.
void remove_old_files(const fs::path& path, std::size_t count) {
  std::error_code ignored;
  std::size_t number = count > 1 ? count : 0;
  while (fs::remove(shard_path(path, number), ignored)) {
    ++number;
  }
  if (count > 1) {
    fs::remove(path, ignored);
  } else if (number > 0) {
    fs::remove(index_path(path), ignored);
  }
}

Index most_rows_of(const ActivationPlan& plan, Index wanted) {
  if (plan.map_heads() > 0) {
    return 0;  // map names have context numbers, so all maps are in one file
  }
  const Index fitting = kMostBytes / std::max<Index>(plan.row_bytes(), 1);
  return wanted > 0 ? wanted : std::clamp<Index>(fitting, 1, kMostRows);
}

}  // namespace

ActivationFiles write_activations(const fs::path& path, const LanguageModel& model,
                                  const ActivationContexts& contexts,
                                  const ActivationFileOptions& options) {
  check_file(path, options.type);
  const ActivationPlan plan(model, options.activations.points);
  const std::vector<ContextSpan> spans =
      context_spans(plan, contexts, options.activations, most_rows_of(plan, options.shard_rows));
  const bool is_alone = spans.size() == 1;
  if (!is_alone) {
    require_own_index(path);
  }
  ActivationFiles result;
  result.absent = plan.absent();
  for (const ContextSpan& span : spans) {
    result.rows += span.rows;
  }
  StagedFiles staged(parent_folder(path));
  for (const ContextSpan& span : spans) {
    result.files.push_back(is_alone ? path : shard_path(path, result.files.size()));
    const fs::path file = staged.path() / result.files.back().filename();
    write_span(file, plan, contexts, span, options, result);
    result.bytes += static_cast<Index>(fs::file_size(file));
  }
  if (!is_alone) {
    result.index = index_path(path);
    write_file(staged.path() / result.index.filename(),
               index_json(result, spans, options).dump(2) + "\n");
  }
  staged.commit();
  remove_old_files(path, spans.size());
  return result;
}

}  // namespace headlight
