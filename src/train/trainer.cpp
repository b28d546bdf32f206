#include "headlight/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stopwatch.h"
#include "distributed/sharded_gradients.h"
#include "headlight/autograd/autograd.h"
#include "headlight/optim/clip.h"
#include "kernels/phase_times.h"
#include "train/chosen_optimizer.h"
#include "train/spike_detector.h"

namespace headlight {
namespace {

constexpr std::uint64_t kDropoutStream = 2;

// Returns null for a single shard.
std::unique_ptr<ShardedGradients> make_sharded(const TrainConfig& config,
                                               const LanguageModel& model, Processes& processes) {
  const Index shards = config.shard_count(processes.count());
  if (shards == 1) {
    return nullptr;
  }
  ShardedGradientsOptions options{.shards = shards};
  for (const HiddenMatrix& matrix : model.hidden_matrices()) {
    if (is_named(config.optimizer, OptimizerKind::muon)) {
      options.whole.push_back(matrix.name);
    }
  }
  return std::make_unique<ShardedGradients>(processes, model.trainable_parameters(), options);
}

std::optional<TensorParts> own_parts(const ShardedGradients* sharded) {
  const bool divides = sharded != nullptr && sharded->processes().count() > 1;
  return divides ? std::optional(sharded->owned()) : std::nullopt;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, LanguageModel& model, const TokenDataset& dataset,
                 Processes& processes)
    : config_(config),
      model_(model),
      dataset_(dataset),
      parameters_(model.trainable_parameters()),
      schedule_(config.schedule()),
      precision_(parse_name<Precision>("dtype", config.dtype)),
      batcher_(dataset, config.batcher()),
      loss_([this](const Batch& batch, const ForwardContext& context, Index normalizer) {
        return model_.loss(batch, context,
                           {.normalizer = normalizer,
                            .label_smoothing = config_.label_smoothing,
                            .z_loss = config_.z_loss});
      }),
      sharded_(make_sharded(config, model, processes)),
      optimizer_(make_optimizer(config, model, own_parts(sharded_.get()))) {
  if (config.ema_decay > 0) {
    average_.emplace(parameters_, config.ema_decay);
  }
}

Trainer::~Trainer() = default;

void Trainer::exchange_average() {
  if (average_) {
    average_->exchange();
  }
}

NamedTensors Trainer::average_state() const {
  return average_ ? average_->state() : NamedTensors();
}

NamedTensors Trainer::gather_optimizer_state() {
  NamedTensors whole = optimizer_->state();
  if (sharded_ != nullptr) {
    whole = sharded_->gather_state(whole);
  }
  const NamedTensors average = average_state();
  whole.insert(whole.end(), average.begin(), average.end());
  return whole;
}

NamedTensors Trainer::empty_optimizer_state() const {
  NamedTensors whole;
  for (const auto& [name, own] : optimizer_->state()) {
    const Shape shape = sharded_ == nullptr ? own.shape() : sharded_->whole_shape(name);
    whole.emplace_back(name, Tensor::empty(shape, own.dtype()));
  }
  for (const auto& [name, average] : average_state()) {
    whole.emplace_back(name, Tensor::empty(average.shape(), average.dtype()));
  }
  return whole;
}

void Trainer::set_optimizer_state(const NamedTensors& whole) {
  const NamedTensors average = average_state();
  const auto moments_end = whole.end() - std::min(std::ssize(average), std::ssize(whole));
  const NamedTensors moments(whole.begin(), moments_end);
  copy_tensors({moments_end, whole.end()}, average, "average");
  if (sharded_ == nullptr) {
    copy_tensors(moments, optimizer_->state(), "optimizer");
  } else {
    sharded_->take_own_state(moments, optimizer_->state());
  }
}

StepMetrics Trainer::fit(const std::function<bool(const StepMetrics&)>& after) {
  StepMetrics last;
  for (bool goes_on = true; goes_on && iteration_ < config_.max_iters;) {
    last = step();
    goes_on = !after || after(last);
  }
  return last;
}

void Trainer::go_to(Index iteration, UpdateHistory history) {
  iteration_ = iteration;
  history_ = std::move(history);
}

DataPosition Trainer::data_position() const {
  const Index batches = batcher_.batches_per_epoch();
  const Index next = next_batch();
  return {.seed = config_.seed,
          .epoch = next / batches,
          .batch = next % batches,
          .batches_per_epoch = batches,
          .tokens = dataset_.token_count};
}

// Returns the index of the next batch, counted from the first epoch.
Index Trainer::next_batch() const {
  const DataStart& start = history_.data_start;
  return start.batch +
         (iteration_ - start.update + history_.data_shift) * config_.gradient_accumulation_steps;
}

std::vector<Batch> Trainer::next_batches() {
  std::vector<Batch> batches;
  for (Index piece = 0; piece < config_.gradient_accumulation_steps; ++piece) {
    batches.push_back(batcher_.batch(next_batch() + piece));
  }
  return batches;
}

ForwardContext Trainer::context_of(Index batch) const {
  const RandomStream random{static_cast<std::uint64_t>(config_.seed), kDropoutStream};
  return {.training = true,
          .random = random.fork(static_cast<std::uint64_t>(batch)),
          .precision = precision_,
          .recompute = config_.recompute};
}

// Adds the gradients of all batches, or of one shard of each. Returns the sum of the losses.
double Trainer::add_gradients(const std::vector<Batch>& batches, std::optional<Index> shard,
                              StepMetrics& metrics) {
  Stopwatch clock;
  model_.zero_grad();
  metrics.phases.optimizer += clock.lap();
  kernels::end_phase("clearing gradients");
  double sum = 0;
  for (std::size_t piece = 0; piece < batches.size(); ++piece) {
    Batch own = batches[piece];
    ForwardContext context = context_of(next_batch() + static_cast<Index>(piece));
    if (shard) {
      own = shard_of(own, *shard, sharded_->shards());
      context.random = context.random.fork(static_cast<std::uint64_t>(*shard));
    }
    if (own.target_count == 0) {
      continue;
    }
    const Tensor loss = loss_(own, context, metrics.terms);
    sum += loss.item();
    metrics.phases.forward += clock.lap();
    const bool ends_shard = shard && piece + 1 == batches.size();
    backward(loss, {.on_leaf = ends_shard ? sharded_->expect_last() : LeafFunction()});
    metrics.phases.backward += clock.lap();
  }
  if (shard) {
    sharded_->end_shard();
    metrics.phases.backward += clock.lap();
  }
  return sum;
}

void Trainer::compute_gradients(const std::vector<Batch>& batches, StepMetrics& metrics) {
  std::vector<double> losses;
  for (Index i = 0; i < (sharded_ == nullptr ? 1 : sharded_->own_shards()); ++i) {
    const auto shard =
        sharded_ == nullptr ? std::nullopt : std::optional(sharded_->first_shard() + i);
    losses.push_back(add_gradients(batches, shard, metrics));
  }
  Stopwatch clock;
  metrics.loss = sharded_ == nullptr ? losses.front() : sharded_->sum(std::move(losses));
  metrics.gradient_norm = sharded_ == nullptr ? gradient_norm(parameters_) : sharded_->norm();
  metrics.phases.optimizer += clock.lap();
  kernels::end_phase("gradient norm");
}

// Sets the outcome of the step: non-finite numbers and loss spikes prevent an update.
void Trainer::set_outcome(StepMetrics& metrics) const {
  if (!std::isfinite(metrics.loss) || !std::isfinite(metrics.gradient_norm)) {
    metrics.reason = concat_text("the loss (", metrics.loss, ") or the gradient norm (",
                                 metrics.gradient_norm, ") is not finite");
    const auto reaction = parse_name<OnNan>("on_nan", config_.on_nan);
    if (reaction == OnNan::stop) {
      throw DivergedError(
          concat_text("step ", iteration_, ": ", metrics.reason,
                      "; try a smaller learning_rate, or on_nan = skip or rollback"));
    }
    metrics.outcome = reaction == OnNan::rollback ? StepOutcome::unusable : StepOutcome::skipped;
    return;
  }
  const double score =
      config_.skip_spikes > 0 ? spike_score(history_.recent_losses, metrics.loss) : 0;
  if (score > config_.skip_spikes) {
    metrics.reason = concat_text("the loss (", metrics.loss, ") is ", score,
                                 " standard deviations above the recent losses");
    metrics.outcome = StepOutcome::skipped;
  }
}

void Trainer::record_skipped_step(const StepMetrics& metrics) {
  ++history_.skipped;
  ++history_.skipped_in_row;
  if (history_.skipped_in_row > config_.max_bad_updates) {
    throw DivergedError(concat_text(
        "step ", iteration_, ": ", metrics.reason, ", as in the ", config_.max_bad_updates,
        " steps before (max_bad_updates); try a smaller learning_rate"));
  }
}

StepMetrics Trainer::step() {
  Stopwatch clock;
  StepMetrics metrics{.iteration = iteration_, .learning_rate = learning_rate()};
  const std::vector<Batch> batches = next_batches();
  for (const Batch& batch : batches) {
    metrics.tokens += batch.target_count;
    metrics.inputs += batch.token_count();
    metrics.terms += batch.loss_terms();
  }
  metrics.phases.data = clock.lap();
  kernels::end_phase("batch");
  compute_gradients(batches, metrics);
  clock.lap();
  set_outcome(metrics);
  if (metrics.outcome == StepOutcome::updated) {
    optimizer_->step(metrics.learning_rate, clip_scale(metrics.gradient_norm, config_.grad_clip));
    if (sharded_ != nullptr) {
      sharded_->spread_weights();
    }
    if (average_) {
      average_->update(optimizer_->step_count());
    }
    history_.skipped_in_row = 0;
  } else if (metrics.outcome == StepOutcome::skipped) {
    record_skipped_step(metrics);
  }
  if (config_.skip_spikes > 0 && std::isfinite(metrics.loss)) {
    remember_loss(history_.recent_losses, metrics.loss);
  }
  iteration_ += metrics.outcome == StepOutcome::unusable ? 0 : 1;
  metrics.phases.optimizer += clock.lap();
  kernels::end_phase("optimizer");
  metrics.seconds = metrics.phases.total();
  return metrics;
}

}  // namespace headlight
