#include "cli/bench/roofline.h"

#include <algorithm>
#include <array>

#include "cli/bench/tools.h"
#include "headlight/nn/architecture.h"
#include "kernels/phase_times.h"

namespace headlight::cli {
namespace {

using kernels::PhaseKey;
using kernels::PhaseKind;
using kernels::PhaseTime;
using kernels::PhaseTimes;
using Phases = std::map<PhaseKey, PhaseTime>;

// Sizes of which the costs of the phases are multiples.
struct Sizes {
  double stream = 0;      // elements of the residual stream
  double layers = 0;      // L
  double tables = 1;      // of embeddings
  double inner = 0;       // inner elements of all MLPs
  double sums = 0;        // elements that the gradients of biases sum up
  double pairs = 0;       // D multiply-adds for every visible pair of query and key of all heads
  double heads = 0;       // elements of queries, keys and values of all layers
  double logits = 0;      // elements
  double parameters = 0;  // P
  bool is_gated = false;
};

Sizes sizes_of(const GptConfig& model, const StepSize& step) {
  Sizes sizes{.stream = step.tokens * static_cast<double>(model.n_embd),
              .layers = static_cast<double>(model.n_layer),
              .tables = model.position == PositionKind::learned ? 2.0 : 1.0,
              .logits = step.tokens * static_cast<double>(model.vocab_size),
              .parameters = static_cast<double>(count_parameters(model).total()),
              .is_gated = model.gated_mlp};
  double products = 0;
  for (const Weight& weight : weights_of(model)) {
    const auto elements = static_cast<double>(numel(weight.shape));
    products += weight.multiplied ? elements : 0;
    sizes.sums += weight.is_bias ? step.tokens * elements : 0;
  }
  sizes.pairs = (step.flops - 6 * products * step.tokens) / 12;
  for (Index layer = 0; layer < model.n_layer; ++layer) {
    const BlockPlan plan = block_plan(model, layer);
    sizes.inner += step.tokens * static_cast<double>(plan.mlp_width.value_or(0));
    sizes.heads += step.tokens * static_cast<double>(plan.attention.qkv_width());
  }
  return sizes;
}

struct Cost {
  double flops = 0;
  double elements = 0;  // read and written
};

// The costs of products are counted while they run.
struct PhaseRow {
  const char* name;
  bool (*holds)(const PhaseKey& key);
  Cost (*cost)(const Sizes& sizes) = nullptr;
};

bool is_rest_of(const PhaseKey& key, std::initializer_list<std::string_view> names) {
  return key.kind == PhaseKind::rest &&
         std::find(names.begin(), names.end(), key.name) != names.end();
}

bool is_product_of(const PhaseKey& key, std::string_view name) {
  return key.kind == PhaseKind::products && key.name == name;
}

// The first row that holds a phase takes it. docs/performance.md explains the costs.
constexpr std::array kRows{
    PhaseRow{"batch", [](const PhaseKey& key) { return key.name == "batch"; }},
    PhaseRow{"embedding", [](const PhaseKey& key) { return is_rest_of(key, {"embedding"}); },
             [](const Sizes& s) {
               return Cost{s.tables * s.stream, 5 * s.tables * s.stream};
             }},
    PhaseRow{"qkv products", [](const PhaseKey& key) { return is_product_of(key, "norm_linear"); }},
    PhaseRow{"attention forward",
             [](const PhaseKey& key) {
               return is_rest_of(key, {"ragged_attention"}) && !key.is_backward;
             },
             [](const Sizes& s) {
               return Cost{4 * s.pairs, s.heads + s.layers * s.stream};
             }},
    PhaseRow{"attention backward",
             [](const PhaseKey& key) { return is_rest_of(key, {"ragged_attention"}); },
             [](const Sizes& s) {
               return Cost{10 * s.pairs, 2 * (s.heads + s.layers * s.stream)};
             }},
    PhaseRow{"projection products",
             [](const PhaseKey& key) { return is_product_of(key, "linear"); }},
    PhaseRow{"MLP products",
             [](const PhaseKey& key) { return is_product_of(key, "feed_forward"); }},
    PhaseRow{"activation", [](const PhaseKey& key) { return key.kind == PhaseKind::after; },
             [](const Sizes& s) {
               return Cost{50 * s.inner, (s.is_gated ? 9 : 6) * s.inner};
             }},
    PhaseRow{"norms, bias sums",
             [](const PhaseKey& key) {
               return is_rest_of(
                   key, {"norm_linear", "linear", "feed_forward", "layer_norm", "rms_norm"});
             },
             [](const Sizes& s) {
               return Cost{30 * (2 * s.layers + 1) * s.stream + s.sums,
                           (14 * s.layers + 5) * s.stream + s.sums};
             }},
    PhaseRow{"residual adds",
             [](const PhaseKey& key) {
               return is_rest_of(key, {"add", "dropout", "gradient sums"});
             },
             [](const Sizes& s) {
               const double adds = 4 * s.layers + s.tables - 1;
               return Cost{adds * s.stream, 3 * adds * s.stream};
             }},
    PhaseRow{"logits products",
             [](const PhaseKey& key) { return is_product_of(key, "linear_cross_entropy"); }},
    PhaseRow{"loss", [](const PhaseKey& key) { return is_rest_of(key, {"linear_cross_entropy"}); },
             [](const Sizes& s) {
               return Cost{20 * s.logits, 5 * s.logits};
             }},
    PhaseRow{"gradient norm", [](const PhaseKey& key) { return key.name == "gradient norm"; },
             [](const Sizes& s) {
               return Cost{2 * s.parameters, s.parameters};
             }},
    PhaseRow{"optimizer", [](const PhaseKey& key) { return key.name == "optimizer"; },
             [](const Sizes& s) {
               return Cost{15 * s.parameters, 7 * s.parameters};
             }},
    PhaseRow{"other", [](const PhaseKey&) { return true; }}};

// The parts of one step.
struct MeasuredPhases {
  StepSize size;
  Phases phases;

