#include "headlight/nn/gpt.h"

#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/activation.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "nn/block_order.h"
#include "nn/trained_rows.h"

namespace headlight {
namespace {

constexpr double kInitialDeviation = 0.02;
constexpr std::uint64_t kInitializationStream = 1;

GptConfig validated(const GptConfig& config) {
  config.validate();
  return config.canonical();
}

void require_layer(Index layer, const GptConfig& config) {
  require(layer >= 0 && layer <= config.n_layer, "[Gpt] expected a layer from 0 to ",
          config.n_layer, ", got ", layer);
}

}  // namespace

Gpt::Gpt(const GptConfig& config, std::uint64_t seed, DType dtype)
    : Gpt(config, Initialisations{}, dtype) {
  initialize(seed);
}

Gpt::Gpt(const GptConfig& config, const Initialisations& initialisations, DType dtype)
    : config_(validated(config)),
      dtype_(dtype),
      wte_({config.vocab_size, config.n_embd, std::nullopt, dtype, initialisations.head}),
      dropout_(config.embedding_dropout, 0) {
  const auto add_embedding = [&](Part part, std::optional<Embedding>& embedding, Index count) {
    if (count > 0) {
      register_module(part_name(part),
                      embedding.emplace(Embedding::Options{count, config.n_embd, std::nullopt,
                                                           dtype, Initialisation::zeros}));
    }
  };
  const auto add_norm = [&](Part part, std::optional<LayerNorm>& norm, bool exists) {
    if (exists) {
      register_module(part_name(part), norm.emplace(config.norm_options(config.n_embd, dtype)));
    }
  };
  register_module(part_name(Part::token_embedding), wte_);
  const bool has_positions = config.position == PositionKind::learned;
  add_embedding(Part::position_embedding, wpe_, has_positions ? config.block_size : 0);
  add_embedding(Part::segment_embedding, wse_, config.n_segment);
  add_norm(Part::embedding_norm, ln_e_, config.embedding_norm);
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    blocks_.push_back(
        std::make_unique<Block>(config, layer, dtype, RandomStream{}, initialisations.layers));
    register_module("h." + std::to_string(layer), *blocks_.back());
  }
  add_norm(Part::final_norm, ln_f_, config.has_final_norm());
  if (config.masked_head) {
    const LinearOptions options{config.n_embd, config.n_embd, true, dtype, Initialisation::zeros};
    register_module(part_name(Part::head_transform), head_transform_.emplace(options));
  }
  add_norm(Part::head_norm, head_norm_, config.masked_head);
  if (!config.tie_weights) {
    const LinearOptions options{config.n_embd, config.vocab_size, config.has_head_bias(), dtype,
                                initialisations.head};
    register_module("lm_head", lm_head_.emplace(options));
  } else if (config.has_head_bias()) {
    head_bias_ = register_parameter("lm_head.bias", Tensor::zeros({config.vocab_size}, dtype));
  }
  list_weights();
}

void Gpt::list_weights() {
  const NamedTensors tensors = parameters();
  std::vector<Weight> weights = weights_of(config_);
  require(tensors.size() == weights.size(), "[Gpt] ", tensors.size(), " parameters for ",
          weights.size(), " weights");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    require(name == weights[i].name && tensor.shape() == weights[i].shape, "[Gpt] parameter ", name,
            " ", tensor.shape(), " does not match ", weights[i].name, " ", weights[i].shape);
    weights_.push_back({std::move(weights[i]), tensor});
  }
}

void Gpt::initialize(std::uint64_t seed) {
  const double residual_deviation =
      kInitialDeviation / std::sqrt(2.0 * static_cast<double>(config_.n_layer));
  std::uint64_t number = 0;
  for (auto& [weight, tensor] : weights_) {
    const RandomStream random = RandomStream{seed, kInitializationStream}.fork(number++);
    if (weight.start == Start::normal || weight.start == Start::residual) {
      const double deviation =
          weight.start == Start::residual ? residual_deviation : kInitialDeviation;
      tensor.copy_from(random_normal(tensor.shape(), random, 0, deviation, dtype_));
    } else {
      tensor.fill(weight.start == Start::ones ? 1 : 0);
    }
  }
}

