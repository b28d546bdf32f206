#include "headlight/interpret/scores/head_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/transformed.h"
#include "datasets/fingerprint.h"
#include "interpret/head_comparison.h"
#include "interpret/layer_maps.h"
#include "interpret/scores/repeated_tokens.h"
#include "interpret/scores/score_definitions.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

// A sequence and the bootstrap group of its sums.
struct MeasuredSequence {
  std::vector<std::int32_t> tokens;
  SequenceFacts facts;  // of the tokens, or of their cells
  std::size_t group = 0;
  std::vector<TokenCell> merged = {};    // cells that merge the weights; empty: none
  const SequencePiece* piece = nullptr;  // of the text; null: repeated random tokens
};

// Sums of the scores of one head, [scores] of [groups]; empty for scores of other sources.
using GroupSums = std::vector<std::vector<DocumentSum>>;

using Definitions = std::vector<ScoreDefinition>;

GroupSums empty_sums(const Definitions& definitions, ScoreSource source, std::size_t groups) {
  GroupSums sums;
  for (const ScoreDefinition& definition : definitions) {
    const bool wanted = definition.measure != nullptr && definition.source == source;
    sums.emplace_back(wanted ? groups : 0);
  }
  return sums;
}

void add_scores(const Definitions& definitions, const HeadMap& map, std::size_t group,
                GroupSums& sums) {
  for (std::size_t score = 0; score < sums.size(); ++score) {
    if (!sums[score].empty()) {
      if (definitions[score].needs_causal && !map.facts().causal) {
        continue;
      }
      const DocumentSum sum = definitions[score].measure(map);
      sums[score][group].sum += sum.sum;
      sums[score][group].weight += sum.weight;
    }
  }
}

// Sums of one head over sequences.
struct HeadSums {
  GroupSums scores;
  // Number of queries with their largest weight at each offset; not the first, which sees itself.
  std::vector<double> offsets;

  // Calls visit(number) for all numbers.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (std::vector<DocumentSum>& groups : scores) {
      for (DocumentSum& group : groups) {
        visit(group.sum);
        visit(group.weight);
      }
    }
    std::for_each(offsets.begin(), offsets.end(), visit);
  }
};

// Accumulates scores over maps, in memory that does not depend on their number.
class ScoreSums {
 public:
  struct Options {
    ScoreSource source = ScoreSource::text;  // measure only scores of this source
    std::size_t groups = 1;
    Index longest = 0;  // tokens of a sequence
  };

  ScoreSums(HeadLayout layout, const HeadSet& heads, const Definitions& definitions,
            const Options& options)
      : layout_(std::move(layout)),
        heads_(heads),
        definitions_(definitions),
        options_(options),
        sums_(heads.size()) {
    for (HeadSums& head : sums_) {
      head.scores = empty_sums(definitions, options.source, options.groups);
      head.offsets.resize(static_cast<std::size_t>(options.longest));
    }
  }

  // Adds the weights [H, T, T] float32 of all heads of a layer, for every sequence of a batch.
  void add(Index layer, const std::vector<Tensor>& weights,
           const std::vector<MeasuredSequence>& batch) {
    // One thread handles all sequences of a head, so sums have a fixed order.
    kernels::parallel_for(static_cast<Index>(heads_.size()), 1, [&](Index begin, Index) {
      const auto head = static_cast<std::size_t>(begin);
      if (heads_[head].layer != layer) {
        return;
      }
      const Index index = head_index(heads_[head], layout_);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Index length = weights[i].size(1);
        Tensor own =
            weights[i].strided_view({1, length, length}, {0, length, 1}, index * length * length);
        own = batch[i].merged.empty() ? own : merged_weights(own, batch[i].merged);
        if (batch[i].facts.length() == 0) {
          continue;
        }
        own = batch[i].facts.without_first ? without_first(own) : own;
        add_map(HeadMap(own.data<float>(), batch[i].facts), batch[i].group, sums_[head]);
      }
    });
  }

  // Sums over all processes; each of them has added other sequences.
  void add_across_processes(Processes& processes) {
    std::vector<double> numbers;
    for (HeadSums& head : sums_) {
      head.for_each([&](double& number) { numbers.push_back(number); });
    }
    add_across(processes, numbers);
    auto next = numbers.begin();
    for (HeadSums& head : sums_) {
      head.for_each([&](double& number) { number = *next++; });
    }
  }

  const HeadSums& of(std::size_t head) const { return sums_[head]; }

 private:
  void add_map(const HeadMap& map, std::size_t group, HeadSums& head) const {
    add_scores(definitions_, map, group, head.scores);
    if (options_.source != ScoreSource::text || map.length() < 2 || !map.facts().causal) {
      return;
    }
    for (Index query = 1; query < map.length(); ++query) {
      head.offsets[static_cast<std::size_t>(query - map.top_key(query))] += 1;
    }
  }

  HeadLayout layout_;
  const HeadSet& heads_;
  const Definitions& definitions_;
  Options options_;
  std::vector<HeadSums> sums_;  // [heads]
};

