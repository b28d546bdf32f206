#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/data/dataset.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"
#include "headlight/nn/token_distribution.h"

// The logit lens (nostalgebraist, "interpreting GPT: the logit lens", 2020): the last norm and the
// head read what a layer leaves in the residual stream, as if the layers above were not there.
namespace headlight {

// Where a lens can look. The first three are the whole residual stream, which the last norm reads
// as it reads the final one. attn_out and mlp_out are what a layer adds to it: they are divided by
// what the last norm divides the final stream by, and get no shift, so that the logits of the
// embeddings, of all that layers add and of the shift sum to the model's own.
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
};

// What is read where: a row of the results.
struct LensPlace {
  Index layer = 0;   // -1: what enters the first layer; n_layer: what the model puts out
  std::string name;  // "embed", "0", "final"
};

// What would be said about the next token.
struct LensReading {
  double log_probability = 0;  // of the target, nats
  Index rank = 0;              // of the target; 1: nothing is likelier
  double entropy = 0;          // nats
  double divergence = 0;       // KL(the model's own distribution || this one), nats
  std::vector<TokenLogProbability> likeliest = {};  // top_k, the likeliest first
};

struct LensTask {
  std::vector<std::int32_t> text;  // [T]
  LensView view = {};
  NumberRange positions = {};               // of the text, from 0, that are read
  std::optional<std::int32_t> target = {};  // behind the text; without: the model's likeliest
  Index top_k = 5;
  std::function<void(double share)> progress = {};  // of the work, 0 to 1
};

struct LensRow {
  LensPlace place;
  std::vector<LensReading> readings;  // [P]
};

struct LensResult {
  std::vector<Index> positions;       // [P]
  std::vector<std::int32_t> tokens;   // [P], that stand there
  std::vector<std::int32_t> targets;  // [P]: the next tokens of the text, the last as in LensTask
  // What enters the first layer (where layer 0 is looked at), the layers, and, as the last row, the
  // model's own distribution: of resid_post that is the last layer's.
  std::vector<LensRow> rows;
};

// What every layer would say, for every token of a text. Beside the results, the memory it takes is
// that of the streams [L, T, C] and of the logits of a few tokens.
// Throws Error for models with post-norms, which have no last norm; for a point that is none of
// kLensPoints or that the layers do not come by; for layers, positions and ids out of range, for an
// empty text and one longer than the block, and when results are not numbers.
LensResult logit_lens(const Gpt& model, const LensTask& task);

struct LensMeansOptions {
  LensView view = {};
  Index batch_size = 12;  // sequences read at once; fewer where their streams take much memory
  Index max_batches = 0;  // evenly spread over the data; 0: all
  std::function<void(double share)> progress = {};
};

// Means over the targets of a text.
struct LensMeans {
  LensPlace place;
  double loss = 0;        // -log-probability of the target, nats
  double accuracy = 0;    // share of targets that are the likeliest token
  double entropy = 0;     // nats
  double divergence = 0;  // as in LensReading, nats
};

struct LensMeansResult {
  std::vector<LensMeans> rows;  // in the order of LensResult
  Index tokens = 0;             // targets
};

// What every layer would say on average. Throws Error as logit_lens does, and when the data has no
// target.
LensMeansResult lens_means(const Gpt& model, const TokenDataset& data,
                           const LensMeansOptions& options = {});

}  // namespace headlight
