#include <algorithm>
#include <array>
#include <optional>

#include "course/lab.h"
#include "course/report/pictures.h"
#include "headlight/nn/architecture.h"
#include "headlight/nn/causal_self_attention.h"
#include "headlight/nn/gpt_config.h"
#include "headlight/nn/multi_head_attention.h"

namespace headlight::cli::lab {
namespace {

Index counted(const CausalSelfAttentionOptions& options) {
  return CausalSelfAttention(options).parameter_count();
}

Json count_layer(Index width, Index heads) {
  return {
      {"width", width},
      {"heads", heads},
      {"counted",
       counted({.width = width, .plan = {.heads = heads}, .initialisation = Initialisation::none})},
      {"formula", 4 * width * width + 4 * width},
      {"separate", MultiHeadAttention({.width = width, .heads = heads}).parameter_count()},
      {"without_biases", counted({.width = width,
                                  .plan = {.heads = heads},
                                  .bias = false,
                                  .initialisation = Initialisation::none})}};
}

constexpr Index kWidestModel = 4096;  // C; its layers take 256 MiB each

// The layer of --width and --heads; none without them.
std::optional<Json> own_layer(const Options& options) {
  if (!options.given("width") && !options.given("heads")) {
    return {};
  }
  const Index width = options.given("width") ? count_option(options, "width", 1, kWidestModel) : 64;
  const Index heads = options.given("heads") ? count_option(options, "heads", 1, kWidestModel) : 1;
  require(width % heads == 0, "--heads: expected a divisor of the width ", width, ", got ", heads);
  return count_layer(width, heads);
}

// Counts layers of width 64 by heads, and wider layers with heads of width 64.
Json all_counts() {
  Json counts = transformed(std::array{1, 2, 4, 8, 16, 32, 64},
                            [](Index heads) { return count_layer(64, heads); });
  for (const Index width : {128, 256, 512, 768}) {
    counts.push_back(count_layer(width, width / 64));
  }
  return counts;
}

// Draws the layers with heads of width 64. Returns their bars.
std::string draw_counts(const Json& counts, Report& report) {
  std::vector<Bar> drawn;
  PlotSeries calculated{.name = report.entry("params.svg", "formula")};
  PlotSeries measured{.name = report.entry("params.svg", "counted")};
  for (const Json& count : counts) {
    const Index width = count["width"].integer();
    if (width / count["heads"].integer() == 64) {
      calculated.x.push_back(static_cast<double>(width));
      calculated.y.push_back(count["formula"].number());
      measured.y.push_back(count["counted"].number());
      drawn.push_back({"d = " + std::to_string(width), measured.y.back()});
    }
  }
  measured.x = calculated.x;
  draw_curves({.file = "params.svg", .series = {calculated, measured}, .points = true}, report);
  return bars(drawn, 0);
}

Json count_models() {
  const std::vector<std::pair<const char*, GptConfig>> models{
      {"configs/toy.toml",
       {.vocab_size = 1024, .block_size = 168, .n_layer = 3, .n_head = 4, .n_embd = 128}},
      {"GPT-2", {.vocab_size = 50257}},
      {"GPT-2 XL", {.vocab_size = 50257, .n_layer = 48, .n_head = 25, .n_embd = 1600}}};
  return transformed(models, [](const auto& model) {
    const ParameterCounts counts = count_parameters(model.second);
    return Json{
        {"model", model.first}, {"parameters", counts.total()}, {"attention", counts.attention}};
  });
}

}  // namespace

void declare_params(Options& options) {
  options.value("width", "Width of the layer, d_model")
      .value("heads", "Number of heads of that layer; divides the width");
}

void run_params(const Settings& settings, Report& report) {
  const std::optional<Json> own = own_layer(settings.options);
  report.section("introduction");
  const Json standard = all_counts();
  Json counts = standard;
  if (own) {
    const Index width = (*own)["width"].integer();
    Json shown = *own;
    shown.update({{"square", width * width}, {"biases", 4 * width}});
    report.section("own", shown);
    report.values()["own"] = *own;
    counts.push_back(*own);  // the last row
  }
  report.values()["layers"] = counts;
  const Json layers = transformed(counts, [](Json count) {
    count["head_width"] = count["width"].integer() / count["heads"].integer();
    return count;
  });
  report.section("layers", {{"layers", layers}, {"bars", draw_counts(standard, report)}});
  const Json models = count_models();
  report.values()["models"] = models;
  report.section("models", {{"models", transformed(models, [](Json model) {
                               model["share"] =
                                   model["attention"].number() / model["parameters"].number();
                               return model;
                             })}});
  const bool same = std::ranges::all_of(counts, [](const Json& count) {
    return count["counted"] == count["formula"] && count["separate"] == count["formula"];
  });
  report.claim("counted_is_formula", same, {{"count", counts.size()}});
}

}  // namespace headlight::cli::lab
