#include "headlight/interpret/fold.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

// Models with each kind of norm and bias that can be folded.
std::vector<GptConfig> foldable() {
  std::vector<GptConfig> configs(6, three_layers());
  configs[1].bias = false;
  configs[1].norm_type = NormKind::rms;
  configs[1].gated_mlp = true;
  configs[1].n_kv_head = 1;
  configs[1].position = PositionKind::rope;
  configs[2] = configs[1];
  configs[2].norm_gain_plus_one = true;
  configs[2].output_norms = true;
  configs[2].embedding_scale = 2;
  configs[2].logit_cap = 3;
  configs[2].qk_norm = true;
  configs[3].parallel_residual = true;
  configs[3].shared_norm = true;
  configs[3].qkv_bias = false;
  configs[3].mlp_bias = false;
  configs[4].tie_weights = false;
  configs[4].head_bias = true;
  configs[4].logit_scale = 0.5;
  configs[5].mlp = false;
  configs[5].norm_weights = false;
  return configs;
}

double largest(const Tensor& x) {
  return largest_difference(x, Tensor::zeros(x.shape(), x.dtype()));
}

TEST_CASE("a model whose folded weights would be infinite is refused") {
  const auto model = random_gpt(three_layers(), DType::float32);
  for (const auto& [name, parameter] : model->parameters()) {
    if (name.find("ln_1.weight") != std::string::npos || name.find("c_attn") != std::string::npos) {
      Tensor(parameter).fill(3e20);
    }
  }
  CHECK_THROWS_WITH(folded(*model), contains_text("contains values that are not finite"));
}

TEST_CASE("a folded model has the same logits and norms without weights") {
  const Batch batch = make_batch({{1, 2, 3, 4, 5}, {9, 7}});
  Index number = 0;
  for (const GptConfig& config : foldable()) {
    INFO(number++);
    const auto model = random_gpt(config);
    const auto copy = folded(*model);
    check_close(copy->logits(batch), model->logits(batch), 1e-9);
    for (Index layer = 0; layer < config.n_layer && config.norm_weights; ++layer) {
      const Tensor gain = copy->weight(Part::attention_norm, layer);
      const double one = config.norm_gain_plus_one ? 0 : 1;
      CHECK(largest(gain - one) == 0);
    }
    if (config.norm_weights && config.bias) {
      CHECK(largest(copy->bias(Part::final_norm)) == 0);
    }
  }
}

TEST_CASE("centred weights write vectors of mean 0") {
  const auto model = random_gpt(three_layers());
  const auto copy = folded(*model);
  const Batch batch = make_batch({{1, 2, 3}});
  CHECK(largest(mean(copy->residual(batch, 3), {.axes = {1}})) < 1e-12);
  CHECK(largest(mean(model->residual(batch, 3), {.axes = {1}})) > 1e-3);
  const auto kept = folded(*model, {.center_writing = false});
  check_close(kept->residual(batch, 3), model->residual(batch, 3), 1e-9);
}

TEST_CASE("rows that read a layer norm have mean 0 and others keep theirs") {
  for (const bool is_layer : {true, false}) {
    GptConfig config = three_layers();
    config.norm_type = is_layer ? NormKind::layer : NormKind::rms;
    const auto copy = folded(*random_gpt(config));
    const auto spread = [&](const Tensor& matrix) { return largest(mean(matrix, {.axes = {1}})); };
    for (const Part part : {Part::query_key_value, Part::mlp_in}) {
      CHECK((spread(copy->weight(part, 1)) < 1e-12) == is_layer);
    }
    CHECK((spread(copy->head_weight()) < 1e-12) == is_layer);
  }
}

TEST_CASE("a centred head keeps probabilities") {
  const auto model = random_gpt(three_layers());
  const auto copy = folded(*model, {.center_unembed = true});
  const Batch batch = make_batch({{1, 2, 3}});
  const Tensor logits = copy->logits(batch);
  check_close(log_softmax(logits), log_softmax(model->logits(batch)), 1e-9);
  CHECK(largest(mean(logits, {.axes = {1}})) < 1e-9);
}

TEST_CASE("models that cannot be folded are refused by one line") {
  const auto error = [](const GptConfig& config, const FoldOptions& options = {}) {
    const auto model = random_gpt(config);
    return error_of([&] { folded(*model, options); });
  };
  GptConfig post = three_layers();
  post.norm = NormPosition::post;
  CHECK(mentions(error(post), {"fold", "post"}));
  GptConfig embedding = three_layers();
  embedding.embedding_norm = true;
  CHECK(mentions(error(embedding), {"center_writing_weights"}));
  CHECK(error(embedding, {.center_writing = false}) == "no error");
  GptConfig capped = three_layers();
  capped.logit_cap = 5;
  CHECK(mentions(error(capped, {.center_unembed = true}), {"center_unembed", "cap"}));
}
