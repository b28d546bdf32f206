#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/attention_maps.h"
#include "headlight/heads/head_set.h"
#include "headlight/nn/language_model.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

struct RecordAttentionOptions {
  HeadSet heads = {};                // to record; empty: all
  bool vectors = false;              // keep queries and keys as well
  Index max_tokens = 0;              // cut documents to their first tokens; 0: do not
  Index max_bytes = Index{4} << 30;  // of all maps together
};

// One document as the model read it.
struct RecordedDocument {
  std::vector<std::int32_t> ids;    // [T]
  std::vector<std::string> tokens;  // [T], see Tokenizer::token_label
  std::string text;
};

// One layer's chosen heads over a batch of documents.
struct RecordedLayer {
  Index layer = 0;
  std::vector<Index> heads;  // ascending, one per row of axis 1
  Tensor weights;            // [B, H, T, T] float32; rows and columns of pads are 0
  // [B, T, H, D] float32, pads are 0: the axes of TransformerLens' hook_rot_q and hook_rot_k, or
  // of hook_q and hook_k in a model that neither rotates nor normalises them. keys[..., h, :] are
  // the keys that query head h reads. Undefined unless `vectors` was set.
  Tensor queries = {};
  Tensor keys = {};
  double scale = 0;      // score = scale * query . key
  Index window = 0;      // keys that a query sees at most, its own included; 0: all
  bool rotated = false;  // `queries` and `keys` are rot_q and rot_k
};

struct RecordedAttention {
  std::vector<RecordedDocument> documents;  // [B]
  std::vector<RecordedLayer> layers;        // ascending

  Index longest() const;      // T: tokens of the longest document
  Index token_count() const;  // N: tokens of all documents
  Index head_count() const;   // of all layers together
  // The maps of one document, without pads.
  AttentionMaps maps(Index document, std::string title = "") const;
};

// Runs the model once over the documents and keeps the attention weights that it computes with:
// weights[query][key] of a head sum to 1 over the keys, and a key in the future has exactly 0.
// Documents are encoded by Tokenizer::encode_prompt.
//
// Throws Error when there is no document, one is empty, not UTF-8 or longer than the model's block,
// a head does not exist, the maps would take more than max_bytes, or the model gives
// weights that are not numbers.
RecordedAttention record_attention_batch(const LanguageModel& model, const Tokenizer& tokenizer,
                                         const std::vector<std::string>& documents,
                                         const RecordAttentionOptions& options = {});

// Records documents of ids. No begin token is added.
RecordedAttention record_attention_of_ids(const LanguageModel& model, const Tokenizer& tokenizer,
                                          const std::vector<std::vector<std::int32_t>>& documents,
                                          const RecordAttentionOptions& options = {});

// The same for one text, ready for attention_svg() and attention_html().
AttentionMaps record_attention(const LanguageModel& model, const Tokenizer& tokenizer,
                               std::string_view text, const RecordAttentionOptions& options = {});

}  // namespace headlight
