#include "headlight/generate/decoder.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "generate/decoder_step.h"
#include "headlight/autograd/autograd.h"
#include "kernels/gemm/products.h"
#include "kernels/loops.h"
#include "nn/packed/packed_weight.h"

namespace headlight {
namespace {

// Maximum number of tokens for which multiplying with the packed panels is faster than packing the
// model's matrices into tiles.
constexpr Index kMostPanelTokens = 128;
// Maximum number of tokens of a prompt for which products that round x are not much faster than
// exact ones with the packed panels (with integers: to 2^-15 of a block's largest element).
constexpr Index kMostExactTokens = 32;
constexpr Index kMostExactIntegerTokens = 64;

// Packed matrix of a layer, and its index there.
struct LayerMatrix {
  const PackedMatrix* packed;
  Part part;
};
using LayerMatrices = std::unordered_map<const Module*, LayerMatrix>;  // by Linear

LayerMatrices matrices_of(const DecoderModel& model) {
  LayerMatrices matrices;
  for (const auto& [weight, tensor] : model.gpt->weights()) {
    if (is_hidden_matrix(weight)) {
      const DecoderLayer& layer = model.layers[static_cast<std::size_t>(weight.layer)];
      const auto name = std::string_view(weight.name).substr(0, weight.name.rfind('.'));
      matrices[model.gpt->find_part(name)] = {&layer.matrix(weight.part), weight.part};
    }
  }
  return matrices;
}

bool have_rounded_products(const LayerMatrices& matrices) {
  return std::ranges::all_of(
      matrices, [](const auto& named) { return named.second.packed->has_rounded_product(); });
}

// Matrix products of a forward pass with the packed matrices of the steps.
class PackedProducts final : public WeightProducts {
 public:
  // With `rounds`, the products round x, as PackedMatrix::rounded_product() does.
  PackedProducts(const LayerMatrices& matrices, bool rounds)
      : matrices_(matrices), rounds_(rounds) {}
  Tensor multiply(const Linear& linear, const Tensor& x) const override {
    const auto& [packed, part] = matrices_.at(&linear);
    if (!rounds_) {
      return packed->product(x);
    }
    // Queries and keys keep two bytes: their errors move attention.
    return packed->rounded_product(x, part == Part::query_key_value ? kernels::Rounding::two_bytes
                                                                    : kernels::Rounding::one_byte);
  }

 private:
  const LayerMatrices& matrices_;
  bool rounds_;
};

void check_items(const DecoderModel& model, std::span<const DecodeItem> items) {
  const Index vocabulary = model.gpt->vocab_size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    require(items[i].token >= 0 && items[i].token < vocabulary, "[Decoder] expected ids from 0 to ",
            vocabulary - 1, ", got ", items[i].token, " for sequence ", i);
    require(items[i].cache != nullptr, "[Decoder] expected a cache for sequence ", i);
    const bool follows = i > 0 && items[i - 1].cache == items[i].cache;
    require(items[i].ahead == (follows ? items[i - 1].ahead + 1 : 0),
            "[Decoder] expected the number of items before item ", i, " with its cache, got ",
            items[i].ahead);
    model.gpt->check_cache(*items[i].cache, items[i].ahead + 1);
  }
}

// Writes the embeddings of the tokens, and of their positions if learned, to `stream`.
void embed(const DecoderModel& model, std::span<const DecodeItem> items,
           const StepVectors& stream) {
  const double scale = model.gpt->config().embedding_factor();
  for (std::size_t b = 0; b < items.size(); ++b) {
    float* row = stream.of(static_cast<Index>(b));
    model.embed_token(items[b].token, row);
    if (scale != 1) {
      kernels::loops<float>().scale(static_cast<float>(scale), row, model.width);
    }
    if (model.position_embedding.defined()) {
      const float* positions = model.position_embedding.data<float>();
      const Index position = items[b].cache->length() + items[b].ahead;
      kernels::loops<float>().add(row, positions + position * model.width, row, model.width);
    }
    if (model.gpt->config().embedding_norm) {
      model.normalize(model.norm(Part::embedding_norm), row, row, model.width);
    }
  }
}

}  // namespace

double context_bytes(const GptConfig& config, CacheType type, Index positions) {
  double bytes = 0;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const AttentionPlan plan = block_plan(config, layer).attention;
    const Index seen = plan.window > 0 ? std::min(plan.window, positions) : positions;
    bytes += 2.0 * static_cast<double>(plan.key_heads * seen) *
             cached_bytes(type, static_cast<double>(plan.head_width));
  }
  return bytes;
}

double position_bytes(const GptConfig& config, CacheType type) {
  return context_bytes(config, type, 1);
}

CacheType default_cache_type(const Gpt& model, WeightFormat format) {
  const bool is_packed = packed_token_embedding(model) != nullptr;
  return is_packed || format != WeightFormat::float32 ? CacheType::float16 : CacheType::float32;
}

struct Decoder::State {
  explicit State(const LanguageModel& model) : whole(model) {}
  State(const Gpt& model, WeightFormat format, CacheType type) : whole(model), cache_type(type) {
    packed.emplace(model, format);
    matrices = matrices_of(*packed);
    has_rounded_products = have_rounded_products(matrices);
  }