using Sequences = std::vector<std::vector<std::int32_t>>;

constexpr std::size_t kMaxGroups = 1024;  // groups of documents in the bootstrap

// Pairs entirely inside a piece, with positions relative to it.
SequencePairs pairs_within(const SequencePairs& pairs, const SequencePiece& piece) {
  SequencePairs result;
  for (const auto& [relation, all] : pairs) {
    for (const TokenPair& pair : all) {
      if (pair.earlier_begin >= piece.begin && pair.later_end <= piece.begin + piece.length) {
        result[relation].push_back({pair.earlier_begin - piece.begin,
                                    pair.earlier_end - piece.begin, pair.later_begin - piece.begin,
                                    pair.later_end - piece.begin});
      }
    }
  }
  return result;
}

// Scores of a head with uniform attention over all visible tokens.
class EvenScores {
 public:
  EvenScores(const Definitions& definitions, ScoreSource source)
      : definitions_(definitions), sums_(empty_sums(definitions, source, 1)) {}

  void add(const SequenceFacts& facts) {
    const auto length = static_cast<std::size_t>(facts.length());
    std::vector<float> weights(length * length);
    for (std::size_t query = 0; query < length; ++query) {
      const auto row = weights.begin() + static_cast<std::ptrdiff_t>(query * length);
      const std::size_t keys = facts.causal ? query + 1 : length;
      std::fill(row, row + static_cast<std::ptrdiff_t>(keys), 1.0F / static_cast<float>(keys));
    }
    add_scores(definitions_, HeadMap(weights.data(), facts), 0, sums_);
  }

  void keep(ScoredHead& head) const {
    for (std::size_t score = 0; score < sums_.size(); ++score) {
      if (!sums_[score].empty() && sums_[score][0].weight > 0) {
        head.scores[score].even = sums_[score][0].sum / sums_[score][0].weight;
      }
    }
  }

 private:
  const Definitions& definitions_;
  GroupSums sums_;
};

class HeadScoring {
 public:
  // Measures the scores of the weights of `gpt`, which is the model or null.
  HeadScoring(const LanguageModel& model, const Gpt* gpt, const Sequences& sequences,
              const HeadScoreOptions& options)
      : model_(model),
        gpt_(gpt),
        sequences_(sequences),
        options_(options),
        processes_(options.processes == nullptr ? alone() : *options.processes),
        layout_(heads_of(model)),
        causal_(model.is_causal()),
        heads_(options.heads.or_all(layout_)),
        definitions_(definitions_with(options.annotations)),
        pieces_(cut_sequences(sequences, model.block_size(), options.max_tokens)) {
    for (const SequencePiece& piece : pieces_) {
      tokens_ += piece.length;
    }
    require(tokens_ > 0, "[score_heads] expected at least one token, got none");
    if (options.redundancy && processes_.leads()) {
      comparison_.emplace(model, pieces_, *options.redundancy);
    }
  }

