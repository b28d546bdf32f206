#pragma once

#include <cstdint>
#include <string_view>

#include "cli/terminal/options.h"
#include "headlight/tensor/shape.h"

// Experiments on attention with fixed seeds. Each experiment answers one question.
namespace headlight::cli::lab {

class Report;

struct Settings {
  const Options& options;     // includes those that the experiment declares
  bool full = false;          // the long version
  Index iterations = 0;       // steps of every training; 0: the experiment's default
  std::uint64_t seed = 1337;  // of all random numbers

  // Number of training steps.
  Index updates(Index quick, Index long_run) const {
    return iterations > 0 ? iterations : full ? long_run : quick;
  }
};

// Add options that several experiments have: --full; --width and --heads of a layer.
inline Options& declare_length(Options& options) {
  return options.flag("full", "Run the long version, with more steps and repeats");
}
inline Options& declare_layer(Options& options, const char* width, const char* heads) {
  return options.value("width", "Width of the layer, d_model", width)
      .value("heads", "Number of heads; divides the width", heads);
}

struct Experiment {
  std::string_view name;  // of its text, too
  // Runs the experiment and adds its results to the report.
  void (*run)(const Settings& settings, Report& report);
  void (*declare)(Options& options);  // adds the options of this experiment
  const char* example = "";           // arguments after the name, for the help
};

void run_scaling(const Settings& settings, Report& report);
void run_masks(const Settings& settings, Report& report);
void run_worked_example(const Settings& settings, Report& report);
void run_attention(const Settings& settings, Report& report);
void run_shapes(const Settings& settings, Report& report);
void run_norms(const Settings& settings, Report& report);
void run_pre_post_ln(const Settings& settings, Report& report);
void run_heads(const Settings& settings, Report& report);
void run_single_vs_multi(const Settings& settings, Report& report);
void run_params(const Settings& settings, Report& report);

void declare_scaling(Options& options);
void declare_masks(Options& options);
void declare_worked_example(Options& options);
void declare_attention(Options& options);
void declare_shapes(Options& options);
void declare_norms(Options& options);
void declare_training(Options& options);  // of experiments that only train
void declare_heads(Options& options);
void declare_single_vs_multi(Options& options);
void declare_params(Options& options);

inline constexpr Experiment kExperiments[]{
    {"scaling", run_scaling, declare_scaling, "--d_k 8,64,512"},
    {"masks", run_masks, declare_masks, "--tokens I,love,deep,learning --own_mask \"1,1,1,0\""},
    {"worked-example", run_worked_example, declare_worked_example, "--input my.json"},
    {"attention", run_attention, declare_attention, "--tokens I,love,deep,learning --causal"},
    {"shapes", run_shapes, declare_shapes, "--text \"I love you\" --text \"Hi\" --mask padding"},
    {"norms", run_norms, declare_norms, "--x \"1,2,3;1,1,1\""},
    {"pre-post-ln", run_pre_post_ln, declare_training, "--full"},
    {"heads", run_heads, declare_heads, "--heads 1,4,16"},
    {"single-vs-multi", run_single_vs_multi, declare_single_vs_multi, "--starts 5"},
    {"params", run_params, declare_params, "--width 64 --heads 8"}};

}  // namespace headlight::cli::lab