void Gpt::train_rows(const std::vector<std::int32_t>& ids) {
  wte_.train_rows(ids);
  if (lm_head_ && !lm_head_->bias.defined()) {
    lm_head_->train_rows(ids);
  }
}

// Returns the layer that has a matrix.
const Linear& Gpt::linear_of(const Weight& weight) const {
  const auto part = std::string_view(weight.name).substr(0, weight.name.rfind('.'));
  return dynamic_cast<const Linear&>(*find_part(part));
}

Tensor Gpt::find(Part part, Index layer, bool is_bias) const {
  for (const auto& [weight, tensor] : weights_) {
    if (weight.part == part && weight.layer == layer && weight.is_bias == is_bias) {
      if (part == Part::token_embedding || (part == Part::head && !is_bias)) {
        return (part == Part::head ? head_weight() : wte_.full_weight()).detach();
      }
      const NoGrad no_grad;
      return is_hidden_matrix(weight) ? linear_of(weight).full_weight().detach() : tensor.detach();
    }
  }
  return {};
}

Tensor Gpt::head_rows(const Tensor& ids) const {
  return stored_head() != nullptr ? stored_head()->rows(ids) : embedding(head_weight(), ids);
}

Tensor Gpt::weight_rows(Part part, Index layer, Index first, Index last) const {
  for (const auto& [weight, tensor] : weights_) {
    if (weight.part == part && weight.layer == layer && is_hidden_matrix(weight)) {
      const Linear& linear = linear_of(weight);
      if (linear.stored() != nullptr && linear.updates().empty()) {
        return linear.stored()->rows(slice(Tensor::arange(last), 0, first, last));
      }
    }
  }
  return slice(weight(part, layer), 0, first, last);
}

Tensor Gpt::scaled_embedding(const Tensor& ids) const {
  const Tensor rows = wte_.forward(ids);
  return config_.embedding_factor() == 1 ? rows : rows * config_.embedding_factor();
}

void Gpt::check_prefixes(const Batch& batch, const ForwardContext& context) const {
  const auto prefixes = context.prefixes;
  require(prefixes.empty() || (config_.causal && context.caches.empty() &&
                               std::ssize(prefixes) == batch.sequence_count()),
          "[Gpt] expected no caches and a prefix for each of ", batch.sequence_count(),
          " sequences of a causal model, got ", prefixes.size());
  for (const KnownPrefix& prefix : prefixes) {
    require(
        !prefix.is_there() || (prefix.cache != nullptr && prefix.length <= prefix.cache->length() &&
                               prefix.cache->layers() == config_.n_layer),
        "[Gpt] expected a cache of ", config_.n_layer, " layers with the ", prefix.length,
        " positions of a prefix");
  }
}

void Gpt::prepare_caches(const Batch& batch, const ForwardContext& context) const {
  require(static_cast<Index>(context.caches.size()) == batch.sequence_count(),
          "[Gpt] expected a cache for each of ", batch.sequence_count(), " sequences, got ",
          context.caches.size());
  for (std::size_t b = 0; b < context.caches.size(); ++b) {
    check_cache(*context.caches[b], batch.offsets[b + 1] - batch.offsets[b]);
  }
  for (std::size_t b = 0; b < context.caches.size(); ++b) {
    context.caches[b]->reserve(batch.offsets[b + 1] - batch.offsets[b]);
  }
}

