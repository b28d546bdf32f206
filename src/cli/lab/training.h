#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/lab/lab.h"
#include "headlight/data/dataset.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/gpt.h"
#include "headlight/train/train_config.h"
#include "headlight/views/line_plot.h"

namespace headlight::cli::lab {

// A language that needs several attention patterns at once. A token is a number from 0 to 15, four
// bits; bit j of every token is copied from the token kDistances[j] places before it. The first
// kFree tokens are random, all others follow, so that a model that has understood the language
// predicts them with a loss of 0. A single attention pattern mixes the four places it must keep
// apart.
inline constexpr Index kTaskTokens = 16;  // <|endoftext|> is token 16
inline constexpr Index kTaskVocabulary = kTaskTokens + 1;
inline constexpr Index kTaskLength = 24;             // tokens of a sequence
inline constexpr Index kFree = 5;                    // of them random
inline constexpr Index kDistances[] = {2, 3, 4, 5};  // at most kFree

struct CopyTask {
  TokenDataset training;
  Batch held_out;  // other sequences; only tokens that follow from earlier ones are targets
  std::vector<std::vector<std::int32_t>> sample;  // eight of those, to look at
};

// The task with so many training sequences.
CopyTask make_copy_task(Index sequences, std::uint64_t seed);

// Names of the axes of training curves.
inline constexpr Text kUpdate{"update", "업데이트"};
inline constexpr Text kHeldOutLoss{"held-out loss, nats a token",
                                   "학습에 쓰지 않은 시퀀스의 손실, 토큰당 nat"};

// The settings that all trainings of one experiment share: constant learning rate, batches of 16.
TrainConfig lab_training(const Settings& settings, Index iterations, double learning_rate);

// A model for the copy task; its size and everything else come from `config`.
std::unique_ptr<Gpt> make_model(const TrainConfig& config);

// What the held-out loss did during a training.
struct Curve {
  std::vector<double> updates;
  std::vector<double> loss;
  bool diverged = false;  // the loss or a gradient was no number any more; the curve ends there

  double last() const { return loss.back(); }
};

// Trains the model on the task for config.max_iters updates, with `points` measurements.
Curve train(Gpt& model, const CopyTask& task, const TrainConfig& config, Index points = 30);

PlotSeries series_of(const std::string& name, const Curve& curve);

}  // namespace headlight::cli::lab
