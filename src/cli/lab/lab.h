#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headlight/heads/head_verdict.h"
#include "headlight/tensor/shape.h"

// Experiments that each show one thing about attention, with fixed seeds.
namespace headlight::cli::lab {

class Report;

// The same words in both languages; {0}, {1}, ... stand for values that are filled in.
struct Text {
  const char* en;
  const char* ko;
};

struct Settings {
  bool full = false;          // the long version
  Index iterations = 0;       // updates of every training; 0: what the experiment holds right
  std::uint64_t seed = 1337;  // of all random numbers
  std::string model = {};     // to look into; empty: what the experiment trains

  // Updates to train for.
  Index updates(Index quick, Index long_run) const {
    return iterations > 0 ? iterations : full ? long_run : quick;
  }
};

struct Experiment {
  std::string_view name;
  Text summary;
  // Computes, and tells the report what there is to see.
  void (*run)(const Settings& settings, Report& report);
  bool takes_model = false;  // Settings::model
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
