#include "support/test.h"

// Models without MLPs, in memory and on disk.

GptConfig attention_only(bool bias = true) {
  GptConfig config{
      .vocab_size = 257, .block_size = 10, .n_layer = 2, .n_head = 2, .n_embd = 8, .bias = bias};
  config.mlp = false;
  return config;
}

Batch some_tokens() { return make_batch({{5, 1, 250, 7, 7, 30}, {9, 2}}); }

TEST_CASE("attention-only layers count no MLP and no second norm") {
  const Gpt gpt(attention_only());
  const ParameterCounts counts = count_parameters(attention_only());
  CHECK(counts.mlp == 0);
  CHECK(counts.norms == 3 * 16);
  CHECK(counts.total() == gpt.parameter_count());
  // 6 (4 C^2 L + V C) per token and 12 C L per visible pair.
  CHECK(training_flops(attention_only(), {0, 2}) ==
        6.0 * (4 * 64 * 2 + 257 * 8) * 2 + 12.0 * 8 * 2 * 3);
}

TEST_CASE("an attention-only layer computes the same as one with an MLP of zeros") {
  for (const bool bias : {true, false}) {
    const Gpt gpt(attention_only(bias));
    const std::unique_ptr<Gpt> filled = with_zero_mlps(gpt);
    CHECK(filled->config().mlp);
    CHECK(gpt.logits(some_tokens()).to_vector() == filled->logits(some_tokens()).to_vector());
    KeyValueCache cache = gpt.make_cache();
    KeyValueCache other = filled->make_cache();
    CHECK(next_logits(gpt, {5, 1, 250}, cache).to_vector() ==
          next_logits(*filled, {5, 1, 250}, other).to_vector());
    CHECK(next_logits(gpt, {7}, cache).to_vector() == next_logits(*filled, {7}, other).to_vector());
  }
}

TEST_CASE("queries take the scale of attention scores for formats that have none") {
  GptConfig config = attention_only();
  config.mlp = true;
  config.attention_scale = 1.5;
  const Gpt gpt(config);
  REQUIRE(needs_default_scale(config));
  const std::unique_ptr<Gpt> usual = with_default_scale(gpt);
  CHECK(usual->config().attention_scale == 0);
  CHECK_NOTHROW(require_exportable(usual->config()));
  check_close(usual->logits(some_tokens()), gpt.logits(some_tokens()), 1e-5);
  // 1.5 sqrt(head_width) times the queries' rows, nothing else.
  const Tensor before = parameter_of(gpt, "h.1.attn.c_attn.weight").detach();
  const Tensor after = parameter_of(*usual, "h.1.attn.c_attn.weight").detach();
  const Index head_width = config.n_embd / config.n_head;
  const double factor = 1.5 * std::sqrt(static_cast<double>(head_width));
  check_close(slice(after, 0, 0, 8), slice(before, 0, 0, 8) * factor, 1e-6);
  CHECK(same_bits(slice(after, 0, 8, 24), slice(before, 0, 8, 24)));
  config.attention_scale = 0;
  CHECK_FALSE(needs_default_scale(config));
}

TEST_CASE("an attention-only layer with post-norm ends with its first norm") {
  GptConfig config = attention_only();
  config.norm = NormPosition::post;
  config.n_layer = 1;
  const Gpt gpt(config);
  // Attention with zero output leaves the norm of the embeddings.
  parameter_of(gpt, "h.0.attn.c_proj.weight").fill(0);
  const Batch batch = make_batch({{3}});
  check_close(gpt.hidden(batch), layer_norm(gpt.residual(batch, 0), {}, {}), 1e-5);
  check_error([&] { with_zero_mlps(gpt); },
              {"[with_zero_mlps] expected norm = pre: a norm behind an MLP changes what passes"});
}

TEST_CASE("an attention-only model is written with its own model type and read back") {
  const TemporaryFolder folder;
  const Gpt gpt(attention_only());
  write_model_files(folder.path(), gpt, ByteTokenizer());
  const auto written = json::parse(file_contents(folder.at("config.json")));
  CHECK(written["model_type"] == "headlight");
  CHECK(written["mlp"] == false);
  const LoadedModel loaded = load_model(folder.path());
  CHECK_FALSE(loaded.model->config().mlp);
  CHECK(loaded.model->logits(some_tokens()).to_vector() == gpt.logits(some_tokens()).to_vector());
  CHECK_THROWS_WITH(require_exportable(gpt.config()),
                    "hf: mlp = false cannot be expressed: gpt2 has true");
}
