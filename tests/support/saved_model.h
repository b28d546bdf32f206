#pragma once

#include "support/test.h"

// Small models in folders, for tests of the program.
namespace headlight::test {

// Writes a model into a new folder; returns its path.
inline std::string save_model(const TemporaryFolder& folder, const std::string& name,
                              const Gpt& model, const Tokenizer& tokenizer = ByteTokenizer()) {
  std::filesystem::create_directory(folder / name);
  write_model_files(folder / name, model, tokenizer);
  return folder.at(name);
}

// Sets keys of the config.json of a model.
inline void change_config(const std::filesystem::path& directory, const nlohmann::json& changes) {
  nlohmann::json config = nlohmann::json::parse(file_contents(directory / "config.json"));
  config.update(changes);
  write_bytes(directory / "config.json", config.dump());
}

// Splits the tensors into two shards, the head of the list in the first, and writes their index.
inline nlohmann::json shard(const std::filesystem::path& directory) {
  const NamedTensors tensors = read_safetensors(directory / "model.safetensors");
  const auto middle = tensors.begin() + static_cast<std::ptrdiff_t>(tensors.size() / 2);
  const std::array<NamedTensors, 2> parts{NamedTensors(tensors.begin(), middle),
                                          NamedTensors(middle, tensors.end())};
  nlohmann::json map;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string name = "model-0000" + std::to_string(i + 1) + "-of-00002.safetensors";
    write_safetensors(directory / name, parts[i]);
    for (const auto& [tensor, values] : parts[i]) {
      map[tensor] = name;
    }
  }
  std::filesystem::remove(directory / "model.safetensors");
  const nlohmann::json index{{"metadata", {{"total_size", 1}}}, {"weight_map", map}};
  write_bytes(directory / "model.safetensors.index.json", index.dump());
  return index;
}

// A folder with a lively model of two layers of two heads, bytes as tokens and a context of 32,
// and a text.
struct SavedModel {
  TemporaryFolder folder;
  std::string model = save_model(folder, "model", *lively_model(257, 32));
  std::string text =
      folder.write("text.txt", "one line of text\nanother line\n\nthe third, longer line\nend\n");
};

using TensorMap = std::map<std::string, Tensor>;

// Arrays of a .npz file by name.
inline TensorMap npz_arrays(const std::filesystem::path& path) {
  const NamedTensors arrays = read_npz(path);
  return {arrays.begin(), arrays.end()};
}

}  // namespace headlight::test
