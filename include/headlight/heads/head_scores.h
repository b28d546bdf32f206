#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/cluster/processes.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/heads/head_annotations.h"
#include "headlight/heads/head_set.h"
#include "headlight/heads/head_verdict.h"
#include "headlight/heads/weight_scores.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// One number that tells something about a head.
struct ScoreInfo {
  std::string_view name;     // "previous_token"
  std::string_view title;    // "prev", for headings
  std::string_view group;    // positional, content, structure or shape
  std::string_view meaning;  // one line
  double low = 0;            // its range; equal to `high`: no upper end
  double high = 1;
  bool usual = false;  // worth a column when none are chosen
  std::string_view korean_title = {};
};

// Every score there is, in the order of ScoredHead::scores.
const std::vector<ScoreInfo>& score_list();
// Place in that list. Throws Error naming the nearest score for a name that is not in it.
std::size_t score_index(std::string_view name);

struct ScoreValue {
  Interval value;
  double count = 0;  // queries that it is the mean over; 0: not measured, the value is 0
  bool has_interval = false;
  Index documents = 0;  // that have such a query, or groups of them; see score_heads()
  // What a head would have that gives all tokens it can see the same weight; NaN: not known. Only
  // of scores of weights on the text.
  double even = std::numeric_limits<double>::quiet_NaN();

  bool measured() const { return count > 0; }
};

// What TransformerLens's head_detector gives: https://github.com/TransformerLensOrg/TransformerLens
// (transformer_lens/head_detector.py), mean over sequences of two tokens or more.
struct DetectorScores {
  double previous_token_head = 0;
  double duplicate_token_head = 0;
  double induction_head = 0;
};

struct ScoredHead {
  HeadId head;
  std::vector<ScoreValue> scores;    // as score_list()
  Index best_offset = 0;             // of offset_share: so many tokens back
  std::optional<HeadId> k_source;    // of k_composition: the earlier head
  std::vector<double> offset_share;  // [offsets] share of queries, among those with that offset
  DetectorScores mul;
  DetectorScores abs;
  Verdict verdict;

  const ScoreValue& score(std::string_view name) const { return scores[score_index(name)]; }
};

// Random tokens, followed by the same tokens again: where only induction can help.
struct RepeatOptions {
  Index sequences = 16;                    // 0: leave out what needs them
  Index length = 64;                       // of one copy, at most half a block
  std::vector<std::int32_t> tokens = {};   // to draw from; empty: the whole vocabulary
  std::optional<std::int32_t> first = {};  // stands before the first copy
  std::uint64_t seed = 1337;
};

// Repeats of what texts are made of, not of <|endoftext|> and its like, of a model with
// `vocab_size` tokens; with what the tokenizer puts in front of every text.
RepeatOptions repeats_of_text(const Tokenizer& tokenizer, Index vocab_size);

// Those random tokens as sequences of their own, [sequences] of [T], to score heads on where there
// is no text. Throws Error for no sequence and for a block without room for two copies of a token.
std::vector<std::vector<std::int32_t>> repeated_sequences(const RepeatOptions& repeats,
                                                          const GptConfig& config);

struct HeadScoreOptions {
  HeadSet heads = {};  // empty: all
  Index batch_size = 12;
  Index max_tokens = 0;  // cut sequences to their first tokens; 0: do not
  RepeatOptions repeats = {};
  bool weight_scores = true;                     // copying and k_composition, of a Gpt
  std::vector<SequencePairs> annotations = {};   // of every sequence; empty: none
  bool exclude_bos = false;                      // DetectorScores: not the first key
  bool exclude_current_token = false;            // DetectorScores: not the query itself
  BootstrapOptions bootstrap = {};               // resamples 0: no intervals
  bool fingerprint = false;                      // HeadScores::model_fingerprint, of all weights
  // Called with what is done after every batch, and with the same amid what takes no batch.
  std::function<void(double share)> progress{};
  // That share the batches: all call it, and all get its result, which differs in the last digits
  // from that of one process, where sums have another order.
  Processes* processes = nullptr;
};

struct HeadScores {
  std::vector<ScoredHead> heads;  // in the order of HeadId
  Index sequences = 0;            // as the model saw them: cut where longer than the block
  Index tokens = 0;
  std::optional<WeightScores> weights = {};  // of all heads of the model, if asked for
  // XXH3-128 of the model's weights in 32 hexadecimal digits: tells whose scores these are. Empty:
  // not asked for.
  std::string model_fingerprint = {};
};

// Scores what every head does. Scores of attention weights are means over the queries for which
// their pattern exists (the first token has no previous one), so that a head that does nothing else
// has 1. Intervals are of documents, dealt out to at most 1024 groups; of a single document, of the
// pieces that it is cut into. Memory does not grow with the number of tokens; nothing depends on
// the number of threads.
//
// Sequences are token ids; one that is longer than the block is cut. Throws Error when there is no
// token, for heads or tokens that the model does not have, annotations for another number of
// sequences, and a model whose weights give no numbers.
HeadScores score_heads(const LanguageModel& model,
                       const std::vector<std::vector<std::int32_t>>& sequences,
                       const HeadScoreOptions& options = {});

}  // namespace headlight
