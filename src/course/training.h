#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "course/lab.h"
#include "headlight/datasets/dataset.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/gpt.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/train/train_config.h"

namespace headlight::cli::lab {

// Task that needs several attention patterns at once. A token is a number from 0 to 15, four bits.
// Bit j of every token is copied from the token kDistances[j] positions before it. The first kFree
// tokens are random. A model that has learned the task predicts the others with a loss of 0. A
// single attention pattern mixes the four positions, which the model must keep separate.
inline constexpr Index kTaskTokens = 16;  // <|endoftext|> is token 16
inline constexpr Index kTaskVocabulary = kTaskTokens + 1;
inline constexpr Index kTaskWidth = 64;              // of models for the task
inline constexpr Index kTaskLength = 24;             // tokens of a sequence
inline constexpr Index kFree = 5;                    // random tokens at the start
inline constexpr Index kDistances[] = {2, 3, 4, 5};  // at most kFree

struct CopyTask {
  TokenDataset training;
  Batch held_out;  // other sequences; targets are predictable tokens only
  std::vector<std::vector<std::int32_t>> sample;  // eight held-out sequences for display
};

// Makes the task with `sequences` training sequences.
CopyTask make_copy_task(Index sequences, std::uint64_t seed);

// Common settings of an experiment's trainings: constant learning rate, batches of 16, models of
// width kTaskWidth.
TrainConfig lab_training(const Settings& settings, Index iterations, double learning_rate,
                         Index layers, Index heads);

// Makes a model for the copy task. All sizes come from `config`.
std::unique_ptr<Gpt> make_model(const TrainConfig& config);

// Held-out loss during a training.
struct Curve {
  std::vector<double> updates;
  std::vector<double> loss;
  bool diverged = false;  // the loss or a gradient was not finite; the curve ends there

  double last() const { return loss.back(); }
  // Loss at the last measurement up to this step.
  double at(double step) const;
};

// Trains the model for config.max_iters steps. Measures the held-out loss `points` times.
Curve train(Gpt& model, const CopyTask& task, const TrainConfig& config, Index points = 30);

// Trains the model until its held-out loss settles: it is below 0.005, or the lowest one has fallen
// by less than 2 % in the last 2500 steps. Measures every 50 steps, and stops at config.max_iters.
Curve train_until_converged(Gpt& model, const CopyTask& task, const TrainConfig& config);

// True if the loss has settled, as in train_until_converged().
bool is_settled(const Curve& curve);

PlotSeries series_of(const std::string& name, const Curve& curve);

// Charts of the losses side by side, over the same range.
std::string loss_charts(const std::vector<std::pair<std::string, Curve>>& titled);

}  // namespace headlight::cli::lab
