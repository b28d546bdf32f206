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
  KeyValueCache* cache = nullptr;  // cache of the tokens before; grows by one
  // Number of items directly before this one that extend the same cache: a step can read several
  // tokens of a sequence.
  Index ahead = 0;
  bool wants_logits = true;
};

// Returns the bytes of the keys and values that a query sees at the end of `positions` positions:
// of all of them, or of those in a layer's window.
double context_bytes(const GptConfig& config, CacheType type, Index positions);
// Returns the bytes of keys and values of one position.
double position_bytes(const GptConfig& config, CacheType type);

// Returns the default precision of keys and values: float32 for float32 weights, else float16.
// float16 changes the predictions of SmolLM2-135M by 7e-7 nats a token, less than rounded weights.
CacheType default_cache_type(const Gpt& model, WeightFormat format = WeightFormat::float32);

// Computes the next tokens of one or several sequences. Copies the matrices once into the order in
// which a step reads them, so that memory bandwidth limits the speed; several sequences share one
// pass over the weights. Logits equal a Gpt's up to rounding. Their bits depend neither on the
// number of threads nor on the other sequences.
//
// With a hook, given or attached to the model, a step is a pass of the model with the packed
// matrices: slower, but the hook sees and changes the points of Gpt.
//
// Matrices that the model holds packed already, and only so, are used as they are: see MatrixForm.
//
// The model itself reads prompts, as a matrix product with its float32 weights. To read prompts
// with the rounded weights too, call round_weights() first. The packed matrices replace the model's
// where that is faster: for integer weights (x86-64), and for up to 128 tokens without BLAS.
// Products of longer prompts round the activations, too, if the CPU has instructions for that: of
// more than 32 tokens with bfloat16 weights to bfloat16 (AVX512-BF16, AMX), of more than 64 with
// integer weights to bytes that share a scale with 31 neighbours (AVX-512 VNNI). Attention of these
// prompts then rounds its factors to bfloat16, too (AVX512-BF16, AMX).
//
// Models other than Gpt have no steps: generation computes the logits of the whole context for each
// token.
class Decoder {
 public:
  // The model must outlive the decoder; later changes to its matrices have no effect. Throws Error
  // for a Gpt that is not float32.
  explicit Decoder(const Gpt& model, WeightFormat format = WeightFormat::float32,
                   CacheType cache_type = CacheType::float32);
  // A decoder without steps.
  explicit Decoder(const LanguageModel& model);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  const LanguageModel& model() const;
  // Returns whether the keys of a text of `before` tokens change when it has `after` tokens: see
  // RopeScaling::longrope.
  bool changes_keys(Index before, Index after) const;
  // Returns true if the decoder was made of a Gpt. Otherwise make_cache(), read() and step() throw
  // Error.
  bool has_steps() const;
  KeyValueCache make_cache() const;

  // Appends tokens to one sequence; logits(0) then predict the next. A prompt that is read in
  // chunks gives its number of tokens, so that products round as if it were read whole. Throws as
  // Gpt::hidden does.
  void read(const std::vector<std::int32_t>& tokens, KeyValueCache& cache,
            ForwardHook* hook = nullptr, Index prompt = 0);
  // Returns whether steps may read a prompt of this many tokens: their products round as read()'s.
  bool steps_read(Index prompt) const;
  // Appends the tokens to their sequences; logits(i) then predict the token after the item that is
  // number i of the items that want logits. With a hook, the caches must differ. Throws Error for
  // an id outside the vocabulary and for a cache that is full or of another model; then no cache
  // has grown.
  void step(std::span<const DecodeItem> items, ForwardHook* hook = nullptr);
  // Returns logits [V], valid until the next read() or step().
  std::span<const float> logits(Index item) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
