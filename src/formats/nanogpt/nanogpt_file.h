#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/pickle_reader.h"
#include "formats/huggingface/weight_files.h"
#include "formats/huggingface/weight_layout.h"
#include "formats/nanogpt/torch_tensors.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

inline constexpr std::string_view kNanoGptFile = "ckpt.pt";

// True for a file with the name NAME.pt.
bool is_torch_file(const std::filesystem::path& path);

// A checkpoint of nanoGPT's train.py, without the state of its optimizer. The pickle is only read:
// nothing in it is called or loaded.
class NanoGptFile {
 public:
  // Reads everything but the elements. Throws Error, one line with the path, for other files, and
  // for tensors that are not contiguous or exceed their storage.
  explicit NanoGptFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<TorchTensor>& tensors() const { return tensors_; }
  // Returns the configuration in model_args. GELU is exact, as in nanoGPT since June 2023.
  const GptConfig& config() const { return config_; }
  // Returns the name of the training data, config["dataset"]; "" if it is missing.
  const std::string& dataset() const { return dataset_; }
  // See read_torch_tensor() and read_torch_tensor_into().
  Tensor read(const TorchTensor& tensor) const { return read_torch_tensor(file_, tensor); }
  void read_into(const TorchTensor& tensor, Tensor& target) const {
    read_torch_tensor_into(file_, tensor, target);
  }

 private:
  void read_tensors(const Pickle& pickle);

  TorchFile file_;
  std::vector<TorchTensor> tensors_;
  GptConfig config_;
  std::string dataset_;
};

// nanoGPT's tensors have the names of GPT-2's and are [outputs, inputs], as ours.
extern const WeightLayout kNanoGptLayout;

WeightFiles nanogpt_weights(const std::shared_ptr<const NanoGptFile>& file);

}  // namespace headlight
