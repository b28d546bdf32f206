#include "headlight/train/memory_plan.h"

#include <bit>
#include <string>

#include "headlight/kernels/machine/memory.h"
#include "headlight/nn/architecture.h"

namespace headlight {
namespace {

constexpr double kBytes = 4;  // bytes of a float32

// Returns the number of trained parameters: all, or the parameters of a LoRA adapter of all
// matrices.
double trained_parameters(const TrainConfig& config, const GptConfig& model) {
  if (config.lora_rank == 0) {
    return static_cast<double>(count_parameters(model).total());
  }
  double count = 0;
  for (const Weight& weight : weights_of(model)) {
    const double updates = weight.part == Part::query_key_value ? 3 : 1;
    count += is_hidden_matrix(weight) ? static_cast<double>(weight.shape[0]) +
                                            updates * static_cast<double>(weight.shape[1])
                                      : 0;
  }
  return count * static_cast<double>(config.lora_rank);
}

// Returns the bytes of the weights. Packed ones are read as float32 first, before there are
// activations.
double weights_of_model(const TrainConfig& config, const GptConfig& model) {
  const WeightFormat format = format_of(config.matrix_form());
  double bytes = kBytes * static_cast<double>(count_parameters(model).total());
  for (const Weight& weight : weights_of(model)) {
    const auto count = static_cast<double>(numel(weight.shape));
    bytes -= is_hidden_matrix(weight) ? (kBytes - weight_bytes(format)) * count : 0;
  }
  return bytes;
}

// Returns the bytes of the optimizer's state. Newton-Schulz iteration needs more, but reuses the
// memory of the activations, which are freed by then.
double moments_of(const TrainConfig& config, const GptConfig& model) {
  const double all = trained_parameters(config, model);
  const auto kind = parse_name<OptimizerKind>("optimizer", config.optimizer);
  if (kind == OptimizerKind::sgd) {
    return config.resolved().momentum > 0 ? kBytes * all : 0;
  }
  double hidden = 0;
  for (const Weight& weight : weights_of(model)) {
    hidden += is_hidden_matrix(weight) ? static_cast<double>(numel(weight.shape)) : 0;
  }
  return kBytes * (2 * all - (kind == OptimizerKind::muon ? hidden : 0));
}

// Returns the peak number of elements per token, measured with tools/bench/growth.sh. In a layer:
// its input, normed inputs, queries, keys and values, heads, both halves of the MLP, and the
// gradients of all these. With bfloat16, queries, keys, values and half of the MLP take 16 bits.
// Outside the layers: the embedding, the final norm and the head. With `recompute`, one layer has
// all of these, and the others only their inputs and heads.
double activations_of(const GptConfig& model, const TrainConfig& config) {
  const double widths_of_layer = config.dtype == "bfloat16" ? 9.5 : 13;
  constexpr double kWidthsAround = 8;
  const auto layers = static_cast<double>(model.n_layer);
  const double in_layers =
      config.recompute ? 2 * layers + widths_of_layer : widths_of_layer * layers;
  return static_cast<double>(model.n_embd) * (in_layers + kWidthsAround);
}

std::string megabytes(double bytes) {
  return std::to_string(static_cast<Index>(bytes / 1e6)) + " MB";
}

}  // namespace

MemoryPlan plan_memory(const TrainConfig& config, const GptConfig& model, Index processes,
                       double stored) {
  const double tokens =
      static_cast<double>(config.batch_size) * static_cast<double>(config.gpt.block_size);
  const double trained = kBytes * trained_parameters(config, model);
  const double moments = moments_of(config, model);
  const double average = config.ema_decay > 0 ? trained : 0;
  const auto own_shards = static_cast<std::uint64_t>(config.shard_count(processes) / processes);
  const auto waiting_sums = static_cast<double>(std::bit_width(own_shards) - 1);
  return {.parameters = count_parameters(model).total(),
          .weights = stored > 0 ? stored : weights_of_model(config, model),
          .gradients = trained * (1 + waiting_sums),
          .moments = moments / static_cast<double>(processes) + average,
          .snapshot = config.saves_in_background() ? trained + moments + average
                      : processes > 1              ? moments  // gathered in process 0
                                                   : 0,
          .activations = kBytes * tokens * activations_of(model, config),
          .data = 0,
          .available = available_memory()};
}

void require_memory(const MemoryPlan& plan) {
  const bool activations_most = plan.activations > plan.total() / 2;
  const bool data_most = plan.data > plan.total() / 2;
  require(
      plan.available == 0 || plan.total() <= plan.available, "training ", plan.parameters,
      " parameters needs about ", megabytes(plan.total()), " of memory (",
      megabytes(plan.activations), " for the activations of a batch, ", megabytes(plan.data),
      " for the data), but ", megabytes(plan.available), " are available; ",
      data_most
          ? "turn the data into a .bin file first (headlight tokenizer encode), which stays on disk"
      : activations_most
          ? "choose a smaller batch_size (with more gradient_accumulation_steps) or block_size"
          : "choose a smaller n_layer, n_embd or vocab_size");
}

}  // namespace headlight