// A pass or a part of one, with the hooks of the model and of the context as one.
class Gpt::Pass {
 public:
  Pass(const Gpt& model, const ForwardContext& context)
      : model_(model),
        hooks_(model.attached(), context.hook, model.config_.residual_multiplier),
        context_(context) {
    context_.hook = hooks_.get();
    if (context_.hook != nullptr && !model.features_.empty()) {
      context_.hook = &features_.emplace(model.attached(), context.hook, model.features_,
                                         model.config_.residual_multiplier);
    }
    if (!context.caches.empty()) {
      no_grad_.emplace();
    }
  }
  // Shows the batch to the hooks.
  Pass(const Gpt& model, const Batch& batch, const ForwardContext& context) : Pass(model, context) {
    model.check_prefixes(batch, context);
    begin(batch);
  }

  void begin(const Batch& rows) const {
    if (context_.hook != nullptr) {
      context_.hook->begin(rows);
    }
  }
  Tensor residual(const Batch& batch, Index layer) const;
  Tensor run(Index first, Index last, const Tensor& residual, const Batch& batch) const;
  Tensor finished(const Tensor& residual) const { return model_.finished(residual, context_.hook); }
  Tensor hidden(const Batch& batch) const {
    return finished(residual(batch, model_.config_.n_layer));
  }
  Tensor logits(const Tensor& hidden) const {
    return visited(context_.hook, {Point::logits}, model_.head_logits(hidden, context_.precision));
  }

 private:
  Tensor embed(const Batch& batch) const;

  const Gpt& model_;
  HookPair hooks_;
  std::optional<FeaturePoints> features_;
  ForwardContext context_;
  std::optional<NoGrad> no_grad_;
};

Tensor Gpt::Pass::embed(const Batch& batch) const {
  Tensor x = visited(context_.hook, {Point::embed}, model_.scaled_embedding(batch.tokens));
  x = model_.wpe_ ? x + model_.wpe_->forward(batch.positions) : x;
  x = model_.wse_ ? x + slice(model_.wse_->weight, 0, 0, 1) : x;
  return model_.ln_e_ ? model_.ln_e_->forward(x) : x;
}

Tensor Gpt::Pass::residual(const Batch& batch, Index layer) const {
  const Index block_size = model_.config_.block_size;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    const Index length = batch.offsets[b + 1] - batch.offsets[b];
    require(length <= block_size, "[Gpt] sequence ", b, " has ", length,
            " tokens, more than the context length of ", block_size);
  }
  if (!context_.caches.empty()) {
    model_.prepare_caches(batch, context_);
  }
  return run(0, layer, model_.dropout_.forward(embed(batch), context_), batch);
}

Tensor Gpt::Pass::run(Index first, Index last, const Tensor& residual, const Batch& batch) const {
  require_layer(first, model_.config_);
  require_layer(last, model_.config_);
  Tensor x = residual;
  for (Index layer = first; layer < last; ++layer) {
    x = model_.block(layer).forward(x, batch.offsets, context_);
    if (const auto call = model_.after_layer_) {  // a copy, because the call may change the member
      call(batch.token_count());
    }
  }
  const bool is_whole = first < last && last == model_.config_.n_layer;
  for (std::size_t b = 0; is_whole && b < context_.caches.size(); ++b) {
    context_.caches[b]->advance(batch.offsets[b + 1] - batch.offsets[b]);
  }
  return x;
}

Tensor Gpt::residual(const Batch& batch, Index layer, const ForwardContext& context) const {
  return Pass(*this, batch, context).residual(batch, layer);
}

Tensor Gpt::run_layers(Index first, Index last, const Tensor& residual, const Batch& batch,
                       const ForwardContext& context) const {
  return Pass(*this, batch, context).run(first, last, residual, batch);
}

Tensor Gpt::hidden_from(Index layer, const Tensor& residual, const Batch& batch,
                        const ForwardContext& context) const {
  const Pass pass(*this, batch, context);
  return pass.finished(pass.run(layer, config_.n_layer, residual, batch));
}

Tensor Gpt::finished(const Tensor& residual, ForwardHook* hook) const {
  Tensor x = residual;
  if (ln_f_) {
    x = ln_f_->forward(residual, hook, kFinalNorm);
  } else if (head_transform_) {
    x = head_norm_->forward(activate(head_transform_->forward(residual), config_.activation));
  }
  return config_.logit_scale > 0 ? x * config_.logit_scale : x;
}

