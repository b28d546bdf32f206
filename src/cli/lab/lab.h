#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headlight/heads/head_verdict.h"
#include "headlight/tensor/shape.h"

// Experiments on attention with fixed seeds. Each experiment answers one question.
namespace headlight::cli::lab {

class Report;

// Text in both languages; {0}, {1}, ... are replaced by values.
struct Text {
  const char* en;
  const char* ko;
};

struct Settings {
  bool full = false;          // the long version
  Index iterations = 0;       // steps of every training; 0: the experiment's default
  std::uint64_t seed = 1337;  // of all random numbers
  std::string model = {};     // model to investigate; empty: train one

  // Number of training steps.
  Index updates(Index quick, Index long_run) const {
    return iterations > 0 ? iterations : full ? long_run : quick;
  }
};

struct Experiment {
  std::string_view name;
  Text summary;
  // Runs the experiment and adds its results to the report.
  void (*run)(const Settings& settings, Report& report);
  bool takes_model = false;  // uses Settings::model
};

std::span<const Experiment> experiments();

void run_scaling(const Settings& settings, Report& report);
void run_masks(const Settings& settings, Report& report);
void run_worked_example(const Settings& settings, Report& report);
void run_shapes(const Settings& settings, Report& report);
void run_norms(const Settings& settings, Report& report);
void run_pre_post_ln(const Settings& settings, Report& report);
void run_heads(const Settings& settings, Report& report);
void run_single_vs_multi(const Settings& settings, Report& report);
void run_induction(const Settings& settings, Report& report);
void run_params(const Settings& settings, Report& report);

}  // namespace headlight::cli::lab
