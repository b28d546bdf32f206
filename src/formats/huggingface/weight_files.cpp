#include "formats/huggingface/weight_files.h"

#include <memory>
#include <set>

#include "base/strings/printable.h"
#include "formats/arrays/safetensors_file.h"
#include "formats/gguf/gguf_blocks.h"
#include "formats/gguf/gguf_header.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const SafetensorsFile> add_file(const fs::path& path, WeightFiles& files) {
  const auto file = std::make_shared<const SafetensorsFile>(path);
  for (const SafetensorsEntry& entry : file->entries()) {
    FileTensor& tensor = files.tensors.emplace_back(
        FileTensor{.name = entry.name,
                   .shape = entry.info.shape,
                   .read = [file, &entry] { return file->read(entry); },
                   .read_into = [file, &entry](Tensor& target) { file->read_into(entry, target); },
                   .is_bfloat16 = entry.dtype == DType::bfloat16});
    if (is_floating(entry.dtype)) {
      tensor.read_rows = [file, &entry](Index first, Index count) {
        return file->read_rows(entry, first, count);
      };
    }
  }
  return file;
}

void add_shards(const fs::path& index, WeightFiles& files) {
  const std::map<std::string, std::string> homes = read_shard_index(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : homes) {
    shards.insert(shard);
  }
  for (const std::string& shard : shards) {
    const fs::path path = index.parent_path() / shard;
    for (const SafetensorsEntry& entry : add_file(path, files)->entries()) {
      const auto home = homes.find(entry.name);
      require(home != homes.end() && home->second == shard, shown(path), ": tensor ",
              in_quotes(entry.name), ": ", files.where,
              home == homes.end() ? " does not list it" : " lists it in another file");
    }
  }
}

// Throws Error for shards without an index.
void require_no_shards(const fs::path& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    require(
        !name.starts_with("model-") || !name.ends_with(".safetensors"), shown(entry.path()),
        ": is one of several files; model.safetensors.index.json, which lists them, is missing");
  }
}

// Packs rows of a tensor; reads consecutive ones at once.
bool pack_rows(const GgufFile& file, const GgufTensor& tensor, std::span<const Index> rows,
               Index lane, void* panel) {
  const GgufBlock block = gguf_block(tensor.type);
  const Index row_bytes = tensor.shape.back() / block.elements * block.bytes;
  std::vector<std::byte> bytes;
  bool is_finite = true;
  while (!rows.empty()) {
    const std::size_t count = consecutive_rows(rows);
    bytes.resize(count * static_cast<std::size_t>(row_bytes));
    file.read_bytes(tensor, rows[0] * row_bytes, bytes);
    for (std::size_t i = 0; i < count; ++i, ++lane) {
      const auto row = std::span(bytes).subspan(i * static_cast<std::size_t>(row_bytes),
                                                static_cast<std::size_t>(row_bytes));
      is_finite = pack_gguf_row(tensor.type, row, lane, panel) && is_finite;
    }
    rows = rows.subspan(count);
  }
  return is_finite;
}

std::optional<FilePanels> panels_of(const std::shared_ptr<const GgufFile>& file,
                                    const GgufTensor& tensor) {
  const auto layout = gguf_integers(tensor.type);
  if (!layout || tensor.shape.rank() != 2) {
    return std::nullopt;
  }
  return FilePanels{*layout, [file, &tensor](auto rows, Index lane, void* panel) {
                      return pack_rows(*file, tensor, rows, lane, panel);
                    }};
}

}  // namespace

std::size_t consecutive_rows(std::span<const Index> rows) {
  std::size_t length = 1;
  while (length < rows.size() && rows[length] == rows[length - 1] + 1) {
    ++length;
  }
  return length;
}

WeightFiles safetensors_weights(const fs::path& directory) {
  const fs::path whole = directory / "model.safetensors";
  const fs::path index = directory / "model.safetensors.index.json";
  WeightFiles files{.where = shown(whole), .described_by = "config.json"};
  std::error_code ignored;
  if (!fs::exists(whole, ignored) && fs::exists(index, ignored)) {
    files.where = shown(index);
    add_shards(index, files);
    return files;
  }
  require(fs::exists(whole, ignored) || !fs::exists(directory / "pytorch_model.bin", ignored),
          shown(directory),
          ": pytorch_model.bin, a Python pickle, is not supported; save the model as ",
          "model.safetensors");
  if (!fs::exists(whole, ignored)) {
    require_no_shards(directory);
  }
  add_file(whole, files);
  return files;
}

WeightFiles gguf_weights(const GgufFile& file) {
  WeightFiles files{.where = shown(file.path()), .described_by = "its metadata"};
  const auto shared = std::make_shared<const GgufFile>(file);
  for (const GgufTensor& tensor : shared->tensors()) {
    files.tensors.push_back(
        {.name = tensor.name,
         .shape = tensor.shape,
         .read = [shared, &tensor] { return shared->read(tensor); },
         .read_into = [shared, &tensor](Tensor& target) { shared->read_into(tensor, target); },
         .read_rows = [shared, &tensor](
                          Index first,
                          Index count) { return shared->read_rows(tensor, first, count); },
         .is_bfloat16 = tensor.type == GgufType::bf16,
         .panels = panels_of(shared, tensor)});
  }
  return files;
}

}  // namespace headlight
