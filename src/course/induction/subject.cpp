#include "course/induction/subject.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/share.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/progress.h"
#include "headlight/autograd/autograd.h"
#include "headlight/datasets/dataset.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/scores/repeat_loss.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/layout.h"
#include "headlight/tensor/random.h"
#include "headlight/tokenizers/char_tokenizer.h"
#include "headlight/train/trainer.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kLetters = 52;
constexpr Index kExample = 8;  // tokens of a map, before their repetition
constexpr Index kTextLength = 100000;
constexpr Index kMeasurements = 30;  // points of the curve
constexpr Index kMeasured = 8;       // sequences of a measurement
constexpr double kLast = 1;          // influence of the last letter on the next
constexpr double kLastButOne = 2;    // influence of the last letter but one

CharTokenizer letters() {
  constexpr std::u32string_view kAll = U"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return CharTokenizer({kAll.begin(), kAll.end()});
}

// Running sums of exp(logit) of all letters, in a made-up language. The logit of a letter is a
// weighted sum of two normal random numbers, one for each of the two letters before.
std::vector<double> letter_weights(const RandomStream& random, Index last_but_one, Index last) {
  const auto number = [&](std::uint64_t table, Index row, Index column) {
    return random.fork(table).normal(static_cast<std::uint64_t>(row * kLetters + column));
  };
  std::vector<double> sums;
  for (Index letter = 0; letter < kLetters; ++letter) {
    const double logit =
        kLast * number(0, last, letter) + kLastButOne * number(1, last_but_one, letter);
    sums.push_back((sums.empty() ? 0 : sums.back()) + std::exp(logit));
  }
  return sums;
}

TokenDataset made_up_text(const Tokenizer& tokenizer, std::uint64_t seed) {
  const RandomStream random{seed, 0};
  const RandomStream draws = random.fork(1);
  const std::int32_t first = tokenizer.encode("a").front();
  std::map<std::pair<Index, Index>, std::vector<double>> weights;  // by the two letters before
  std::vector<std::int32_t> ids;
  Index before = 0;
  Index last = 0;
  for (std::uint64_t i = 0; i < kTextLength; ++i) {
    std::vector<double>& sums = weights[{before, last}];
    if (sums.empty()) {
      sums = letter_weights(random.fork(0), before, last);
    }
    const auto found = std::ranges::upper_bound(sums, draws.uniform(i) * sums.back());
    before = std::exchange(last, std::min<Index>(found - sums.begin(), kLetters - 1));
    ids.push_back(first + static_cast<std::int32_t>(last));
  }
  return stream_dataset(std::move(ids));
}

// Settings of configs/induction.toml.
TrainConfig induction_config(Index updates, std::uint64_t seed) {
  TrainConfig config;
  config.batching = "packed";
  config.repeat_share = 0.5;
  config.n_layer = 2;
  config.n_head = 4;
  config.n_embd = 128;
  config.block_size = 64;
  config.mlp = false;
  config.tie_weights = false;
  config.batch_size = 32;
  config.max_iters = updates;
  config.learning_rate = 1e-3;
  config.min_lr = 1e-4;
  config.warmup_iters = std::min<Index>(100, updates);
  config.beta2 = 0.99;
  config.weight_decay = 0.01;
  config.seed = static_cast<Index>(seed);
  return config;
}

void train(const TrainConfig& config, const TokenDataset& text, Subject& subject) {
  const RepeatOptions repeats = repeats_for(subject, kMeasured);
  const auto measure = [&](Index updates) {
    subject.updates.push_back(static_cast<double>(updates));
    subject.second_copy.push_back(repeat_loss(*subject.model, repeats).second);
  };
  Trainer trainer(config, *subject.model, text);
  const auto progress = progress_bar("training");
  const Index stride = std::max<Index>(1, config.max_iters / kMeasurements);
  measure(0);
  for (Index update = 1; update <= config.max_iters; ++update) {
    trainer.step();
    progress(share_of(update, config.max_iters));
    if (update % stride == 0 || update == config.max_iters) {
      measure(update);
    }
  }
}

}  // namespace

Subject read_subject(const std::string& path, const Options& options) {
  LoadedModel loaded = load_model_with_warnings(path, {.base = base_option(options, path)});
  return {.model = std::move(loaded.model), .tokenizer = std::move(loaded.tokenizer)};
}

Subject train_subject(Index updates, std::uint64_t seed) {
  const TrainConfig config = induction_config(updates, seed);
  Subject subject{.model = nullptr, .tokenizer = std::make_unique<CharTokenizer>(letters())};
  subject.model = std::make_unique<Gpt>(config.model(subject.tokenizer->vocab_size()), seed);
  train(config, made_up_text(*subject.tokenizer, seed), subject);
  return subject;
}

RepeatOptions repeats_for(const Subject& subject, Index sequences, std::uint64_t seed) {
  RepeatOptions repeats = repeats_of_text(*subject.tokenizer, subject.model->vocab_size());
  repeats.sequences = sequences;
  repeats.seed = seed;
  return repeats;
}

HeadMap map_of(const Subject& subject, const HeadId& head) {
  const NoGrad no_grad;
  const Gpt& model = *subject.model;
  RepeatOptions repeats = repeats_for(subject, 1);
  repeats.length = kExample;
  const std::vector<std::int32_t> tokens = repeated_sequences(repeats, model.config()).front();
  Recorder recorder({head.layer});
  model.hidden(make_batch({tokens}), {.recorder = &recorder});
  const Tensor maps = recorder.sequences(head.layer).front();
  const Index index = head_index(head, model.heads());
  return {shown_tokens(tokens, *subject.tokenizer), select(maps, 0, index)};
}

}  // namespace headlight::cli::lab
