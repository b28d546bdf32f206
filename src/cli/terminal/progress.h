#pragma once

#include <string>

#include "base/stopwatch.h"
#include "headlight/train/run.h"
#include "views/plot/chart.h"

namespace headlight::cli {

// "validation loss 1.8771, perplexity 6.53, 2.365 bits per byte"
std::string evaluation_text(const Evaluation& validation);

// Shows a run on stderr: a line that updates itself on a terminal, plain lines otherwise.
class TrainProgress : public TrainObserver {
 public:
  TrainProgress();
  ~TrainProgress() override;

  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const EvaluationMetrics& metrics) override;
  void on_checkpoint(const std::filesystem::path& path) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void on_warning(const std::string& text) override;

  // The losses of this run as a curve, to be shown at its end.
  std::string loss_curve() const;

  // Tokens trained on a second since the start.
  double tokens_per_second() const;

 private:
  void show(const StepMetrics& metrics);
  void draw_bar(const StepMetrics& metrics);
  void clear_bar();

  Stopwatch watch_;
  bool terminal_ = false;
  bool bar_shown_ = false;
  double bar_drawn_at_ = 0;  // seconds since the start
  Index first_iteration_ = 0;
  Index last_iteration_ = 0;  // that was made
  Index max_iters_ = 0;
  Index log_interval_ = 1;
  Index tokens_ = 0;
  double smooth_loss_ = 0;
  ChartValues losses_;
};

}  // namespace headlight::cli
