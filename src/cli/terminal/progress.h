#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/stopwatch.h"
#include "headlight/runs/run.h"
#include "show/plot/chart.h"

namespace headlight::cli {

// "validation loss 1.8771, perplexity 6.53, 2.365 bits per byte"
std::string evaluation_text(const Evaluation& validation);

// Line on stderr that is redrawn in place. Draw it only on a terminal.
class LiveLine {
 public:
  LiveLine();
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  bool on_terminal() const { return terminal_; }
  // True on a terminal if the last drawing is at least 0.1 seconds old.
  bool is_due() const;
  void draw(const std::string& text);
  void clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
  Stopwatch watch_;
  double drawn_at_ = 0;  // seconds since the start
};

// Function that shows a share of work, 0 to 1, as a bar on stderr with the remaining time; nothing
// if stderr is not a terminal. The bar disappears at 1 and with the last copy of the function.
std::function<void(double share)> progress_bar(const std::string& label);
// Bar for LoadOptions::progress.
std::function<void(double share)> loading_bar();

// Shows a training run on stderr: a live line on a terminal, plain lines otherwise.
class TrainProgress : public TrainObserver {
 public:
  // Logs `note`, if not empty, before the settings.
  TrainProgress(std::string note, bool logs_evaluations)
      : note_(std::move(note)), logs_evaluations_(logs_evaluations) {}
  void on_loading(double share) override { show_loading_(share); }
  void on_reading(double share) override { show_reading_(share); }
  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const EvaluationMetrics& metrics) override;
  void on_checkpoint(const std::filesystem::path& path) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void on_warning(const std::string& text) override;

  // Logs a chart of the losses of this run, its best validation loss and advice.
  void show_end(const RunResult& result);
  // Speed of the learned tokens.
  double tokens_per_second() const;

 private:
  void show(const StepMetrics& metrics);
  void draw_bar(const StepMetrics& metrics);
  std::string speed_text(const char* unit) const;
  std::string loss_curve() const;
  std::string overfitting(const RunResult& result) const;

  std::function<void(double share)> show_loading_ = loading_bar();
  std::function<void(double share)> show_reading_ = progress_bar("reading texts");
  std::string note_;
  bool logs_evaluations_;
  Stopwatch watch_;
  LiveLine bar_;
  Index first_iteration_ = 0;
  Index last_iteration_ = 0;  // last finished iteration
  Index max_iters_ = 0;
  Index log_interval_ = 1;
  Index tokens_ = 0;
  Index inputs_ = 0;
  double dropout_ = 0;
  double smooth_loss_ = 0;
  ChartValues losses_;
  ChartSeries validation_ = {.mark = 'o', .colour = 1, .points = true};
};

}  // namespace headlight::cli