  HeadScores run() {
    HeadScores result{.heads = {},
                      .list = transformed(definitions_, &ScoreDefinition::info),
                      .sequences = static_cast<Index>(pieces_.size()),
                      .tokens = tokens_};
    for (const HeadId& head : heads_) {
      result.heads.emplace_back().head = head;
      result.heads.back().scores.resize(definitions_.size());
    }
    measure_text(result);
    if (comparison_ && comparison_->queries() > 0) {
      comparison_->run(model_, sequences_);  // what measure() did not add
      result.distances = comparison_->finished();
    }
    result.causal = causal_;
    if (causal_) {
      measure_repeats(result);
    }
    if (gpt_ != nullptr && causal_ && options_.weight_scores) {
      measure_weights(*gpt_, result);
    }
    for (ScoredHead& head : result.heads) {
      head.verdict = judge_head(head);
    }
    if (options_.fingerprint) {
      result.model_fingerprint = fingerprint(model_);
    }
    return result;
  }

 private:
  void measure_text(HeadScores& result) {
    const std::size_t units = sequences_.size() > 1 ? sequences_.size() : pieces_.size();
    Index longest = 0;
    for (const SequencePiece& piece : pieces_) {
      longest = std::max(longest, piece.length);
    }
    ScoreSums sums(
        layout_, heads_, definitions_,
        {.source = ScoreSource::text, .groups = std::min(units, kMaxGroups), .longest = longest});
    EvenScores even(definitions_, ScoreSource::text);
    const auto end_of = [&](std::size_t begin) { return batch_end(begin); };
    measure(sums, pieces_.size(), end_of, result, [&](std::size_t i) {
      const std::size_t unit = sequences_.size() > 1 ? pieces_[i].sequence : i;
      const auto begin = sequences_[pieces_[i].sequence].begin() + pieces_[i].begin;
      MeasuredSequence sequence{.tokens = {begin, begin + pieces_[i].length},
                                .facts = {},
                                .group = unit % kMaxGroups,
                                .piece = &pieces_[i]};
      sequence.facts = facts_of(sequence.tokens, pieces_[i]);
      sequence.merged = sequence.facts.merged ? sequence.facts.cells : std::vector<TokenCell>();
      if (options_.exclude_first_token) {
        sequence.facts = without_first(sequence.facts);
      }
      even.add(sequence.facts);
      lengths_.push_back(sequence.facts.length());
      return sequence;
    });
    keep_offsets(sums, result);
    for (ScoredHead& head : result.heads) {
      even.keep(head);
    }
  }

  // Adds the sequences 0 to `count` - 1 to the sums and keeps their means. A batch ends before
  // sequence end_of(its first sequence). Processes take turns in running batches.
  template <class EndOf, class SequenceAt>
  void measure(ScoreSums& sums, std::size_t count, const EndOf& end_of, HeadScores& result,
               const SequenceAt& sequence_at) {
    Index number = 0;  // of the batch
    for (std::size_t begin = 0; begin < count; ++number) {
      const std::size_t end = end_of(begin);
      std::vector<MeasuredSequence> batch;
      Sequences tokens;
      for (; begin < end; ++begin) {
        batch.push_back(sequence_at(begin));
        tokens.push_back(batch.back().tokens);
        done_ += std::ssize(tokens.back());
      }
      if (number % processes_.count() == processes_.rank()) {
        visit_layer_maps(model_, tokens, [&](Index layer, const std::vector<Tensor>& weights) {
          sums.add(layer, weights, batch);
          // Later tokens change a bidirectional model's weights on the first ones.
          for (std::size_t i = 0; comparison_ && causal_ && i < batch.size(); ++i) {
            if (batch[i].piece != nullptr) {
              comparison_->add(*batch[i].piece, layer, weights[i]);
            }
          }
        });
      }
      report_progress();
    }
    sums.add_across_processes(processes_);
    keep_means(sums, result);
  }

  // End of the batch that starts at piece `begin`. It has at most batch_size pieces, and one
  // layer's weights stay below 96 MiB unless a single piece exceeds that.
  std::size_t batch_end(std::size_t begin) const {
    constexpr Index kMaxWeights = Index{24} << 20;  // of 4 bytes
    Index heads = 1;                                // in a layer
    for (const std::vector<Index>& numbers : layout_.numbers) {
      heads = std::max(heads, std::ssize(numbers));
    }
    Index weights = 0;
    std::size_t end = begin;
    while (end < pieces_.size() && end - begin < static_cast<std::size_t>(options_.batch_size)) {
      weights += heads * pieces_[end].length * pieces_[end].length;
      if (end > begin && weights > kMaxWeights) {
        break;
      }
      ++end;
    }
    return end;
  }