  const DecoderModel& steps() const {
    require(packed.has_value(), "[Decoder] a model of type '", whole.model_type(),
            "' cannot decode token by token, expected a Gpt");
    return *packed;
  }
  // Returns the products for this many tokens of a prompt; null: the model multiplies.
  const WeightProducts* products_for(Index tokens, bool rounds) const {
    if (rounds) {
      return has_rounded_products ? &rounded_products : nullptr;
    }
    const bool is_fast = steps().has_integers
                             ? kernels::multiplies_int8_fast()
                             : kernels::products_are_own() && tokens <= kMostPanelTokens;
    return is_fast ? &products : nullptr;
  }
  // Returns whether products of a prompt of this many tokens round the activations, too.
  bool rounds(Index prompt) const {
    if (steps().has_integers) {
      return has_rounded_products && prompt > kMostExactIntegerTokens;
    }
    return steps().head.has_bfloat16() && supports_precision(Precision::bfloat16) &&
           prompt > kMostExactTokens;
  }
  // Returns memory for a step. The memory only grows.
  const StepWorkspace& workspace_for(Index batch, Index threads) {
    if (!workspace.has_value() || !workspace->fits(batch, threads)) {
      workspace.reset();
      workspace.emplace(steps(), batch, threads);
    }
    return *workspace;
  }

  // Runs the model's own pass, and the packed head on the last token of each sequence.
  void run_model(const Batch& batch, const ForwardContext& context) {
    const DecoderModel& model = steps();
    const Gpt& gpt = *model.gpt;
    const Index layers = gpt.config().n_layer;
    const NoGrad no_grad;
    const Tensor all = gpt.residual(batch, layers, context);  // [N, C]
    const Batch last = last_tokens(batch);
    const Tensor hidden =
        gpt.hidden_from(layers, last_rows(all, batch), last, {.hook = context.hook});  // [B, C]
    HookPair hooks(gpt.attached(), context.hook);
    const double cap = gpt.config().logit_cap;
    const Tensor product = model.head.product(hidden);
    const Tensor logits = to_contiguous(
        visited(hooks.get(), {Point::logits}, cap > 0 ? soft_cap(product, cap) : product));
    const Index count = batch.sequence_count();
    const StepVectors& rows = workspace_for(count, 1).logits;
    for (Index b = 0; b < count; ++b) {
      std::copy_n(logits.data<float>() + b * logits.size(1), logits.size(1), rows.of(b));
    }
  }

  // Shows every point of a step to the hooks: one more token of each sequence in the model's own
  // pass, with the packed matrices.
  void step_with_hook(std::span<const DecodeItem> items, ForwardHook* hook) {
    std::vector<std::vector<std::int32_t>> tokens;
    std::vector<Index> lengths;
    std::vector<KeyValueCache*> caches;
    for (const DecodeItem& item : items) {
      tokens.push_back({item.token});
      lengths.push_back(item.cache->length());
      caches.push_back(item.cache);
    }
    run_model(continue_sequences(tokens, lengths),
              {.hook = hook, .products = &products, .caches = caches});
  }

  const LanguageModel& whole;
  CacheType cache_type = CacheType::float32;
  std::optional<DecoderModel> packed = {};
  LayerMatrices matrices = {};
  PackedProducts products{matrices, false};
  PackedProducts rounded_products{matrices, true};
  bool has_rounded_products = false;
  std::optional<StepWorkspace> workspace = {};
};

Decoder::Decoder(const Gpt& model, WeightFormat format, CacheType cache_type)
    : state_(std::make_unique<State>(model, format, cache_type)) {}
Decoder::Decoder(const LanguageModel& model) : state_(std::make_unique<State>(model)) {}

Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

const LanguageModel& Decoder::model() const { return state_->whole; }
bool Decoder::changes_keys(Index before, Index after) const {
  return has_steps() && state_->packed->gpt->changes_keys(before, after);
}
bool Decoder::has_steps() const { return state_->packed.has_value(); }
bool Decoder::steps_read(Index prompt) const { return has_steps() && !state_->rounds(prompt); }
KeyValueCache Decoder::make_cache() const {
  return KeyValueCache(state_->steps().gpt->config(), DType::float32, state_->cache_type);
}

void Decoder::read(const std::vector<std::int32_t>& tokens, KeyValueCache& cache, ForwardHook* hook,
                   Index prompt) {
  const Index count = std::ssize(tokens);
  const bool rounds = state_->rounds(std::max(prompt, count));
  if (count == 1 && !rounds) {
    const DecodeItem item{tokens[0], &cache};
    step({&item, 1}, hook);
    return;
  }
  KeyValueCache* const caches[] = {&cache};
  state_->run_model(
      continue_sequences({tokens}, {cache.length()}),
      {.hook = hook,
       .precision = rounds && supports_precision(Precision::bfloat16) ? Precision::bfloat16
                                                                      : Precision::float32,
       .products = state_->products_for(count, rounds),
       .caches = caches});
}

void Decoder::step(std::span<const DecodeItem> items, ForwardHook* hook) {
  const DecoderModel& model = state_->steps();
  require(!items.empty(), "[Decoder] expected at least one sequence");
  check_items(model, items);
  if (hook != nullptr || model.gpt->attached() != nullptr) {
    for (const DecodeItem& item : items) {
      require(item.ahead == 0, "[Decoder] with a hook, expected one token of each sequence");
    }
    state_->step_with_hook(items, hook);
    return;
  }
  const Index batch = std::ssize(items);
  const Index threads = step_threads(model, batch);
  const StepWorkspace& workspace = state_->workspace_for(batch, threads);
  for (const DecodeItem& item : items) {
    item.cache->reserve(item.ahead + 1);
  }
  embed(model, items, workspace.stream);
  run_step(model, items, workspace, threads);
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