  double seconds() const {
    double sum = 0;
    for (const auto& [key, time] : phases) {
      sum += time.seconds;
    }
    return sum;
  }
};

MeasuredPhases measured_phases(const std::function<StepSize()>& step) {
  const PhaseTimes times;
  const StepSize size = step();
  return {size, times.phases()};
}

std::vector<RooflineRow> rows_of(const MeasuredPhases& measured, const Sizes& sizes) {
  std::vector<RooflineRow> rows;
  for (const PhaseRow& row : kRows) {
    const Cost cost = row.cost == nullptr ? Cost{} : row.cost(sizes);
    rows.push_back(
        {.phase = row.name, .flops = cost.flops, .bytes = sizeof(float) * cost.elements});
  }
  for (const auto& [key, time] : measured.phases) {
    const auto* found =
        std::ranges::find_if(kRows, [&, key = key](const PhaseRow& row) { return row.holds(key); });
    RooflineRow& row = rows[static_cast<std::size_t>(found - kRows.begin())];
    row.is_product = row.is_product || key.kind == PhaseKind::products;
    row.seconds += time.seconds;
    row.flops += time.flops;
    row.bytes += time.bytes;
  }
  std::erase_if(rows, [](const RooflineRow& row) { return row.seconds == 0; });
  return rows;
}

}  // namespace

std::vector<RooflineRow> measure_roofline(const BenchTask& task,
                                          const std::function<StepSize()>& step) {
  MeasuredPhases fastest = measured_phases(step);
  for (Index i = 1; i < task.steps; ++i) {
    const MeasuredPhases next = measured_phases(step);
    fastest = next.seconds() < fastest.seconds() ? next : fastest;
  }
  const double rate = measure_gemm_rates().own;
  const auto precision = parse_name<Precision>("dtype", task.config.dtype);
  const double product_rate =
      precision == Precision::float32 ? rate : measure_gemm_rates(precision).own;
  const double bandwidth = measure_read_rate();
  std::vector<RooflineRow> rows = rows_of(fastest, sizes_of(task.model(), fastest.size));
  for (RooflineRow& row : rows) {
    const bool multiplies = row.is_product || row.phase.starts_with("attention");
    row.compute_time = row.flops / (multiplies ? product_rate : rate);
    row.memory_time = row.bytes / bandwidth;
  }
  return rows;
}

namespace {

double sum_over(const std::vector<RooflineRow>& rows, double (*value)(const RooflineRow& row)) {
  double sum = 0;
  for (const RooflineRow& row : rows) {
    sum += value(row);
  }
  return sum;
}

double step_seconds(const std::vector<RooflineRow>& rows) {
  return sum_over(rows, [](const RooflineRow& row) { return row.seconds; });
}

const char* bound_name(const RooflineRow& row) {
  return row.bound() == 0 ? "none" : row.compute_time > row.memory_time ? "compute" : "memory";
}

}  // namespace

Json to_json(const std::vector<RooflineRow>& rows) {
  const double total = step_seconds(rows);
  Json json = Json::array();
  for (const RooflineRow& row : rows) {
    json.push_back({{"phase", row.phase},
                    {"ms", 1e3 * row.seconds},
                    {"share", row.seconds / total},
                    {"flops", row.flops},
                    {"bytes", row.bytes},
                    {"gflops_per_second", row.flops / row.seconds / 1e9},
                    {"gb_per_second", row.bytes / row.seconds / 1e9},
                    {"bound", bound_name(row)},
                    {"bound_ms", 1e3 * row.bound()}});
  }
  return json;
}

std::string to_text(const std::vector<RooflineRow>& rows) {
  const double total = step_seconds(rows);
  const double products =
      sum_over(rows, [](const RooflineRow& row) { return row.is_product ? row.seconds : 0; });
  const double bound = sum_over(rows, [](const RooflineRow& row) { return row.bound(); });
  std::string text =
      "\nThe fastest of as many further steps:\n"
      "phase                       ms   share    GFLOP      MB  GFLOP/s   GB/s  bound    bound "
      "ms\n";
  for (const RooflineRow& row : rows) {
    text += fmt::format(
        "{:<20} {:>9.3f} {:>5.1f} % {:>8.3f} {:>7.1f} {:>8.1f} {:>6.1f}  {:<7} {:>9.3f}\n",
        row.phase, 1e3 * row.seconds, 100 * row.seconds / total, row.flops / 1e9, row.bytes / 1e6,
        row.flops / row.seconds / 1e9, row.bytes / row.seconds / 1e9, bound_name(row),
        1e3 * row.bound());
  }
  return text +
         fmt::format(
             "matrix products: {:.1f} % of the step; bound of the step: {:.3f} of {:.3f} ms\n",
             100 * products / total, 1e3 * bound, 1e3 * total);
}

}  // namespace headlight::cli
