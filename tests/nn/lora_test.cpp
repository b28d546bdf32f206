#include "support/test.h"

GptConfig small_llama() {
  return llama_like({.vocab_size = 11,
                     .block_size = 8,
                     .n_layer = 2,
                     .n_head = 2,
                     .n_embd = 8,
                     .n_inner = 12,
                     .n_kv_head = 1});
}

// Updates of queries and values, and of the MLP.
std::vector<LoraModule> some_modules() {
  std::vector<LoraModule> modules;
  for (const std::string layer : {"h.0.", "h.1."}) {
    modules.push_back({layer + "attn.c_attn", "q", 0, 8});
    modules.push_back({layer + "attn.c_attn", "v", 12, 4});
    modules.push_back({layer + "attn.c_proj", "o", 0, 8});
    modules.push_back({layer + "mlp.c_gate", "gate", 0, 12});
    modules.push_back({layer + "mlp.c_proj", "down", 0, 8});
  }
  return modules;
}

// A model whose updates are not zero.
std::unique_ptr<Gpt> adapted(const LoraOptions& options = {.rank = 2, .alpha = 3}) {
  auto model = std::make_unique<Gpt>(small_llama(), 5);
  add_lora(*model, some_modules(), options, {7, 0});
  draw_uniform(model->trainable_parameters(), 9, -0.3, 0.3);
  return model;
}

// The same model with the updates added to its weights.
std::unique_ptr<Gpt> merged(const Gpt& model) {
  auto result = Gpt::blank(model.config());
  for (const auto& [weight, tensor] : result->weights()) {
    Tensor(tensor).copy_from(weight.is_bias ? model.bias(weight.part, weight.layer)
                                            : model.weight(weight.part, weight.layer));
  }
  return result;
}

Batch some_batch() { return make_batch({{1, 2, 3, 4, 5}, {6, 7, 8}}); }

TEST_CASE("a new update changes nothing and freezes everything else") {
  const bool dora = GENERATE(false, true);
  Gpt model(small_llama(), 5);
  const Tensor before = model.logits(some_batch());
  add_lora(model, some_modules(), {.rank = 2, .dora = dora}, {7, 0});
  CHECK(largest_difference(model.logits(some_batch()), before) < (dora ? 1e-6 : 1e-30));
  CHECK(model.trainable_parameters().size() == (dora ? 30U : 20U));
  backward(model.loss(some_batch()));
  for (const auto& [name, parameter] : model.parameters()) {
    const bool is_factor = name.find("lora_") != std::string::npos;
    INFO(name);
    CHECK(parameter.requires_grad() == is_factor);
    CHECK(parameter.grad().defined() == is_factor);
  }
}

TEST_CASE("an update equals a changed weight") {
  const auto model = adapted({.rank = 2, .alpha = 3, .dora = GENERATE(false, true)});
  const auto whole = merged(*model);
  CHECK(largest_difference(whole->weight(Part::query_key_value, 0),
                           Gpt(small_llama(), 5).weight(Part::query_key_value, 0)) > 0.1);
  CHECK(largest_difference(model->logits(some_batch()), whole->logits(some_batch())) < 1e-5);
  SECTION("also for a decoder") {
    const auto last_logits = [&](const Gpt& gpt) {
      Decoder decoder(gpt);
      KeyValueCache cache = gpt.make_cache();
      decoder.read({1, 2}, cache);
      const DecodeItem item{.token = 3, .cache = &cache};
      decoder.step({&item, 1});
      const std::span<const float> logits = decoder.logits(0);
      return Tensor::from(std::vector<double>(logits.begin(), logits.end()), {gpt.vocab_size()});
    };
    CHECK(largest_difference(last_logits(*model), last_logits(*whole)) < 1e-5);
  }
}

TEST_CASE("packed matrices compute as matrices of rounded weights") {
  for (const WeightFormat format : {WeightFormat::bfloat16, WeightFormat::int8}) {
    const auto packed = adapted();
    pack_matrices(*packed, format);
    const auto rounded = std::make_unique<Gpt>(small_llama(), 5);
    const Tensor embeddings = rounded->head_weight().clone();
    round_weights(*rounded, format);
    Tensor(rounded->head_weight()).copy_from(embeddings);  // which pack_matrices() leaves alone
    add_lora(*rounded, some_modules(), {.rank = 2, .alpha = 3}, {7, 0});
    const NamedTensors factors = packed->trainable_parameters();
    for (std::size_t i = 0; i < factors.size(); ++i) {
      rounded->trainable_parameters()[i].second.copy_from(factors[i].second);
    }
    CHECK(largest_difference(packed->logits(some_batch()), adapted()->logits(some_batch())) > 1e-5);
    CHECK(largest_difference(packed->logits(some_batch()), rounded->logits(some_batch())) < 1e-6);
    CHECK(largest_difference(packed->weight(Part::mlp_in, 1), rounded->weight(Part::mlp_in, 1)) ==
          0);
    backward(packed->loss(some_batch()));
    backward(rounded->loss(some_batch()));
    for (std::size_t i = 0; i < factors.size(); ++i) {
      INFO(factors[i].first);
      CHECK(largest_difference(factors[i].second.grad(),
                               rounded->trainable_parameters()[i].second.grad()) < 1e-6);
    }
  }
}

TEST_CASE("the elements of a packed weight cannot be read") {
  const auto model = adapted();
  pack_matrices(*model, WeightFormat::int8);
  check_error([&] { parameter_of(*model, "h.0.mlp.c_fc.weight").to_vector(); }, {"were released"});
  Gpt trained(small_llama(), 5);
  CHECK_THROWS_WITH(pack_matrices(trained, WeightFormat::int8), contains_text("only a frozen"));
}