  SequenceFacts facts_of(const std::vector<std::int32_t>& tokens,
                         const SequencePiece& piece) const {
    SequencePairs pairs;
    if (!options_.annotations.empty()) {
      pairs = pairs_within(options_.annotations[piece.sequence], piece);
    }
    std::vector<TokenCell> cells;
    if (options_.tokenizer != nullptr) {
      cells = token_cells(*options_.tokenizer, tokens, options_.unit);
    }
    SequenceFacts facts;
    if (options_.unit != TextUnit::token) {
      facts = cell_facts(std::move(cells), pairs);
    } else {
      facts = sequence_facts(tokens);
      facts.pairs = std::move(pairs);
      facts.cells = std::move(cells);
    }
    facts.causal = causal_;
    return facts;
  }

  void report_progress() const {
    const Index all =
        tokens_ + options_.repeats.sequences * repeat_tokens(options_.repeats, model_.block_size());
    options_.progress(static_cast<double>(done_) / static_cast<double>(all));
  }

  void measure_repeats(HeadScores& result) {
    const RepeatOptions& repeats = options_.repeats;
    const Index length = repeat_length(repeats, model_.block_size());
    if (repeats.sequences == 0 || length < 1) {
      return;
    }
    ScoreSums sums(layout_, heads_, definitions_,
                   {.source = ScoreSource::repeats,
                    .groups = static_cast<std::size_t>(repeats.sequences),
                    .longest = repeat_tokens(repeats, model_.block_size())});
    EvenScores even(definitions_, ScoreSource::repeats);
    const auto count = static_cast<std::size_t>(repeats.sequences);
    const auto end_of = [&](std::size_t begin) {
      return std::min(begin + static_cast<std::size_t>(options_.batch_size), count);
    };
    measure(sums, count, end_of, result, [&](std::size_t i) {
      RepeatedTokens sequence =
          repeated_tokens(repeats, model_.vocab_size(), length, static_cast<Index>(i));
      SequenceFacts facts = sequence_facts(sequence.tokens);
      facts.repeat_begin = sequence.repeat_begin;
      if (options_.exclude_first_token) {
        facts = without_first(facts);
      }
      even.add(facts);
      return MeasuredSequence{
          .tokens = std::move(sequence.tokens), .facts = std::move(facts), .group = i};
    });
    for (ScoredHead& head : result.heads) {
      even.keep(head);
    }
  }

  // Stores the means of all summed scores, with intervals from the same draws.
  void keep_means(const ScoreSums& sums, HeadScores& result) const {
    std::vector<std::vector<DocumentSum>> measures;
    std::vector<ScoreValue*> values;
    const bool resampled = options_.bootstrap.resamples > 0;
    for (std::size_t head = 0; head < heads_.size(); ++head) {
      for (std::size_t score = 0; score < definitions_.size(); ++score) {
        double count = 0;
        Index groups = 0;  // that have a query
        for (const DocumentSum& group : sums.of(head).scores[score]) {
          count += group.weight;
          groups += group.weight > 0 ? 1 : 0;
        }
        if (count > 0) {
          measures.push_back(sums.of(head).scores[score]);
          values.push_back(&result.heads[head].scores[score]);
          values.back()->count = count;
          values.back()->has_interval = resampled && groups > 1;
          values.back()->documents = groups;
        }
      }
    }
    const std::vector<Interval> means =
        bootstrap_means(measures, options_.bootstrap, [this] { report_progress(); });
    for (std::size_t i = 0; i < means.size(); ++i) {
      require(std::isfinite(means[i].mean),
              "[score_heads] the model gives attention weights that are not numbers");
      values[i]->value = means[i];
    }
  }

