#include "headlight/generate/decoder.h"

#include <algorithm>
#include <optional>

#include "generate/decoder_step.h"
#include "generate/packed_products.h"
#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "kernels/gemm/products.h"
#include "kernels/loops.h"

namespace headlight {
namespace {

// Maximum number of tokens for which multiplying with the packed panels is faster than packing the
// model's matrices into tiles.
constexpr Index kFewTokens = 32;

}  // namespace

struct Decoder::State {
  State(const LanguageModel& whole_model, WeightFormat weight_format)
      : whole(whole_model), format(weight_format) {
    if (const auto* gpt = dynamic_cast<const Gpt*>(&whole)) {
      packed.emplace(*gpt, format);
      products.emplace(*packed);
    }
    require_value(packed.has_value() || format == WeightFormat::float32, "weights",
                  "expected float32 for a model of type '", whole.model_type(), "', got ",
                  name_of(format));
  }

  const DecoderModel& steps() const {
    require(packed.has_value(), "[Decoder] a model of type '", whole.model_type(),
            "' cannot decode token by token, expected a Gpt");
    return *packed;
  }
  // Returns the products for a prompt of this many tokens; null: the model multiplies.
  const WeightProducts* products_for(Index tokens) const {
    const bool is_own = kernels::gemm_engine() == kernels::ProductEngine::tiles;
    const bool is_fast = format == WeightFormat::int8 ? kernels::multiplies_int8_fast()
                                                      : is_own && tokens <= kFewTokens;
    return is_fast ? &*products : nullptr;
  }
  // Returns memory for a step. The memory only grows.
  const StepWorkspace& workspace_for(Index batch, Index threads) {
    if (!workspace.has_value() || !workspace->fits(batch, threads)) {
      workspace.reset();
      workspace.emplace(steps(), batch, threads);
    }
    return *workspace;
  }

  const LanguageModel& whole;
  WeightFormat format;
  std::optional<DecoderModel> packed;
  std::optional<PackedProducts> products;  // products with the packed matrices
  std::optional<StepWorkspace> workspace;
};

namespace {

void check_items(const DecoderModel& model, std::span<const DecodeItem> items) {
  const Index vocabulary = model.token_embedding.size(0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    require(items[i].token >= 0 && items[i].token < vocabulary, "[Decoder] expected ids from 0 to ",
            vocabulary - 1, ", got ", items[i].token, " for sequence ", i);
    require(items[i].cache != nullptr, "[Decoder] expected a cache for sequence ", i);
    model.gpt->check_cache(*items[i].cache, 1);
  }
}

// Tokens, positions and offsets of a step, for a hook.
struct StepRows {
  explicit StepRows(std::span<const DecodeItem> items) {
    for (const DecodeItem& item : items) {
      tokens.push_back(item.token);
      positions.push_back(static_cast<std::int32_t>(item.cache->length()));
      offsets.push_back(std::ssize(tokens));
    }
  }
  PassRows rows() const { return {tokens, positions, offsets}; }

  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;
  std::vector<Index> offsets{0};
};

// Writes the embeddings of the tokens, and of their positions if learned, to `stream`.
void embed(const DecoderModel& model, std::span<const DecodeItem> items, const StepVectors& stream,
           ForwardHook* hook) {
  const auto batch = static_cast<Index>(items.size());
  for (Index b = 0; b < batch; ++b) {
    const Index token = items[static_cast<std::size_t>(b)].token;
    std::copy_n(model.token_embedding.data<float>() + token * model.width, model.width,
                stream.of(b));
    if (const double scale = model.gpt->config().embedding_scale; scale > 0) {
      kernels::loops<float>().scale(static_cast<float>(scale), stream.of(b), model.width);
    }
  }
  visit_rows(hook, {Point::embed}, stream, {batch, model.width});
  if (model.position_embedding.defined()) {
    for (Index b = 0; b < batch; ++b) {
      const Index position = items[static_cast<std::size_t>(b)].cache->length();
      const float* values = model.position_embedding.data<float>() + position * model.width;
      kernels::loops<float>().add(stream.of(b), values, stream.of(b), model.width);
    }
  }
}

}  // namespace

Decoder::Decoder(const LanguageModel& model, WeightFormat format)
    : state_(std::make_unique<State>(model, format)) {}

Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

const LanguageModel& Decoder::model() const { return state_->whole; }
WeightFormat Decoder::format() const { return state_->format; }
bool Decoder::has_steps() const { return state_->packed.has_value(); }
KeyValueCache Decoder::make_cache() const { return state_->steps().gpt->make_cache(); }

void Decoder::read(const std::vector<std::int32_t>& tokens, KeyValueCache& cache,
                   ForwardHook* hook) {
  if (tokens.size() == 1) {
    const DecodeItem item{tokens[0], &cache};
    step({&item, 1}, hook);
    return;
  }
  const DecoderModel& model = state_->steps();
  const Gpt& gpt = *model.gpt;
  KeyValueCache* const caches[] = {&cache};
  const NoGrad no_grad;
  const Batch batch = continue_sequences({tokens}, {cache.length()});
  const WeightProducts* products = state_->products_for(std::ssize(tokens));
  const Tensor all =
      gpt.residual(batch, gpt.config().n_layer,
                   {.hook = hook, .products = products, .caches = caches});  // [T, C]
  const Tensor last = slice(all, 0, all.size(0) - 1, all.size(0));
  const Batch last_token = last_tokens(batch);
  const Tensor hidden =
      to_contiguous(gpt.hidden_from(gpt.config().n_layer, last, last_token, {.hook = hook}));
  const Index threads = step_threads(model, 1);
  const StepWorkspace& workspace = state_->workspace_for(1, threads);
  std::copy_n(hidden.data<float>(), model.width, workspace.normalized(0).start);
  const DecoderStep step(model, {}, workspace);
  kernels::parallel_team(threads, model.head.rows() * model.width,
                         [&](const kernels::TeamMember& me) { step.run_head(me); });
  HookPair hooks(gpt.attached(), hook);
  visit_rows(hooks.get(), {Point::logits}, workspace.logits, {1, model.head.rows()});
}

void Decoder::step(std::span<const DecodeItem> items, ForwardHook* given) {
  const DecoderModel& model = state_->steps();
  HookPair hooks(model.gpt->attached(), given);
  ForwardHook* hook = hooks.get();
  const auto batch = static_cast<Index>(items.size());
  require(batch > 0, "[Decoder] expected at least one sequence");
  check_items(model, items);
  const Index threads = step_threads(model, batch);
  const StepWorkspace& workspace = state_->workspace_for(batch, threads);
  for (const DecodeItem& item : items) {
    item.cache->reserve(1);
  }
  const StepRows rows(items);
  if (hook != nullptr) {
    hook->begin(rows.rows());
  }
  embed(model, items, workspace.stream, hook);
  DecoderStep step(model, items, workspace, hook);
  kernels::parallel_team(threads, step_work(model, batch),
                         [&](const kernels::TeamMember& me) { step.run(me); });
  step.rethrow();
  for (const DecodeItem& item : items) {
    item.cache->advance(1);
  }
}

std::span<const float> Decoder::logits(Index item) const {
  require(state_->workspace.has_value() && state_->workspace->fits(item + 1, 1),
          "[Decoder] no logits of sequence ", item);
  return {state_->workspace->logits.of(item), static_cast<std::size_t>(state_->whole.vocab_size())};
}

}  // namespace headlight
