#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "formats/huggingface/weight_files.h"
#include "formats/huggingface/weight_layout.h"
#include "headlight/generate/weights.h"
#include "headlight/nn/gpt.h"
#include "nn/packed/packed_matrix.h"

namespace headlight {

// Reorders rows from [outer, first, second, rest] to [outer, second, first, rest].
Tensor reordered_rows(const Tensor& x, const RowOrder& order);

// Returns the shape in the file of a tensor of a weight with this shape.
Shape file_shape(const StoredTensor& stored, const Shape& shape);

// Returns the name in files that use the prefix.
std::string full_name(const std::string& name, const WeightLayout& layout);

// Returns the name of the token embedding or the head in a layout, without the prefix.
std::string stored_name(Part part, const WeightLayout& layout);

// Converts a tensor of the file to rows of a weight.
Tensor as_ours(const StoredTensor& stored, const Tensor& x);

// Returns a model's tensors with the names and the layout of another program.
NamedTensors stored_tensors(const Gpt& model, const WeightLayout& layout);

// The weights in a model's files, without the layout's buffers. Names may lack the layout's prefix.
class ModelWeights {
 public:
  // `layout` must outlive this object. Throws Error for two tensors of the same name.
  ModelWeights(WeightFiles files, const WeightLayout& layout);
  ModelWeights(const ModelWeights&) = delete;  // its map refers to its files
  ModelWeights& operator=(const ModelWeights&) = delete;
  ModelWeights(ModelWeights&&) = default;

  // Completes the configuration from the weights. A head that differs from the token embedding is
  // untied, whatever the configuration says, as in transformers. A GPT-2 written without biases has
  // biases if any is not zero.
  void infer_missing_fields(GptConfig& config);
  // Throws Error, one line that names the tensors that are missing, unexpected or of another shape.
  // Returns a line about ignored tensors outside of layers; "" if there are none.
  std::string check(const GptConfig& config) const;
  // Fills the parameters, converting types. A model with fewer positions than the file takes the
  // first ones. Calls `progress` with the read share of the weights. Requires a successful check().
  void read_into(
      Gpt& model, const std::function<void(double share)>& progress = [](double) {}) const;
  // Fills a model and freezes it, and packs its matrices that have no elements, a few rows at a
  // time where the file has their rows. Not for MatrixForm::float32. An embedding that is not the
  // head keeps its numbers. With `layers_only`, the token embedding and the head stay float32.
  // Calls `progress` with the read share of the weights. Requires a successful check(). Throws
  // Error with the name of a weight that is not finite.
  void pack_into(
      Gpt& model, MatrixForm form, bool layers_only,
      const std::function<void(double share)>& progress = [](double) {}) const;
  const std::vector<FileTensor>& tensors() const { return files_.tensors; }
  // True if some matrices are stored as integers.
  bool has_integers() const;
  // Returns the memory in bytes of the model that pack_into() makes with MatrixForm::stored.
  double stored_bytes(const GptConfig& config, bool layers_only) const;

 private:
  void read_weight(const Weight& weight, const GptConfig& config, const Tensor& to) const;
  PackedMatrix packed(const Weight& weight, const Gpt& model, MatrixForm form) const;
  WeightFormat float_format(const Weight& weight, const GptConfig& config, MatrixForm form) const;
  std::vector<PackedRows> float_rows(const Weight& weight, const GptConfig& config,
                                     WeightFormat format) const;
  std::vector<PackedRows> integer_rows(const Weight& weight, const GptConfig& config,
                                       std::atomic<bool>& is_finite) const;

  WeightFiles files_;
  const WeightLayout& layout_;
  std::map<std::string, const FileTensor*> tensors_;  // by name without the prefix
};

}  // namespace headlight
