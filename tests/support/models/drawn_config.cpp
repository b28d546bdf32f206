#include "support/models/drawn_config.h"
#include "support/test.h"

namespace headlight::test {

namespace {

// Sets short wavelengths, so that about 12 positions show all effects.
void draw_rope(std::mt19937& random, GptConfig& config) {
  RopeOptions& rope = config.rope;
  rope.theta = random() % 2 == 0 ? 10000 : 3;
  rope.style = kChoices<RotaryStyle>[random() % 2].value;
  rope.scaling = kChoices<RopeScaling>[random() % kChoices<RopeScaling>.size()].value;
  rope.factor = rope.scaling == RopeScaling::none ? 1 : 2;
  rope.original_max_position_embeddings = 6;
  rope.beta_fast = 2;
  rope.beta_slow = 0.1;
  rope.truncate = rope.theta == 3;
  rope.width = random() % 2 == 0 ? 0 : 2;
  if (rope.scaling == RopeScaling::longrope) {
    const Index turned = rope.width > 0 ? rope.width : config.head_width;
    rope.original_max_position_embeddings = 20;  // longer texts would not continue from a cache
    rope.short_factors.assign(static_cast<std::size_t>(turned) / 2, 1.5);
    rope.long_factors.assign(static_cast<std::size_t>(turned) / 2, 4);
    rope.attention_factor = 1.2;
  }
  config.rope_local_theta = random() % 2 == 0 ? 0 : 7;
}

}  // namespace

GptConfig drawn_config(int number) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(number));
  const auto one_of = [&](std::initializer_list<Index> values) {
    return *(values.begin() + random() % values.size());
  };
  const auto is_so = [&] { return random() % 2 == 0; };
  GptConfig config{.vocab_size = one_of({5, 11}),
                   .block_size = 12,
                   .n_layer = one_of({1, 2}),
                   .n_head = one_of({1, 2, 4, 6}),
                   .bias = is_so(),
                   .tie_weights = is_so(),
                   .norm = is_so() ? NormPosition::pre : NormPosition::post};
  config.head_width = one_of({2, 3, 16});
  config.n_embd = one_of({4, 6, 16});
  config.activation = kChoices<Activation>[random() % kChoices<Activation>.size()].value;
  config.mlp = one_of({0, 1, 1}) > 0;
  config.n_inner = one_of({0, 5, 32});
  config.n_kv_head = config.n_head % 2 == 0 ? one_of({0, 1, config.n_head / 2}) : one_of({0, 1});
  config.attention_scale = is_so() ? 0 : 0.3;
  config.position = kChoices<PositionKind>[random() % kChoices<PositionKind>.size()].value;
  config.norm_type = kChoices<NormKind>[random() % kChoices<NormKind>.size()].value;
  config.norm_gain_plus_one = is_so();
  config.output_norms = config.norm == NormPosition::pre && is_so();
  config.embedding_scale = is_so() ? 0 : 1.5;
  config.qk_norm = is_so();
  config.gated_mlp = config.mlp && is_so();
  if (config.position == PositionKind::rope) {
    config.head_width = one_of({2, 4, 16});
    draw_rope(random, config);
  }
  config.parallel_residual = config.norm == NormPosition::pre && config.mlp && is_so();
  config.shared_norm = config.parallel_residual && is_so();
  const auto bias = [&] { return is_so() ? std::nullopt : std::optional<bool>(is_so()); };
  config.qkv_bias = bias();
  config.attention_output_bias = bias();
  config.mlp_bias = bias();
  if (is_so()) {
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      config.windows.push_back(one_of({0, 1, 3, 20}));
    }
  }
  config.head_bias = is_so();
  config.logit_scale = is_so() ? 0 : 0.7;
  config.logit_cap = is_so() ? 0 : 1.5;
  config.attention_cap = is_so() ? 0 : 0.8;
  config.qkv_clip = one_of({0, 0, 1}) > 0 ? 0.9 : 0;
  config.norm_weights = one_of({0, 1, 1}) > 0;
  config.qk_norm_whole = config.qk_norm && is_so();
  config.qk_norm_last = config.qk_norm && !config.qk_norm_whole && is_so();
  config.rope.reversed = config.position == PositionKind::rope && one_of({0, 0, 1}) > 0;
  if (config.norm == NormPosition::post && is_so()) {
    config.norm = NormPosition::output;
  }
  if (config.position == PositionKind::rope && is_so()) {
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      config.rope_per_layer.push_back(one_of({0, 1}));
    }
  }
  return config;
}

void spread_weights(const Gpt& gpt) {
  std::uint64_t stream = 0;
  for (auto [name, tensor] : gpt.parameters()) {
    const bool is_gain = tensor.rank() == 1 && name.ends_with("weight");
    const double centre = is_gain && !gpt.config().norm_gain_plus_one ? 1 : 0;
    tensor.copy_from(
        random_uniform(tensor.shape(), {7, ++stream}, centre - 0.5, centre + 0.5, tensor.dtype()));
  }
}

std::vector<std::int32_t> drawn_tokens(int number, const GptConfig& config) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(number + 1000));
  return counted<std::int32_t>(config.block_size, [&](Index) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(config.vocab_size));
  });
}

}  // namespace headlight::test