TEST_CASE("the scale follows rank and alpha") {
  CHECK(LoraOptions{.rank = 4, .alpha = 8}.scale() == 2);
  CHECK(LoraOptions{.rank = 4, .alpha = 8, .rslora = true}.scale() == 4);
}

TEST_CASE("rows of an update get their lengths") {
  const Tensor weight = Tensor::from(std::vector<float>{0.0, 1, 3, 0, 0, 2}, {3, 2});
  const LowRankUpdate update{.a = Tensor::from(std::vector<float>{0.0, 4}, {1, 2}),
                             .b = Tensor::from(std::vector<float>{0.5, 1.0}, {2, 1}),
                             .first_row = 1,
                             .scale = 2,
                             .lengths = Tensor::from(std::vector<float>{10.0, 5}, {2})};
  // Rows 1 and 2 are (3, 0) + (0, 4) and (0, 2) + (0, 8) before.
  CHECK(updated_weight(weight, {&update, 1}).to_vector() == std::vector<double>{0, 1, 6, 8, 0, 5});
  const Tensor x = Tensor::from(std::vector<float>{1.0, 1}, {1, 2});
  const Tensor bias = Tensor::from(std::vector<float>{1.0, 2, 3}, {3});
  CHECK(low_rank_linear(x, weight, bias, {&update, 1}).to_vector() ==
        std::vector<double>{2, 16, 8});
}

TEST_CASE("places may have a rank and an alpha of their own") {
  Gpt model(small_llama(), 5);
  add_lora(model, {{"h.0.mlp.c_proj", "down", 0, 8}, {"h.1.mlp.c_proj", "down", 0, 8, 3, 12}},
           {.rank = 2, .alpha = 5}, {7, 0});
  const auto update_of = [&](const char* matrix) {
    return dynamic_cast<const Linear&>(*model.find_part(matrix)).updates().front();
  };
  CHECK(update_of("h.0.mlp.c_proj").a.shape() == Shape({2, 12}));
  CHECK(update_of("h.0.mlp.c_proj").scale == 2.5);
  CHECK(update_of("h.1.mlp.c_proj").b.shape() == Shape({8, 3}));
  CHECK(update_of("h.1.mlp.c_proj").scale == 4);
}

TEST_CASE("DoRA refuses rows of zeros, which have no direction") {
  Gpt model(small_llama(), 5);
  slice(parameter_of(model, "h.0.mlp.c_proj.weight").detach(), 0, 3, 4).fill(0);
  CHECK_THROWS_WITH(add_lora(model, some_modules(), {.dora = true}, {7, 0}),
                    contains_text("h.0.mlp.c_proj.weight, down: has rows of zeros"));
}

TEST_CASE("a place that does not exist is refused") {
  Gpt model(small_llama(), 5);
  CHECK_THROWS_WITH(add_lora(model, {{"h.2.attn.c_attn", "q", 0, 8}}, {}, {7, 0}),
                    contains_text("the model has no matrix h.2.attn.c_attn"));
  CHECK_THROWS_AS(add_lora(model, {{"h.1.attn.c_attn", "q", 12, 8}}, {}, {7, 0}), Error);
}

TEST_CASE("trained rows replace rows of frozen matrices and have their gradients") {
  const bool tied = GENERATE(true, false);
  GptConfig config = small_llama();
  config.tie_weights = tied;
  const Ids ids{2, 3, 10};
  Gpt whole(config, 5);
  Gpt model(config, 5);
  add_lora(model, {}, {}, {7, 0});
  model.train_rows(ids);
  CHECK(model.trainable_parameters().size() == (tied ? 1U : 2U));
  CHECK(largest_difference(model.logits(some_batch()), whole.logits(some_batch())) == 0);
  backward(model.loss(some_batch()));
  backward(whole.loss(some_batch()));
  const auto compare = [&](const std::string& matrix) {
    const Tensor all = parameter_of(whole, matrix + ".weight").grad();
    const Tensor own = parameter_of(model, matrix + ".trained_rows").grad();
    for (Index i = 0; i < 3; ++i) {
      const Index id = ids[static_cast<std::size_t>(i)];
      CHECK(largest_difference(slice(own, 0, i, i + 1), slice(all, 0, id, id + 1)) < 1e-6);
    }
  };
  compare("wte");
  if (!tied) {
    compare("lm_head");
  }
  // Other rows change the logits as a changed weight does.
  parameter_of(model, "wte.trained_rows").fill(0.5);
  Tensor row = slice(parameter_of(whole, "wte.weight").detach(), 0, 2, 4);
  row.fill(0.5);
  slice(parameter_of(whole, "wte.weight").detach(), 0, 10, 11).fill(0.5);
  CHECK(largest_difference(model.logits(some_batch()), whole.logits(some_batch())) < 1e-6);
  CHECK_THROWS_AS(Gpt(config, 5).train_rows({3, 2}), Error);
  CHECK_THROWS_AS(Gpt(config, 5).train_rows({11}), Error);
}

TEST_CASE("frozen weights of fused layers get no gradient and the others the same") {
  const auto gradients_of = [](bool freezes) {
    Gpt model(small_llama(), 5);
    for (auto& [name, parameter] : model.parameters()) {
      parameter.set_requires_grad(!freezes || name.starts_with("ln_f") || name == "wte.weight");
    }
    backward(model.loss(some_batch()));
    return std::pair{parameter_of(model, "wte.weight").grad().to_vector(),
                     parameter_of(model, "h.0.mlp.c_fc.weight").grad().defined()};
  };
  const auto [all, has_all] = gradients_of(false);
  const auto [some, has_some] = gradients_of(true);
  CHECK(all == some);
  CHECK(has_all);
  CHECK_FALSE(has_some);
}
