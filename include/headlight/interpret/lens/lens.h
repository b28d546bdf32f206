#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/dataset.h"
#include "headlight/interpret/lens/tuned_lens.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"
#include "headlight/nn/token_distribution.h"

// The logit lens (nostalgebraist, "interpreting GPT: the logit lens", 2020): applies the last norm
// and the head to the residual stream after each layer, as if the layers above were missing.
namespace headlight {

// Points that the lens reads. The first three are the whole residual stream; the last norm reads
// them like the final stream. attn_out and mlp_out are a layer's additions. They use the final
// stream's norm scale and no shift, so the logits of the embedding, of all additions and of the
// shift sum to the model's own.
inline constexpr std::array kLensPoints{Point::resid_pre, Point::resid_mid, Point::resid_post,
                                        Point::attn_out, Point::mlp_out};

inline constexpr auto kLensPointNames = [] {
  std::array<std::string_view, kLensPoints.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = name_of(kLensPoints[i]);
  }
  return names;
}();

struct LensView {
  Point point = Point::resid_post;  // one of kLensPoints
  NumberRange layers = {};
  // Translates the stream before it is read; null: the logit lens. For resid_pre and resid_post.
  std::shared_ptr<const TunedLens> tuned = {};
};

// Source of one row of the results.
struct LensLabel {
  Index layer = 0;   // -1: input of the first layer; n_layer: output of the model
  std::string name;  // "embed", "0", "final"
};

// Next-token prediction at one row and position.
struct LensReading {
  double log_probability = 0;  // of the target, nats
  Index rank = 0;              // of the target; 1: the most likely token
  double entropy = 0;          // nats
  double divergence = 0;       // KL(the model's own distribution || this one), nats
  std::vector<TokenLogProbability> likeliest = {};  // top_k, most likely first
};

struct LensTask {
  std::vector<std::int32_t> text;  // [T]
  LensView view = {};
  NumberRange positions = {};  // positions of the text to read, from 0
  // Target of the last token, or of masked tokens; default: the most likely token.
  std::optional<std::int32_t> target = {};
  // Mask token of a bidirectional model, whose other targets are the tokens themselves.
  std::optional<std::int32_t> mask = {};
  Index top_k = 5;
  std::function<void(double share)> progress = [](double) {};  // of the work, 0 to 1
  RecordedPasses* kept = nullptr;                              // passes of the text
};

struct LensRow {
  LensLabel label;
  std::vector<LensReading> readings;  // [P]
};

struct LensResult {
  std::vector<Index> positions;       // [P]
  std::vector<std::int32_t> tokens;   // [P], tokens at these positions
  std::vector<std::int32_t> targets;  // [P]: next tokens; the last one as in LensTask
  // Input of the first layer (if layer 0 is included), the layers, and the model's own distribution
  // as the last row. For resid_post the last layer's row is the model's own.
  std::vector<LensRow> rows;
};

// Reads the prediction of every layer for every token of a text. Besides the results, memory holds
// the streams [L, T, C] and the logits of a few tokens.
// Throws Error for models with neither a last norm nor a head for masked tokens; for points not in
// kLensPoints or not computed by the layers; for layers, positions and ids out of range; for an
// empty text and one longer than the context; for a tuned lens of another width or number of
// layers; and if results are not numbers.
LensResult logit_lens(const Gpt& model, const LensTask& task);

struct LensMeansOptions {
  LensView view = {};
  Index batch_size = 12;                // sequences per pass; fewer if streams are large
  Index max_batches = 0;                // evenly spread over the data; 0: all
  std::optional<Masking> masking = {};  // the hidden tokens of bidirectional models
  std::function<void(double share)> progress = [](double) {};
};

// Means over the targets of a text, for one row.
struct LensMeans {
  LensLabel label;
  double loss = 0;        // -log-probability of the target, nats
  double accuracy = 0;    // share of targets predicted as the most likely token
  double entropy = 0;     // nats
  double divergence = 0;  // as in LensReading, nats
};

struct LensMeansResult {
  std::vector<LensMeans> rows;  // in the order of LensResult
  Index tokens = 0;             // targets
};

// Averages every layer's prediction. Throws Error as logit_lens(), and for data without targets.
LensMeansResult lens_means(const Gpt& model, const TokenDataset& data,
                           const LensMeansOptions& options = {});

}  // namespace headlight
