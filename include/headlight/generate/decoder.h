#pragma once

#include <memory>
#include <span>
#include <vector>

#include "headlight/generate/weights.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// The next token of one sequence.
struct DecodeItem {
  std::int32_t token = 0;
  KeyValueCache* cache = nullptr;  // of the tokens before; it grows by one
};

// Computes a model token by token, for one or several sequences at once. The matrices are copied
// and laid out once, in the order in which a step reads them, so that a step runs at the speed of
// memory; several sequences share one pass over the weights. Logits equal those of Gpt up to
// rounding, and their bits depend neither on the number of threads nor on the other sequences. A
// hook sees and changes the same places as in a forward pass of the model.
//
// A prompt is read as a matrix by the model itself: its own float32 weights stay anyway, and need
// not be unpacked. round_weights() first, when prompt and output shall be read with the same ones.
// What steps multiply with takes their place where that is faster: int8 weights (x86-64), and up to
// 32 tokens at a time, unless the products are BLAS's.
//
// A model other than Gpt has no steps: whoever generates with it asks for the logits of the whole
// context again and again.
class Decoder {
 public:
  // The model must outlive the decoder; later changes of its matrices are not seen. Throws Error
  // when it is a Gpt that is not float32, and for other formats than float32 of any other.
  explicit Decoder(const LanguageModel& model, WeightFormat format = WeightFormat::float32);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  const LanguageModel& model() const;
  WeightFormat format() const;
  // Whether there are caches, read() and step(); they throw Error otherwise.
  bool has_steps() const;
  KeyValueCache make_cache() const;

  // Appends tokens to one sequence; logits(0) follow the last one. Throws what Gpt::hidden throws.
  void read(const std::vector<std::int32_t>& tokens, KeyValueCache& cache,
            ForwardHook* hook = nullptr);
  // Appends one token to each sequence; logits(i) follow that of items[i]. No cache may come twice.
  // Throws Error for an id outside the vocabulary and for a cache that has no room or is another
  // model's; no cache has grown then.
  void step(std::span<const DecodeItem> items, ForwardHook* hook = nullptr);
  // [V], until the next call of read() or step().
  std::span<const float> logits(Index item) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