Tensor Gpt::hidden(const Batch& batch, const ForwardContext& context) const {
  return Pass(*this, batch, context).hidden(batch);
}

Tensor Gpt::logits(const Batch& batch, const ForwardContext& context) const {
  const Pass pass(*this, batch, context);
  return pass.logits(pass.hidden(batch));
}

Tensor Gpt::next_logits(const Batch& batch, const ForwardContext& context) const {
  const Pass pass(*this, batch, context);
  const Tensor last = last_rows(pass.hidden(batch), batch);
  pass.begin(last_tokens(batch));
  return pass.logits(last);
}

Tensor Gpt::logits_of(const Tensor& hidden, const ForwardContext& context) const {
  return Pass(*this, context).logits(hidden);
}

Tensor Gpt::head_product(const Tensor& hidden, Precision precision) const {
  config_.require_head();
  return stored_head() != nullptr ? stored_head()->product(hidden, precision)
                                  : linear(hidden, head_weight(), head_bias(), precision);
}

Tensor Gpt::head_logits(const Tensor& hidden, Precision precision) const {
  const Tensor logits = head_product(hidden, precision);
  return config_.logit_cap > 0 ? soft_cap(logits, config_.logit_cap) : logits;
}

Tensor Gpt::logit_difference(const Tensor& hidden, std::int32_t token, std::int32_t other) const {
  const double cap = config_.logit_cap;
  const auto row = [&](std::int32_t id) { return head_rows(Tensor::from({id}, {1})); };
  const auto bias = [&](std::int32_t id) {
    return head_bias().defined() ? slice(head_bias(), 0, id, id + 1) : Tensor();
  };
  const auto logit = [&](std::int32_t id) {
    return soft_cap(linear(hidden, row(id), bias(id)), cap);
  };
  const Tensor difference =
      cap > 0 ? logit(token) - logit(other)
              : linear(hidden, row(token) - row(other),
                       head_bias().defined() ? bias(token) - bias(other) : Tensor());
  return reshape(difference, {hidden.size(0)});
}

std::optional<LinearHead> Gpt::linear_head(const ForwardHook* hook) const {
  const bool is_packed =
      stored_head() != nullptr && dynamic_cast<const TrainedRows*>(stored_head()) == nullptr;
  const bool is_seen =
      wants_any(attached(), {Point::logits}, 0) || wants_any(hook, {Point::logits}, 0);
  return is_packed || is_seen || head_bias().defined()
             ? std::nullopt
             : std::optional(LinearHead{head_weight(), config_.logit_cap});
}

void Gpt::check_cache(const KeyValueCache& cache, Index count) const {
  require(config_.causal, "[Gpt] a bidirectional model has no key/value cache");
  require(cache.layers() == config_.n_layer, "[Gpt] expected a cache of ", config_.n_layer,
          " layers, got ", cache.layers());
  for (Index layer = 0; layer < config_.n_layer; ++layer) {
    const AttentionPlan plan = block_plan(config_, layer).attention;
    const AttentionPlan& own = cache.plan(layer);
    require(own.key_heads == plan.key_heads && own.head_width == plan.head_width,
            "[Gpt] expected a cache of ", plan.key_heads, " heads of width ", plan.head_width,
            " in layer ", layer, ", got ", own.key_heads, " of width ", own.head_width);
  }
  const Index length = cache.length() + count;
  require(cache.length() == 0 || !changes_keys(cache.length(), length), "[Gpt] the keys of ",
          cache.length(), " tokens cannot be used in a sequence of ", length,
          ": longrope rotates all keys of sequences longer than ",
          config_.rope.original_max_position_embeddings, " otherwise");
  require(length <= config_.block_size, "[Gpt] a context of ", config_.block_size,
          " positions has no room for ", count, " more after ", cache.length());
}

}  // namespace headlight