  void keep_offsets(const ScoreSums& sums, HeadScores& result) const {
    const std::size_t offsets = sums.of(0).offsets.size();
    std::vector<double> queries(offsets);  // queries that have a token at each offset
    std::vector<double> even(offsets);     // of them, with the largest weight there by chance
    std::vector<double> harmonic(offsets + 1);
    for (std::size_t i = 1; i <= offsets; ++i) {
      harmonic[i] = harmonic[i - 1] + 1 / static_cast<double>(i);
    }
    for (const Index length : lengths_) {
      for (Index offset = 0; offset < length; ++offset) {
        const auto first = static_cast<std::size_t>(std::max<Index>(offset, 1));  // query
        const auto end = static_cast<std::size_t>(length);
        queries[static_cast<std::size_t>(offset)] += static_cast<double>(end - first);
        even[static_cast<std::size_t>(offset)] += harmonic[end] - harmonic[first];
      }
    }
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      ScoredHead& head = result.heads[i];
      const HeadSums& own = sums.of(i);
      for (std::size_t offset = 0; offset < offsets; ++offset) {
        head.offset_share.push_back(queries[offset] > 0 ? own.offsets[offset] / queries[offset]
                                                        : 0);
      }
      head.best_offset =
          std::max_element(own.offsets.begin(), own.offsets.end()) - own.offsets.begin();
      const auto best = static_cast<std::size_t>(head.best_offset);
      const double share = head.offset_share[best];
      head.scores[score_index("offset_share")] = {
          .value = {share, share, share},
          .count = causal_ ? queries[best] : 0,
          .even = queries[best] > 0 ? even[best] / queries[best] : 0};
    }
  }

  void measure_weights(const Gpt& model, HeadScores& result) const {
    std::optional<WeightScores> measured;
    std::optional<WeightScores>& kept = options_.known_weights ? *options_.known_weights : measured;
    if (!kept) {
      kept = weight_scores(model, [this] { report_progress(); });
    }
    result.weights = kept;
    const WeightScores& weights = *result.weights;
    const std::size_t count = weights.heads.size();
    for (ScoredHead& head : result.heads) {
      const auto own = static_cast<std::size_t>(
          std::lower_bound(weights.heads.begin(), weights.heads.end(), head.head) -
          weights.heads.begin());
      const double copying = weights.copying[own];
      head.scores[score_index("copying")] = {{copying, copying, copying}, 1, false};
      for (std::size_t i = 0; i < count && weights.heads[i].layer < head.head.layer; ++i) {
        ScoreValue& best = head.scores[score_index("k_composition")];
        const double value = weights.k_composition[i * count + own];
        if (!best.measured() || value > best.value.mean) {
          best = {{value, value, value}, 1, false};
          head.k_source = weights.heads[i];
        }
      }
    }
  }

  const LanguageModel& model_;
  const Gpt* gpt_;
  const Sequences& sequences_;
  const HeadScoreOptions& options_;
  Processes& processes_;
  HeadLayout layout_;
  bool causal_;
  HeadSet heads_;
  Definitions definitions_;
  std::vector<SequencePiece> pieces_;
  std::optional<HeadComparison> comparison_;
  std::vector<Index> lengths_;  // positions of each piece measured so far
  Index tokens_ = 0;
  Index done_ = 0;  // tokens measured so far, including repeated sequences
};

HeadScores scored(const LanguageModel& model, const Gpt* gpt, const Sequences& sequences,
                  const HeadScoreOptions& options) {
  require_value(options.batch_size >= 1, "batch_size", "expected at least 1, got ",
                options.batch_size);
  require_value(options.max_tokens >= 0, "max_tokens", "expected a number from 0, got ",
                options.max_tokens);
  require_value(options.repeats.sequences >= 0 && options.repeats.length >= 1, "repeats",
                "expected sequences from 0 and a length from 1, got ", options.repeats.sequences,
                " and ", options.repeats.length);
  require(options.annotations.empty() || options.annotations.size() == sequences.size(),
          "[score_heads] expected annotations of ", sequences.size(), " sequences, got ",
          options.annotations.size());
  require(options.unit == TextUnit::token || options.tokenizer != nullptr, "[score_heads] unit ",
          name_of(options.unit), " needs a tokenizer");
  return HeadScoring(model, gpt, sequences, options).run();
}

}  // namespace

HeadScores score_heads(const LanguageModel& model, const Sequences& sequences,
                       const HeadScoreOptions& options) {
  return scored(model, nullptr, sequences, options);
}

HeadScores score_heads(const Gpt& model, const Sequences& sequences,
                       const HeadScoreOptions& options) {
  return scored(model, &model, sequences, options);
}

}  // namespace headlight
