#include "headlight/interpret/lens/lens.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "interpret/effects/forward_replay.h"
#include "interpret/effects/frozen_norm.h"
#include "interpret/point_values.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

// A row of the results and the point that it reads; no point: the model's output.
struct Source {
  LensLabel label;
  std::optional<HookSite> point;
};

bool is_part(Point point) { return point == Point::attn_out || point == Point::mlp_out; }

void check_point(const GptConfig& config, Point point) {
  if (std::find(kLensPoints.begin(), kLensPoints.end(), point) == kLensPoints.end()) {
    fail_choice("point", kLensPointNames, name_of(point));
  }
  require_value(point != Point::mlp_out || config.mlp, "point",
                "cannot be mlp_out: the layers of this model have no MLP");
  require_value(!is_part(point) || !config.masked_head, "point",
                "expected resid_pre, resid_mid or resid_post: the head for masked tokens is not "
                "linear, so contributions to the stream have no logits of their own");
  require_value(point != Point::resid_mid || !config.parallel_residual, "point",
                "cannot be resid_mid: attention and MLP of this model's layers read the "
                "same stream, and there is no point between them");
}

void check_tuned(const GptConfig& config, const LensView& view) {
  require_value(view.point == Point::resid_pre || view.point == Point::resid_post, "point",
                "expected resid_pre or resid_post: the tuned lens reads the input of layers, got ",
                name_of(view.point));
  const auto& translators = view.tuned->translators;
  require_value(std::ssize(translators) == config.n_layer &&
                    translators.front().weight.size(0) == config.n_embd,
                "tuned", "expected a tuned lens of ", config.n_layer, " layers of width ",
                config.n_embd, ", got ", translators.size(), " layers of width ",
                translators.empty() ? 0 : translators.front().weight.size(0));
}

// The numbers from 0 to `count` - 1 that are in a range, as [begin, end).
std::pair<Index, Index> bounds_of(const char* name, const NumberRange& range, Index count) {
  const Index last = range.last.value_or(count - 1);
  require_value(range.first >= 0 && range.first <= last && last < count, name, "expected 0 to ",
                count - 1, ", got ", range.first, " to ", last);
  return {range.first, last + 1};
}

std::vector<Source> sources_of(const GptConfig& config, const LensView& view) {
  config.require_head();
  require(config.has_final_norm() || config.masked_head,
          "the lens needs a model without norm = post: such models have no final norm to read the "
          "layers with");
  check_point(config, view.point);
  if (view.tuned != nullptr) {
    check_tuned(config, view);
  }
  const auto [first, end] = bounds_of("layers", view.layers, config.n_layer);
  std::vector<Source> sources;
  if (first == 0 && view.point != Point::resid_pre) {
    sources.push_back({{-1, "embed"}, HookSite{.point = Point::resid_pre, .layer = 0}});
  }
  const bool ends_with_output = view.point == Point::resid_post && end == config.n_layer;
  for (Index layer = first; layer < end; ++layer) {
    const bool is_output = ends_with_output && layer + 1 == end;
    const HookSite site{.point = view.point, .layer = layer};
    sources.push_back(
        {{layer, std::to_string(layer)}, is_output ? std::nullopt : std::optional(site)});
  }
  if (!ends_with_output) {
    sources.push_back({{config.n_layer, "final"}, std::nullopt});
  }
  return sources;
}

// Distribution of row `row` of logits [n, V].
TokenDistribution distribution(const Tensor& logits, Index row) {
  const Index vocabulary = logits.size(1);
  return TokenDistribution(
      {logits.data<float>() + row * vocabulary, static_cast<std::size_t>(vocabulary)});
}

// The model's own prediction at one position.
struct Expectation {
  TokenDistribution distribution;
  std::vector<double> probabilities;  // [V]
  double entropy;                     // summed like the readings' cross-entropy
};

void require_number(double entropy, const std::string& row) {
  require(!std::isnan(entropy), "lens: row ", row,
          ": the logits are not numbers: the model's weights are too large");
}

// Predictions from logits [n, V], which must outlive the result.
std::vector<Expectation> expectations(const Tensor& logits) {
  std::vector<Expectation> all;
  for (Index row = 0; row < logits.size(0); ++row) {
    const TokenDistribution own = distribution(logits, row);
    require_number(own.entropy(), "final");
    std::vector<double> probabilities = own.probabilities();
    const double entropy = own.cross_entropy(probabilities);
    all.push_back({own, std::move(probabilities), entropy});
  }
  return all;
}

// Replaces targets that are kIgnoreTarget by the most likely token.
void choose_targets(const std::vector<Expectation>& own, std::span<std::int32_t> targets) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (targets[i] == kIgnoreTarget) {
      targets[i] = own[i].distribution.likeliest(1).front().token;
    }
  }
}

LensReading reading_of(const TokenDistribution& read, const Expectation& own, std::int32_t target,
                       Index top_k) {
  const double divergence = read.cross_entropy(own.probabilities) - own.entropy;
  LensReading reading{.log_probability = read.log_probability(target),
                      .rank = read.rank(target),
                      .entropy = read.entropy(),
                      .divergence = divergence < 0 ? 0 : divergence};  // by rounding
  if (top_k > 0 && !std::isnan(reading.entropy)) {
    reading.likeliest = read.likeliest(top_k);
  }
  return reading;
}

