#include "support/hooks.h"
#include "support/test.h"

// Records the values at all points of attention.
class Visits : public ForwardHook {
 public:
  bool wants(Point, Index) const override { return true; }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    const std::string name = concat_text(point_name(site.point, site.layer), " ", site.sequence);
    seen.push_back(concat_text(name, " ", value.shape()));
    values.emplace(name, value);
    return value;
  }

  std::vector<std::string> seen;
  std::map<std::string, Tensor> values;
};

Tensor draw(const Shape& shape, std::uint64_t stream, DType dtype = kDouble) {
  return random_uniform(shape, {7, stream}, -1, 1, dtype);
}

TEST_CASE("dropout on the weights changes the output but not the returned weights") {
  const MultiHeadAttention attention({.width = 8, .heads = 2, .dropout = 0.5});
  const Tensor x = draw({2, 6, 8}, 1, DType::float32);
  const AttentionResult plain = attention.forward(x, x, x);
  const ForwardContext training{.training = true, .random = {4, 4}};
  const AttentionResult dropped = attention.forward(x, x, x, {}, training);
  CHECK(same_bits(dropped.weights, plain.weights));
  CHECK(largest_difference(dropped.output, plain.output) > 0.01);
  const ForwardContext evaluating{.random = {4, 4}};
  CHECK(same_bits(attention.forward(x, x, x, {}, evaluating).output, plain.output));
}

TEST_CASE("a hook and a recorder see the values of MultiHeadAttention and change nothing") {
  const MultiHeadAttention attention(
      {.width = 6, .heads = 2, .key_width = 5, .value_width = 4, .layer = 3, .dtype = kDouble});
  randomize(attention, 5);
  const std::vector<Tensor> inputs{draw({2, 3, 6}, 1), draw({2, 4, 5}, 2), draw({2, 4, 4}, 3)};
  const auto run = [&](const ForwardContext& context) {
    return attention.forward(inputs[0], inputs[1], inputs[2], {.causal = true}, context);
  };
  const AttentionResult plain = run({});
  Visits visits;
  Recorder recorder({3});
  const AttentionResult watched = run({.recorder = &recorder, .hook = &visits});
  CHECK(visits.seen == std::vector<std::string>{
                           "blocks.3.attn.hook_q 0 [6, 2, 3]",
                           "blocks.3.attn.hook_k 0 [8, 2, 3]",
                           "blocks.3.attn.hook_v 0 [8, 2, 3]",
                           "blocks.3.attn.hook_attn_scores 0 [2, 3, 4]",
                           "blocks.3.attn.hook_attn_scores 1 [2, 3, 4]",
                           "blocks.3.attn.hook_pattern 0 [2, 3, 4]",
                           "blocks.3.attn.hook_pattern 1 [2, 3, 4]",
                           "blocks.3.attn.hook_z 0 [6, 2, 3]",
                           "blocks.3.attn.hook_result 0 [6, 2, 6]",
                       });
  check_close(watched.output, plain.output, 1e-14);
  CHECK(same_bits(watched.weights, plain.weights));
  CHECK(same_bits(recorder.padded(3), plain.weights));
  check_close(select(visits.values.at("blocks.3.attn.hook_pattern 1"), 0, 0),
              select(select(plain.weights, 0, 1), 0, 0), 0);
  Recorder other({2});
  run({.recorder = &other});
  CHECK(other.layers().empty());
}

TEST_CASE("a hook changes what MultiHeadAttention computes") {
  const MultiHeadAttention attention({.width = 4, .heads = 2, .bias = false, .dtype = kDouble});
  const Tensor x = draw({1, 3, 4}, 1);
  for (const Point point : {Point::q, Point::k, Point::v, Point::attn_scores, Point::pattern,
                            Point::z, Point::result}) {
    HookAt hook(point, std::nullopt, [](const Tensor& value) { return value * 2.0; });
    const AttentionResult changed = attention.forward(x, x, x, {}, {.hook = &hook});
    const AttentionResult plain = attention.forward(x, x, x);
    INFO(point_name(point, 0));
    // Nothing after the softmax changes its weights; there are no biases, so the output doubles.
    const bool after = point > Point::attn_scores || point == Point::v;
    CHECK(same_bits(changed.weights, plain.weights) == (after && point != Point::pattern));
    if (after) {
      check_close(changed.output, plain.output * 2.0, 1e-12);
    }
  }
}

TEST_CASE("a recorder of MultiHeadAttention in the layers of CausalSelfAttention agrees with it") {
  const CausalSelfAttention causal({.width = 6, .plan = {.heads = 2}, .dtype = kDouble});
  const MultiHeadAttention general({.width = 6, .heads = 2, .dtype = kDouble});
  randomize(causal, 4);
  copy_projections(causal, general);
  const Tensor x = draw({5, 6}, 9);
  Visits of_causal;
  Visits of_general;
  const Tensor expected = causal.forward(x, {0, 5}, {.hook = &of_causal});
  const Tensor wide = unsqueeze(x, 0);
  const AttentionResult result =
      general.forward(wide, wide, wide, {.causal = true}, {.hook = &of_general});
  check_close(squeeze(result.output, 0), expected, 1e-13);
  CHECK(of_general.seen == of_causal.seen);
  for (const auto& [name, value] : of_causal.values) {
    INFO(name);
    check_close(of_general.values.at(name), value, 1e-13);
  }
}
