#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/distributed/processes.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/head_set.h"
#include "headlight/interpret/redundancy.h"
#include "headlight/interpret/scores/head_annotations.h"
#include "headlight/interpret/scores/head_verdict.h"
#include "headlight/interpret/scores/weight_scores.h"
#include "headlight/interpret/token_cells.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// Description of one score.
struct ScoreInfo {
  std::string name;        // "previous_token"
  std::string title;       // "prev", for headings
  std::string_view group;  // positional, content, structure, shape or own
  std::string meaning;     // one line
  double low = 0;          // range; equal to `high`: no upper end
  double high = 1;
  bool is_default = false;  // shown in tables by default
};

// All scores that do not depend on annotations' names, in the order of ScoredHead::scores.
const std::vector<ScoreInfo>& score_list();
// score_list() and two scores, NAME and NAME_ahead, for every relation of the annotations that it
// lacks. Throws Error for a relation with the name of another score.
std::vector<ScoreInfo> score_list_with(const std::vector<SequencePairs>& annotations);
// Index in score_list(). Throws Error for unknown names, suggesting the nearest.
std::size_t score_index(std::string_view name);

struct ScoreValue {
  Interval value;
  double count = 0;  // queries in the mean; 0: not measured, and the value is 0
  bool has_interval = false;
  Index documents = 0;  // documents (or groups of them) with such a query; see score_heads()
  // Score of a head with uniform attention; of offset_share, if the largest of equal weights is
  // drawn at random. NaN for scores of weight matrices.
  double even = std::numeric_limits<double>::quiet_NaN();

  bool measured() const { return count > 0; }
};

struct ScoredHead {
  HeadId head;
  std::vector<ScoreValue> scores;    // in the order of HeadScores::list
  Index best_offset = 0;             // for offset_share: distance in tokens
  std::optional<HeadId> k_source;    // for k_composition: the earlier head
  std::vector<double> offset_share;  // [offsets] share of the queries with that offset
  Verdict verdict;

  const ScoreValue& score(std::string_view name) const { return scores[score_index(name)]; }
};

// Random tokens repeated once: only induction predicts the second copy.
struct RepeatOptions {
  Index sequences = 16;                    // 0: skip the scores that need repeats
  Index length = 64;                       // of one copy, at most half a block
  std::vector<std::int32_t> tokens = {};   // to draw from; empty: the whole vocabulary
  std::optional<std::int32_t> first = {};  // begin token before the first copy
  std::uint64_t seed = 1337;
};

// Options for repeats of text tokens, without special tokens such as <|endoftext|>, for a model
// with `vocab_size` tokens. `first` is the tokenizer's begin token, if any.
RepeatOptions repeats_of_text(const Tokenizer& tokenizer, Index vocab_size);

// Returns these random tokens as sequences, [sequences] of [T], to score heads without a text.
// Throws Error for no sequences, and for a context too short for two copies of a token.
std::vector<std::vector<std::int32_t>> repeated_sequences(const RepeatOptions& repeats,
                                                          const GptConfig& config);

struct HeadScoreOptions {
  HeadSet heads = {};  // empty: all
  Index batch_size = 12;
  Index max_tokens = 0;  // cut sequences to their first tokens; 0: no limit
  RepeatOptions repeats = {};
  bool weight_scores = true;  // of a Gpt: copying and k_composition
  // Weight scores of the model, or empty until they are measured: kept for later calls.
  std::optional<WeightScores>* known_weights = nullptr;
  std::vector<SequencePairs> annotations = {};  // one entry a sequence; empty: none
  // Tokenizer of the sequences, for the scores of punctuation, separators and special tokens, which
  // are not measured without it. Units other than tokens need it.
  const Tokenizer* tokenizer = nullptr;
  // Positions of the scores on the text: tokens, or the characters or words of token_cells().
  // Repeated random tokens stay tokens.
  TextUnit unit = TextUnit::token;
  // Measures attention without the first token (or cell): leaves out its query and its weights, and
  // divides the other weights of each query by their sum. first_token is not measured then. Many
  // heads rest on the first token, which hides their other functions.
  bool exclude_first_token = false;
  BootstrapOptions bootstrap = {};  // resamples 0: no intervals
  // Also compare the heads on the text. Their weights on it are computed once.
  std::optional<RedundancyOptions> redundancy = {};
  bool fingerprint = false;  // compute HeadScores::model_fingerprint
  // Called with the finished share after every batch, and repeatedly during work outside batches.
  std::function<void(double share)> progress = [](double) {};
  // Processes that share the batches: every process calls score_heads() and gets the whole result.
  // The last digits differ from a single process, because sums have another order.
  Processes* processes = nullptr;
};

struct HeadScores {
  std::vector<ScoredHead> heads;  // sorted by HeadId
  std::vector<ScoreInfo> list;    // the scores of each head
  Index sequences = 0;            // after cutting at the context length
  Index tokens = 0;
  // False for a bidirectional model: scores that need a causal mask, offsets and weight scores
  // are then not measured.
  bool causal = true;
  std::optional<WeightScores> weights = {};  // of all heads of the model, if requested
  // Between all scored heads, if requested, and if a sequence has two tokens or more. Empty on all
  // processes but the leading one.
  std::optional<HeadDistances> distances = {};
  // XXH3-128 of the model's weights in 32 hexadecimal digits. Empty: not requested.
  std::string model_fingerprint = {};
};

// Scores every head. A score of attention weights is a mean over the queries for which its pattern
// exists (the first token has no previous one). A head with only this pattern scores 1. Intervals
// are over documents, in at most 1024 groups, or over the pieces of a single document. Memory does
// not grow with the number of tokens. Results do not depend on the number of threads.
//
// Sequences are token ids; sequences longer than the context are cut. Throws Error for no tokens,
// for heads or tokens that the model does not have, for annotations of another number of sequences,
// and for a model whose attention weights are not finite.
HeadScores score_heads(const LanguageModel& model,
                       const std::vector<std::vector<std::int32_t>>& sequences,
                       const HeadScoreOptions& options = {});
// Also measures weight scores, unless options.weight_scores is false.
HeadScores score_heads(const Gpt& model, const std::vector<std::vector<std::int32_t>>& sequences,
                       const HeadScoreOptions& options = {});

}  // namespace headlight