// Readings of all rows of logits [n, V].
std::vector<LensReading> readings_of(const Tensor& logits, const std::vector<Expectation>& own,
                                     std::span<const std::int32_t> targets, Index top_k) {
  std::vector<LensReading> readings(own.size());
  kernels::parallel_for(
      logits.size(0), kernels::row_grain(logits.size(1)), [&](Index first, Index last) {
        for (Index row = first; row < last; ++row) {
          const auto i = static_cast<std::size_t>(row);
          readings[i] = reading_of(distribution(logits, row), own[i], targets[i], top_k);
        }
      });
  return readings;
}

using Progress = std::function<void(double share)>;

// One batch through the model, and the lens readings from it.
class LensPass {
 public:
  // `first`: the first row that is read. `kept`: passes of a batch of one sequence.
  LensPass(const Gpt& model, const std::vector<Source>& sources, const Batch& batch,
           const TunedLens* tuned, Index first = 0, RecordedPasses* kept = nullptr)
      : model_(model),
        sources_(sources),
        tuned_(tuned),
        in_parts_(std::any_of(
            sources.begin(), sources.end(),
            [](const Source& source) { return source.point && is_part(source.point->point); })),
        streams_([&](Point point, Index layer) {
          return std::any_of(sources.begin(), sources.end(), [&](const Source& source) {
            return source.point && source.point->point == point && source.point->layer == layer;
          });
        }),
        text_(read_from(model, batch, first, streams_, kept)) {}

  // Calls use(index of the source, row, reading) for rows `begin` to `end` - 1 of the batch and
  // every source in order. Calls progress(share of these readings) from time to time. Replaces
  // targets that are kIgnoreTarget by the most likely token.
  template <class Use>
  void read(Index begin, Index end, std::span<std::int32_t> targets, Index top_k, const Use& use,
            const Progress& progress) const {
    // At once: 16 MiB, twice, plus 32 MiB of probabilities.
    constexpr Index kLogits = Index{1} << 22;
    const Index rows_at_once = std::max<Index>(1, kLogits / model_.vocab_size());
    const auto all = static_cast<double>((end - begin) * std::ssize(sources_));
    for (Index row = begin; row < end; row += rows_at_once) {
      const Index last = std::min(row + rows_at_once, end);
      const std::span<std::int32_t> some = targets.subspan(static_cast<std::size_t>(row - begin));
      const Tensor own_logits = logits_of(slice(text_.ends, 0, row, last));
      const std::vector<Expectation> own = expectations(own_logits);
      choose_targets(own, some);
      auto done = static_cast<double>((row - begin) * std::ssize(sources_));
      for (std::size_t s = 0; s < sources_.size(); ++s) {
        const std::optional<HookSite>& point = sources_[s].point;
        const Tensor logits = point ? logits_of(normalized(*point, row, last)) : own_logits;
        std::vector<LensReading> readings = readings_of(logits, own, some, top_k);
        for (std::size_t i = 0; i < readings.size(); ++i) {
          use(s, row + static_cast<Index>(i), std::move(readings[i]));
        }
        done += static_cast<double>(readings.size());
        progress(done / all);
      }
    }
  }

 private:
  // Logits [n, V] float32 from hidden states [n, C].
  Tensor logits_of(const Tensor& hidden) const {
    return to_contiguous(convert(model_.logits_of(hidden), DType::float32));
  }

  // Applies the last norm to a source, [n, C].
  Tensor normalized(const HookSite& point, Index begin, Index end) const {
    const Tensor stream = slice(streams_.values.at({point.point, point.layer}), 0,
                                begin - text_.first, end - text_.first);
    if (tuned_ != nullptr) {
      const Index layer = point.layer + (point.point == Point::resid_post ? 1 : 0);
      const double unit = family_unit(point.point, model_.config().residual_multiplier);
      return model_.finished(tuned_->translated(stream * unit, layer) / unit);
    }
    if (!in_parts_) {
      return model_.finished(stream);
    }
    const Tensor whole = slice(text_.stream, 0, begin, end);
    return FrozenNorm(model_, Part::final_norm, kNoLayer, whole).of(stream);
  }

  const Gpt& model_;
  const std::vector<Source>& sources_;
  const TunedLens* tuned_;  // may be null
  bool in_parts_;
  KeepValues streams_;  // [N - first, C]
  PassedText text_;
};

void check(const LensTask& task, const GptConfig& config) {
  require_value(!task.text.empty(), "text", "expected at least one token");
  require_value(task.mask || config.causal, "mask",
                "expected the mask token, which a bidirectional model predicts");
  require_value(task.top_k >= 0, "top_k", "expected at least 0, got ", task.top_k);
  if (task.target) {
    require_value(*task.target >= 0 && *task.target < config.vocab_size, "target", "expected 0 to ",
                  config.vocab_size - 1, ", got ", *task.target);
  }
}

