#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headlight/tensor/shape.h"

// Experiments on attention with fixed seeds. Each experiment answers one question.
namespace headlight::cli::lab {

class Report;

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
  std::string_view name;  // of its text, too
  // Runs the experiment and adds its results to the report.
  void (*run)(const Settings& settings, Report& report);
  bool takes_model = false;  // uses Settings::model
};

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

inline constexpr Experiment kExperiments[]{{"scaling", run_scaling},
                                           {"masks", run_masks},
                                           {"worked-example", run_worked_example},
                                           {"shapes", run_shapes},
                                           {"norms", run_norms},
                                           {"pre-post-ln", run_pre_post_ln},
                                           {"heads", run_heads},
                                           {"single-vs-multi", run_single_vs_multi},
                                           {"induction", run_induction, true},
                                           {"params", run_params}};

}  // namespace headlight::cli::lab
