#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/training_batch.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/layout.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/clip.h"
#include "headlight/optim/muon_with_adamw.h"
#include "headlight/optim/schedule.h"
#include "headlight/optim/sgd.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

GptConfig config_of(const Run& run) {
  GptConfig config;
  config.n_layer = run.attribute<Index>("n_layer", 0);
  config.n_head = run.attribute<Index>("n_head", 0);
  config.n_embd = run.attribute<Index>("n_embd", 0);
  config.vocab_size = run.attribute<Index>("vocab_size", 0);
  config.block_size = run.attribute<Index>("block_size", 0);
  config.tie_weights = run.attribute("tie_weights", true);
  config.activation =
      parse_name<Activation>("activation", run.attribute<std::string>("activation", "gelu_new"));
  return config;
}

Gpt model_of(Run& run) { return Gpt(config_of(run), 1, run.input("wte.weight").dtype()); }

PaddedBatch padded_of(const Tensor& tokens, const Tensor& padding_mask) {
  PaddedBatch padded{.tokens = tokens, .padding_mask = padding_mask, .lengths = {}};
  for (Index row = 0; row < tokens.size(0); ++row) {
    Index length = 0;
    for (const double pad : slice(padding_mask, 0, row, row + 1).to_vector()) {
      length += pad == 0 ? 1 : 0;
    }
    padded.lengths.push_back(length);
  }
  return padded;
}

void run_model(Run& run) {
  Gpt model = model_of(run);
  run.load(model);
  const Batch batch = remove_padding(padded_of(run.input("tokens"), run.input("padding_mask")));
  Recorder recorder;
  run.output("logits", model.logits(batch, {.recorder = &recorder}).detach());
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    run.output("attention." + std::to_string(layer), recorder.padded(layer));
  }
  if (batch.target_count > 0) {
    const Tensor loss = model.loss(batch);
    run.output("loss", loss.detach());
    backward(loss);
    for (const auto& [name, parameter] : model.parameters()) {
      run.gradient(name, parameter.grad());
    }
  }
}

// Returns batch `number` of tokens and padding_mask [batches, B, T]. If packed, each row is a block
// and its last target.
Batch batch_of(const Run& run, Index number) {
  const auto part = [&](const char* name) {
    const Tensor all = run.input(name);
    return reshape(slice(all, 0, number, number + 1), {all.size(1), all.size(2)}).clone();
  };
  const Tensor tokens = part("tokens");
  if (run.attribute<std::string>("batching", "") == "padded") {
    return remove_padding(padded_of(tokens, part("padding_mask")));
  }
  std::vector<std::vector<std::int32_t>> sequences;
  const std::int32_t* row = tokens.data<std::int32_t>();
  for (Index b = 0; b < tokens.size(0); ++b, row += tokens.size(1)) {
    sequences.emplace_back(row, row + tokens.size(1));
  }
  return training_batch(sequences);
}

std::unique_ptr<Optimizer> optimizer_of(const Run& run, const Gpt& model) {
  const double decay = run.attribute("weight_decay", 0.0);
  const std::string name = run.attribute<std::string>("optimizer", "");
  if (name == "adamw") {
    return std::make_unique<AdamW>(model.parameters(), AdamWOptions{.weight_decay = decay});
  }
  if (name == "muon") {
    return std::make_unique<MuonWithAdamW>(model, muon_options(run),
                                           AdamWOptions{.weight_decay = decay});
  }
  return std::make_unique<Sgd>(model.parameters(),
                               SgdOptions{.momentum = run.attribute("momentum", 0.0),
                                          .nesterov = run.attribute("nesterov", false),
                                          .weight_decay = decay});
}

LearningRateSchedule schedule_of(const Run& run) {
  return {.kind = ScheduleKind::cosine,
          .learning_rate = run.attribute("learning_rate", 0.0),
          .min_learning_rate = run.attribute("min_lr", 0.0),
          .warmup_steps = run.attribute<Index>("warmup_iters", 0),
          .decay_steps = run.attribute<Index>("lr_decay_iters", 0)};
}

// Computes the gradients of one step; returns the mean loss over the targets of all its batches.
double accumulate(const Run& run, Gpt& model, Index update) {
  const Index pieces = run.attribute<Index>("gradient_accumulation_steps", 1);
  std::vector<Batch> batches;
  Index targets = 0;
  for (Index piece = 0; piece < pieces; ++piece) {
    batches.push_back(batch_of(run, update * pieces + piece));
    targets += batches.back().target_count;
  }
  model.zero_grad();
  double sum = 0;
  for (const Batch& batch : batches) {
    const Tensor loss = model.loss(batch, {.training = true}, {.normalizer = targets});
    sum += loss.item();
    backward(loss);
  }
  return sum;
}

// Outputs the final weights. Zeroes the keys' biases if they are only rounding noise.
void output_weights(Run& run, const Gpt& model) {
  for (const auto& [name, parameter] : model.parameters()) {
    Tensor values = parameter.clone();
    if (run.attribute("skip_key_bias", false) && name.ends_with("c_attn.bias")) {
      const Index width = values.size(0) / 3;
      slice(values, 0, width, 2 * width).fill(0);
    }
    run.output("final." + name, values);
  }
}

void run_training(Run& run) {
  Gpt model = model_of(run);
  run.load(model);
  const NamedTensors parameters = model.parameters();
  const auto optimizer = optimizer_of(run, model);
  const LearningRateSchedule schedule = schedule_of(run);
  const Index updates =
      run.input("tokens").size(0) / run.attribute<Index>("gradient_accumulation_steps", 1);
  std::vector<double> losses;
  std::vector<double> norms;
  for (Index update = 0; update < updates; ++update) {
    losses.push_back(accumulate(run, model, update));
    norms.push_back(gradient_norm(parameters));
    optimizer->step(schedule.at(update), clip_scale(norms.back(), run.attribute("grad_clip", 0.0)));
  }
  run.output("losses", convert(Tensor::from(losses, {updates}), model.dtype()));
  run.output("norms", convert(Tensor::from(norms, {updates}), model.dtype()));
  output_weights(run, model);
}

}  // namespace

Runners gpt2_runners() { return {{"gpt2", run_model}, {"gpt2_training", run_training}}; }

}  // namespace headlight::parity
