#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headlight/nn/module.h"
#include "headlight/ops/low_rank.h"

namespace headlight {

// First elements of matrices and their biases.
enum class Initialisation {
  random,
  zeros,  // to be overwritten
  none,   // matrices without elements, for store(); biases of zeros
};

struct LinearOptions {
  Index inputs = 0;
  Index outputs = 0;
  bool bias = true;
  DType dtype = DType::float32;
  Initialisation initialisation = Initialisation::random;
};

class Linear;

// Multiplies with weight matrices that are stored in another form.
class WeightProducts {
 public:
  virtual ~WeightProducts() = default;
  // Returns linear.forward(x) up to rounding; x is [N, inputs].
  virtual Tensor multiply(const Linear& linear, const Tensor& x) const = 0;
};

// The frozen weight [outputs, inputs] and bias of a Linear in another form. Or a frozen Embedding,
// with the bias of the head that shares its elements.
class StoredWeight {
 public:
  virtual ~StoredWeight() = default;
  // Returns linear(x, weight(), bias), which has a gradient for x, and for rows that are trained.
  virtual Tensor product(const Tensor& x, Precision precision) const = 0;
  // Returns rows [..., inputs] of weight(), chosen by ids [...] int32. Throws Error for an id that
  // is not a row.
  virtual Tensor rows(const Tensor& ids) const = 0;
  // Returns the elements that the other form represents.
  virtual Tensor weight() const = 0;
  // Returns whether they differ from the elements that the other form was made from.
  virtual bool is_rounded() const = 0;
};

// Maps x [..., inputs] to [..., outputs]. Parameters: weight [outputs, inputs], bias [outputs], and
// lora_A.NAME, lora_B.NAME and perhaps lora_magnitude.NAME of each update.
class Linear : public Module {
 public:
  explicit Linear(const LinearOptions& options, const RandomStream& random = {});
  Tensor forward(const Tensor& x, const ForwardContext& context = {}) const;

  // Adds a low-rank update of the weight, whose factors and lengths become parameters. Its input is
  // dropped in training with `dropout`; `label` is the number of its random stream, as in Dropout.
  void add_update(const std::string& name, LowRankUpdate update, double dropout,
                  std::uint64_t label);
  const std::vector<LowRankUpdate>& updates() const { return updates_; }
  // Returns the weight with all updates: `weight` itself if there are none.
  Tensor full_weight() const;

  // Replaces the weight and bias by another form of them, and frees the elements of `weight`, so
  // that they cannot be read any more. Throws Error if they are trained.
  void store(std::shared_ptr<const StoredWeight> stored);
  // Trains rows of the weight, which must be frozen and have no bias: copies of them become the
  // parameter "trained_rows". `ids` are ascending.
  void train_rows(const std::vector<std::int32_t>& ids);
  // True if forward() is one product with `weight` and `bias`, which an op may join with others.
  bool is_plain() const { return updates_.empty() && stored_ == nullptr; }
  const StoredWeight* stored() const { return stored_.get(); }  // null if not in another form

  Tensor weight;
  Tensor bias;  // undefined if bias is false

 private:
  Tensor plain_weight() const;  // without updates

  std::vector<LowRankUpdate> updates_;
  double update_dropout_ = 0;
  std::uint64_t update_label_ = 0;
  std::shared_ptr<const StoredWeight> stored_;
};

}  // namespace headlight
