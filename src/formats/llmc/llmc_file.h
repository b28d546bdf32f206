#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formats/huggingface/weight_files.h"
#include "headlight/nn/gpt_config.h"
#include "storage/input_file.h"

namespace headlight {

// True for a checkpoint of llm.c, model_NAME.bin.
bool is_llmc_file(const std::filesystem::path& path);

// A checkpoint of llm.c (github.com/karpathy/llm.c): GPT-2's weights in float32 (version 3) or
// bfloat16 (version 5), one weight of all layers after the other. The rows behind the vocabulary in
// the padded token embedding belong to no token and are not read.
class LlmcFile {
 public:
  // Reads the header. Throws Error, one line with the path, for another version, impossible sizes,
  // and a file of another size than the weights have.
  explicit LlmcFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const GptConfig& config() const { return config_; }

  // A weight with GPT-2's name and our layout, [outputs, inputs].
  struct Entry {
    std::string name;
    Shape shape;
    Index begin = 0;  // byte
  };
  const std::vector<Entry>& tensors() const { return tensors_; }
  // Reads a weight in the file's type, float32 or bfloat16.
  Tensor read(const Entry& entry) const;
  // Overwrites the elements of `target`, a contiguous tensor of the same shape, in its own type.
  void read_into(const Entry& entry, Tensor& target) const;

 private:
  void read_sizes();
  Index list_tensors();

  InputFile file_;
  DType dtype_ = DType::float32;
  Index padded_vocabulary_ = 0;
  GptConfig config_;
  std::vector<Entry> tensors_;
};

WeightFiles llmc_weights(const std::shared_ptr<const LlmcFile>& file);

}  // namespace headlight
