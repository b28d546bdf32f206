#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/batches/sequence_pieces.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/point.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Selection of the tokens of a context that get a row.
struct TokenPositions {
  bool last = false;       // only the last token
  NumberRange range = {};  // otherwise the tokens at these positions

  // Selected positions in a context of `length` tokens, ascending.
  std::vector<Index> of(Index length) const;
};

// Parses "all", "last" or the syntax of parse_range(). Throws Error about `about` for other text.
TokenPositions parse_positions(std::string_view about, std::string_view text);

// Tokens of one model pass, and their origin.
struct ActivationContext {
  std::vector<std::int32_t> tokens;
  Index document = 0;  // number of the text, or of the sequence in the dataset
  Index begin = 0;     // position of the first token in it
};

// The contexts of a cache, in order.
class ActivationContexts {
 public:
  // Encodes each text with Tokenizer::encode_prompt as one context. Throws Error for no texts, and
  // for a text without tokens or with more than `block_size`.
  ActivationContexts(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                     Index block_size);
  // Takes token ids as contexts. Adds no begin token.
  ActivationContexts(std::vector<std::vector<std::int32_t>> texts, Index block_size);
  // Cuts a dataset into contexts as evaluate() does, without the last token of each sequence, which
  // has no target. The dataset must outlive the contexts. Throws Error as SequencePieces does.
  ActivationContexts(const TokenDataset& dataset, Index block_size);
  ActivationContexts(TokenDataset&& dataset, Index block_size) = delete;

  Index count() const;
  Index length(Index index) const;  // tokens
  ActivationContext context(Index index) const;

 private:
  std::vector<std::vector<std::int32_t>> texts_;
  std::optional<SequencePieces> pieces_;  // empty: contexts are in texts_
};

// Contexts with maps (attn_scores, pattern) in a cache at most. Each map is a separate array.
inline constexpr Index kMostMappedContexts = 64;

struct ActivationOptions {
  std::vector<PointRange> points;  // in any order; duplicates are merged
  TokenPositions positions = {};
  Index batch_size = 12;  // contexts per forward pass
};

// Computes the values at some points on contexts, as float32 arrays (float64 of a float64
// model) in the order of a pass, maps
// last. Layers above the last requested one are not computed. R is the number of tokens selected by
// options.positions, context after context; B is the number of contexts.
// Arrays have TransformerLens names ("blocks.5.hook_resid_post") and the axes [R, ...] of Point,
// with only the requested heads, neurons or elements. Maps are [H, rows, T], one array a context:
// NAME/0, NAME/1 ... NAME/items, int32, lists the head or feature numbers if they are not 0, 1, 2
// ... Four int32 arrays describe the rows: tokens, positions (in the context), documents and
// document_positions [R]. offsets, int32 [B + 1], holds the first row of each context, then R.
//
// Leaves out points that the model does not compute. Throws Error if no point is given or left; for
// a layer, head or element that the model does not have; for maps of more than kMostMappedContexts
// contexts; if no token is selected; and if free memory is too small for the arrays.
NamedTensors cache_activations(const LanguageModel& model, const ActivationContexts& contexts,
                               const ActivationOptions& options);

}  // namespace headlight