// Throws Error if the most likely tokens of all readings exceed free memory.
void require_choices_fit(const LensTask& task, std::size_t rows, std::size_t positions) {
  const std::string missing =
      missing_memory(static_cast<double>(sizeof(TokenLogProbability)) * static_cast<double>(rows) *
                     static_cast<double>(positions) * static_cast<double>(task.top_k));
  require_value(missing.empty(), "top_k", "expected fewer: ", task.top_k, " tokens in ", rows,
                " rows of ", positions, " positions need ", missing);
}

// Result with the positions, tokens and targets filled in, and rows without readings.
LensResult empty_result(const LensTask& task, const std::vector<Source>& sources) {
  const auto length = static_cast<Index>(task.text.size());
  const auto [begin, end] = bounds_of("positions", task.positions, length);
  LensResult result;
  bool has_open = false;  // whether a target is not in the text
  for (Index position = begin; position < end; ++position) {
    const auto index = static_cast<std::size_t>(position);
    result.positions.push_back(position);
    result.tokens.push_back(task.text[index]);
    const bool is_open = task.mask ? task.text[index] == *task.mask : position + 1 == length;
    has_open = has_open || is_open;
    result.targets.push_back(is_open ? task.target.value_or(kIgnoreTarget)
                                     : task.text[index + (task.mask ? 0 : 1)]);
  }
  require_value(!task.target || has_open, "target",
                task.mask ? "replaces the masked token, but the text has none at these positions"
                          : "sets the target of the last token, but the positions leave it out");
  for (const Source& source : sources) {
    result.rows.push_back({source.label, {}});
  }
  return result;
}

// Sequences per batch, so that the kept streams take about 128 MiB; at least 1.
Index sequences_at_once(const Gpt& model, std::size_t sources, Index batch_size) {
  constexpr Index kBytes = Index{1} << 27;
  const Index bytes = static_cast<Index>(sources) * model.block_size() * model.config().n_embd *
                      static_cast<Index>(element_size(model.dtype()));
  return std::min(batch_size, std::max<Index>(1, kBytes / bytes));
}

void add(const LensReading& reading, LensMeans& sums) {
  require_number(reading.entropy, sums.label.name);
  sums.loss -= reading.log_probability;
  sums.accuracy += reading.rank == 1 ? 1 : 0;
  sums.entropy += reading.entropy;
  sums.divergence += reading.divergence;
}

// Adds the readings of a batch to the sums.
void add_batch(const LensPass& pass, const Batch& batch, std::vector<LensMeans>& sums,
               const Progress& progress) {
  const std::int32_t* given = batch.targets.data<std::int32_t>();
  std::vector<std::int32_t> targets(given, given + batch.token_count());
  pass.read(
      0, batch.token_count(), targets, 0,
      [&](std::size_t source, Index row, const LensReading& reading) {
        if (given[row] != kIgnoreTarget) {
          add(reading, sums[source]);
        }
      },
      progress);
}

}  // namespace

LensResult logit_lens(const Gpt& model, const LensTask& task) {
  const NoGrad no_grad;
  const std::vector<Source> sources = sources_of(model.config(), task.view);
  check(task, model.config());
  LensResult result = empty_result(task, sources);
  require_choices_fit(task, result.rows.size(), result.positions.size());
  const Batch batch = make_batch({deciding_tokens(model, task.text, result.positions.back())});
  const LensPass pass(model, sources, batch, task.view.tuned.get(), result.positions.front(),
                      task.kept);
  pass.read(
      result.positions.front(), result.positions.back() + 1, result.targets, task.top_k,
      [&](std::size_t source, Index, LensReading&& reading) {
        require_number(reading.entropy, sources[source].label.name);
        result.rows[source].readings.push_back(std::move(reading));
      },
      task.progress);
  return result;
}

LensMeansResult lens_means(const Gpt& model, const TokenDataset& data,
                           const LensMeansOptions& options) {
  const NoGrad no_grad;
  require_value(options.masking || model.config().causal, "masking",
                "expected the hidden tokens, which a bidirectional model predicts");
  const std::vector<Source> sources = sources_of(model.config(), options.view);
  const SequentialBatches batches =
      SequentialBatches(data,
                        {.batch_size = sequences_at_once(model, sources.size(), options.batch_size),
                         .block_size = model.block_size()},
                        options.masking)
          .at_most(options.max_batches);
  LensMeansResult result;
  for (const Source& source : sources) {
    result.rows.push_back({.label = source.label});
  }
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    const LensPass pass(model, sources, batch, options.view.tuned.get());
    add_batch(pass, batch, result.rows, [&](double share) {
      options.progress((static_cast<double>(i) + share) / static_cast<double>(batches.count()));
    });
    result.tokens += batch.target_count;
  }
  require(result.tokens > 0, "the text has no token to predict");
  for (LensMeans& means : result.rows) {
    const auto tokens = static_cast<double>(result.tokens);
    for (double* sum : {&means.loss, &means.accuracy, &means.entropy, &means.divergence}) {
      *sum /= tokens;
    }
  }
  return result;
}

}  // namespace headlight
