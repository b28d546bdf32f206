#include "headlight/show/model/model_diagram.h"
#include "show/attention_samples.h"
#include "show/model/model_parts.h"
#include "show/report/parts/numbers.h"
#include "support/test.h"

GptConfig gpt2() {
  GptConfig config{.vocab_size = 50257};
  return config;
}

GptConfig llama() {
  GptConfig config{.vocab_size = 1000,
                   .n_layer = 3,
                   .n_head = 8,
                   .n_embd = 64,
                   .bias = false,
                   .tie_weights = false,
                   .norm_type = NormKind::rms,
                   .position = PositionKind::rope,
                   .activation = Activation::silu,
                   .gated_mlp = true,
                   .n_inner = 100,
                   .n_kv_head = 2};
  return config;
}

GptConfig neox(bool shared_norm) {
  GptConfig config = gpt2();
  config.position = PositionKind::rope;
  config.rope.width = 16;
  config.parallel_residual = true;
  config.shared_norm = shared_norm;
  return config;
}

std::vector<GptConfig> many() {
  GptConfig post = gpt2();
  post.norm = NormPosition::post;
  GptConfig gemma = llama();
  gemma.output_norms = true;
  gemma.qk_norm = true;
  gemma.windows = {4, 0, 4};
  GptConfig attention_only = gpt2();
  attention_only.mlp = false;
  GptConfig pruned = gpt2();
  pruned.n_layer = 2;
  pruned.heads_per_layer = {3, 5};
  pruned.head_width = 64;
  pruned.head_numbers = {{0, 4, 7}, {1, 2, 3, 8, 11}};
  return {gpt2(), llama(), neox(false), neox(true), post, gemma, attention_only, pruned};
}

Index parameters_of(const DiagramBranch& rows) {
  Index sum = 0;
  for (const DiagramRow& row : rows) {
    for (const DiagramBox& box : row.boxes) {
      sum += box.parameters;
    }
  }
  return sum;
}

TEST_CASE("the boxes of a diagram contain all parameters of a layer") {
  for (const GptConfig& config : many()) {
    const DiagramParts parts = diagram_parts(config, Language::english);
    Index shown = parameters_of(parts.attention) + parameters_of(parts.mlp);
    for (const DiagramBox& norm : parts.stream_norms) {
      shown += norm.parameters;
    }
    Index largest = 0;  // of the layers; the shown one has the most heads
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      Index sum = 0;
      for (const Weight& weight : weights_of(config)) {
        sum += weight.layer == layer ? std::accumulate(weight.shape.begin(), weight.shape.end(),
                                                       Index{1}, std::multiplies<>())
                                     : 0;
      }
      largest = std::max(largest, sum);
    }
    CHECK(shown == largest);
  }
}

TEST_CASE("the table of matrices adds up to the number of parameters") {
  for (const GptConfig& config : many()) {
    const Index sum = sum_of<Index>(matrix_rows(config),
                                    [&](const MatrixRow& row) { return row.each * row.count; });
    CHECK(sum == count_parameters(config).total());
    const std::string total = grouped(sum);
    CHECK(contains(model_diagram_svg(config), total));
  }
}

TEST_CASE("matrices of equal layers share a row of the table") {
  const std::vector<MatrixRow> rows = matrix_rows(gpt2());
  const auto found = std::find_if(rows.begin(), rows.end(), [](const MatrixRow& row) {
    return row.name == "h.*.attn.c_attn.weight";
  });
  REQUIRE(found != rows.end());
  CHECK(found->shape == "2,304 × 768");
  CHECK(found->each == 1769472);
  CHECK(found->count == 12);
  GptConfig pruned = many().back();
  pruned.n_layer = 3;
  pruned.heads_per_layer = {3, 5, 3};
  pruned.head_numbers = {};
  const std::vector<MatrixRow> some = matrix_rows(pruned);
  CHECK(std::any_of(some.begin(), some.end(), [](const MatrixRow& row) {
    return row.name == "h.0,2.attn.c_attn.weight" && row.count == 2;
  }));
}

TEST_CASE("a diagram shows every head and the shapes on its arrows") {
  const std::string svg = model_diagram_svg(llama(), {.title = "A <model>"});
  CHECK(occurrences(svg, "<g class=\"head\">") == 8);
  check_parts(svg, {"A &lt;model&gt;", "head 7", "K, V 1", "Q [T, H, D]", "K [T, G, D]", "[T, H D]",
                    "[T, V]", "RMSNorm", "RoPE", "silu(gate) × in", "concat"});
  CHECK(occurrences(model_diagram_svg(neox(true)), "LayerNorm") ==
        2);  // one in a layer, one at the end
  CHECK(occurrences(model_diagram_svg(neox(false)), "LayerNorm") == 3);
  CHECK(contains(model_diagram_svg(neox(false)), "16 of D"));
  const std::string korean = model_diagram_svg(gpt2(), {.language = Language::korean});
  CHECK(contains(korean, "헤드 11"));
  CHECK_FALSE(contains(korean, "head 1"));
  CHECK(contains(model_diagram_svg(many().back()), "head 11"));
}

TEST_CASE("a diagram of a bidirectional model shows its embeddings and its head") {
  GptConfig bert = gpt2();
  bert.norm = NormPosition::post;
  bert.causal = false;
  bert.n_segment = 2;
  bert.embedding_norm = true;
  bert.masked_head = true;
  const std::string svg = model_diagram_svg(bert);
  for (const char* part : {"of all tokens", "plus segment 0 of 2", "Head transform", "logits"}) {
    INFO(part);
    CHECK(contains(svg, part));
  }
  CHECK(occurrences(svg, "LayerNorm") == 4);  // embeddings, two in a layer, head
  bert.masked_head = false;
  const std::string body = model_diagram_svg(bert);
  CHECK(contains(body, "hidden states"));
  CHECK_FALSE(contains(body, "Output head"));
}
