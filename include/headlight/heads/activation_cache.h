#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/data/sequence_pieces.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/point.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Which tokens of a context have rows.
struct TokenPositions {
  bool last = false;       // the last one alone
  NumberRange range = {};  // else those at these places of the context

  // Of a context of so many tokens, rising.
  std::vector<Index> of(Index length) const;
};

// "all", "last", or what parse_range takes. Throws Error about `about` for other text.
TokenPositions parse_positions(std::string_view about, std::string_view text);

// Tokens that a model reads at once, and where they stand.
struct ActivationContext {
  std::vector<std::int32_t> tokens;
  Index document = 0;  // number of the text, or of the sequence in its dataset
  Index begin = 0;     // place of the first token in it
};

// The contexts of a cache, in order.
class ActivationContexts {
 public:
  // Texts, each of them whole, as Tokenizer::encode_prompt has them. Throws Error when there is
  // none, or one has no token or more than `block_size`.
  ActivationContexts(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                     Index block_size);
  // Contexts of ids. No begin token is added.
  ActivationContexts(std::vector<std::vector<std::int32_t>> texts, Index block_size);
  // What evaluate() reads of a dataset: every token but the last of a sequence, which has nothing
  // to predict, in contexts of at most `block_size`. The dataset must outlive the contexts.
  // Throws Error as SequencePieces does.
  ActivationContexts(const TokenDataset& dataset, Index block_size);
  ActivationContexts(TokenDataset&& dataset, Index block_size) = delete;

  Index count() const;
  Index length(Index index) const;  // tokens
  ActivationContext context(Index index) const;

 private:
  std::vector<std::vector<std::int32_t>> texts_;
  std::optional<SequencePieces> pieces_;  // none: the texts
};

// Contexts whose maps (attn_scores, pattern) a cache may hold: each is an array of its own.
inline constexpr Index kMostMappedContexts = 64;

struct ActivationOptions {
  std::vector<PointRange> points;  // in any order; what is named twice comes once
  TokenPositions positions = {};
  Index batch_size = 12;  // contexts computed at once
};

// What a model computes at some points on contexts, as float32, in the order of a pass with maps
// behind the others; layers above the last that is wanted are not computed. R are the tokens that
// options.positions keeps, context after context, B the contexts. An array has the name that
// TransformerLens gives its point, "blocks.5.hook_resid_post", and the axes [R, ...] of Point with
// only the heads, neurons or elements that were asked for. Maps are [H, rows, T], one array a
// context: NAME/0, NAME/1 ... NAME/items, int32, are the numbers along the axis of heads or
// features where these are not 0, 1, 2 ... And int32 of every row: tokens, positions (in its
// context), documents and document_positions [R]; offsets [B + 1], the row at which each context
// begins, and R.
//
// Points that the model does not compute are left out. Throws Error when no point is given or left;
// for a layer, head or element that the model does not have; for maps of more than
// kMostMappedContexts contexts; when no token stands at the positions; and when the memory that is
// free does not hold the arrays.
NamedTensors cache_activations(const LanguageModel& model, const ActivationContexts& contexts,
                               const ActivationOptions& options);

}  // namespace headlight
