#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/interpret/attention_maps.h"
#include "headlight/interpret/head_set.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/interpret/token_cells.h"
#include "headlight/nn/language_model.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

struct RecordAttentionOptions {
  HeadSet heads = {};    // heads to record; empty: all
  bool vectors = false;  // record queries and keys as well; needs unit = token
  // Multiply each weight by the norm of the vector that it carries, v W_O of the key's token, and
  // divide by the head's largest norm in the document (Kobayashi et al., arXiv 2004.10102). Rows
  // then sum to 1 at most. Needs vectors = false.
  bool value_weighted = false;
  TextUnit unit = TextUnit::token;   // a cell of the maps covers a token, character or word
  Index max_tokens = 0;              // cut documents to their first tokens; 0: no limit
  Index max_bytes = Index{4} << 30;  // limit for all maps together
  // Called after each layer with the share of the pass, up to 1.
  std::function<void(double share)> progress = {};
  // Called with the final hidden states of the pass, [N, F].
  std::function<void(const Tensor& hidden)> take_hidden = {};
  RecordedPasses* kept = nullptr;  // keeps the pass, if it can be kept
};

// One document as read by the model.
struct RecordedDocument {
  std::vector<std::int32_t> ids;  // of the tokens
  std::vector<TokenCell> cells;   // [T], see token_cells(); without units, one for each token
  std::string text;

  std::vector<std::string> labels() const;  // [T] of the cells
};

// Recorded heads of one layer over a batch of documents.
struct RecordedLayer {
  Index layer = 0;
  std::vector<Index> heads;  // ascending, one per row of axis 1
  Tensor weights;            // [B, H, T, T] float32; 0 at padding
  // [B, T, H, D] float32, 0 at padding: TransformerLens' hook_rot_q and hook_rot_k, or hook_q and
  // hook_k in a model that neither rotates nor normalises them. keys[..., h, :] are the keys of
  // query head h. Undefined unless `vectors` is set.
  Tensor queries = {};
  Tensor keys = {};
  double scale = 0;      // score = scale * query . key, then capped
  double cap = 0;        // soft cap of the scores; 0: none
  Index window = 0;      // keys visible to a query, its own included; 0: all
  bool rotated = false;  // `queries` and `keys` are rot_q and rot_k
};

struct RecordedAttention {
  std::vector<RecordedDocument> documents;  // [B]
  std::vector<RecordedLayer> layers;        // ascending
  TextUnit unit = TextUnit::token;
  bool value_weighted = false;

  Index longest() const;      // T: cells of the longest document
  Index token_count() const;  // N: tokens of all documents
  Index head_count() const;   // in all layers
  // Maps of one document, without padding.
  AttentionMaps maps(Index document, std::string title = "") const;
  // A variant for readers: tokens that cut a character share a cell, as with TextUnit::character.
  // Maps with queries and keys, or of other units, stay as they are.
  AttentionMaps whole_maps(Index document, const Tokenizer& tokenizer,
                           std::string title = "") const;
};

// Runs the model once over the documents and records its attention weights. weights[query][key] of
// a head sum to 1 over the keys; future keys have exactly 0. Documents are encoded by
// Tokenizer::encode_prompt. With `unit`, T counts cells of token_cells(), and weights are merged as
// merged_weights() does.
//
// Throws Error for no documents; for a document that is empty, not UTF-8 or longer than the model's
// context; for heads that do not exist; for maps larger than max_bytes; and for weights that are
// not numbers; and, with value_weighted, for models without attention().
RecordedAttention record_attention_batch(const LanguageModel& model, const Tokenizer& tokenizer,
                                         const std::vector<std::string>& documents,
                                         const RecordAttentionOptions& options = {});

// Records documents given as token ids. Adds no begin token.
RecordedAttention record_attention_of_ids(const LanguageModel& model, const Tokenizer& tokenizer,
                                          const std::vector<std::vector<std::int32_t>>& documents,
                                          const RecordAttentionOptions& options = {});

// Records one text, ready for attention_svg() and attention_html().
AttentionMaps record_attention(const LanguageModel& model, const Tokenizer& tokenizer,
                               std::string_view text, const RecordAttentionOptions& options = {});

}  // namespace headlight
