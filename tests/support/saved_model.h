#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "headlight/formats/arrays/npz.h"
#include "headlight/formats/model_directory.h"
#include "support/files.h"
#include "support/models.h"

// Small models in folders, for tests of the program.
namespace headlight::test {

// Writes a model into a new folder; returns its path.
inline std::string save_model(const TemporaryFolder& folder, const std::string& name,
                              const Gpt& model, const Tokenizer& tokenizer = ByteTokenizer()) {
  std::filesystem::create_directory(folder / name);
  write_model_files(folder / name, model, tokenizer);
  return folder.at(name);
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
