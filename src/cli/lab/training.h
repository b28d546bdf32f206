#pragma once

#include <memory>
#include <vector>

#include "cli/lab/copy_task.h"
#include "cli/lab/lab.h"
#include "headlight/nn/gpt.h"
#include "headlight/train/train_config.h"
#include "headlight/views/line_plot.h"

namespace headlight::cli::lab {

// Names of the axes of training curves.
inline constexpr Text kUpdate{"update", "갱신"};
inline constexpr Text kHeldOutLoss{"held-out loss, nats a token",
                                   "학습에 쓰지 않은 시퀀스의 손실, 토큰당 nat"};

// The settings that all trainings of one experiment share: constant learning rate, batches of 16.
TrainConfig lab_training(const Settings& settings, Index iterations, double learning_rate);

// A model for the copy task; its size and everything else come from `config`.
std::unique_ptr<Gpt> make_model(const TrainConfig& config);

// Loss on the held-out part of the task, in nats a token.
double held_out_loss(const Gpt& model, const CopyTask& task);

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
