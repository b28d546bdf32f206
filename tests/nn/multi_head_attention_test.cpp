#include "headlight/nn/multi_head_attention.h"

#include <cstdio>
#include <map>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "io/temporary_folder.h"
#include "nn/nn_support.h"
#include "nn/reference_model.h"
#include "support/catch.h"
#include "support/seed_sequences.h"

namespace multi_head_attention_test {

using namespace headlight;
using namespace headlight::test;

namespace {

constexpr DType kDouble = DType::float64;

const Matrix kInput{{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}};
// Projections of a worked example with two heads, [C, H D] as in the formula x W.
const Matrix kQueryWeight{{1, 0, 1, 0}, {1, 0, 0, 1}, {0, 1, 1, 0}, {0, 1, 0, 1}};
const Matrix kKeyWeight{{0, 1, 0, 1}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 0, 0, 1}};
const Matrix kValueWeight{{1, 0, 2, 0}, {0, 1, 0, 2}, {1, 0, 0, 1}, {0, 1, 1, 0}};
const Matrix kOutputWeight{{1, 0, 0.5, 0}, {0, 1, 0, 0.5}, {0.5, 0, 1, 0}, {0, 0.5, 0, 1}};

Matrix transposed(const Matrix& x) {
  Matrix result(x[0].size(), Row(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x[i].size(); ++j) {
      result[j][i] = x[i][j];
    }
  }
  return result;
}

void set_weight(const Module& module, const std::string& name, const Matrix& rows) {
  parameter_of(module, name).copy_from(tensor_of(rows));
}

// Returns the worked example's attention, with biases 0.
std::unique_ptr<MultiHeadAttention> worked_example(DType dtype = kDouble) {
  auto attention = std::make_unique<MultiHeadAttention>(
      MultiHeadAttentionOptions{.width = 4, .heads = 2, .dtype = dtype});
  for (auto& [name, parameter] : attention->parameters()) {
    parameter.fill(0);
  }
  set_weight(*attention, "q_proj.weight", transposed(kQueryWeight));
  set_weight(*attention, "k_proj.weight", transposed(kKeyWeight));
  set_weight(*attention, "v_proj.weight", transposed(kValueWeight));
  set_weight(*attention, "c_proj.weight", transposed(kOutputWeight));
  return attention;
}

AttentionResult attend(const MultiHeadAttention& attention, const AttentionMasks& masks,
                       DType dtype = kDouble) {
  const Tensor x = convert(tensor_of(kInput), dtype).strided_view({1, 3, 4}, {12, 4, 1});
  return attention.forward(x, x, x, masks);
}

std::vector<std::string> printed(const Tensor& x) {
  std::vector<std::string> texts;
  for (const double value : x.to_vector()) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.4f", value);
    texts.emplace_back(text);
  }
  return texts;
}

// Returns the values for both heads of the worked example, which have equal scores.
std::vector<double> twice(std::vector<double> values) {
  const std::vector<double> copy = values;
  values.insert(values.end(), copy.begin(), copy.end());
  return values;
}

// Compares forward() with plain loops, one sequence after another.
void check_against_reference(const MultiHeadAttention& attention, const std::vector<Tensor>& inputs,
                             bool causal) {
  const AttentionResult result =
      attention.forward(inputs[0], inputs[1], inputs[2], {.causal = causal});
  const Index batch = inputs[0].size(0);
  const auto part = [&](const Tensor& x, Index b) {
    return matrix_of(
        x.strided_view({x.size(1), x.size(2)}, {x.size(2), 1}, b * x.size(1) * x.size(2)));
  };
  for (Index b = 0; b < batch; ++b) {
    const Matrix query = reference_linear(part(inputs[0], b), attention, "q_proj");
    const Matrix key = reference_linear(part(inputs[1], b), attention, "k_proj");
    const Matrix value = reference_linear(part(inputs[2], b), attention, "v_proj");
    const std::size_t lead = key.size() - query.size();
    const ReferenceAttention expected = reference_attention(
        query, key, value, static_cast<std::size_t>(attention.heads()),
        [&](std::size_t, std::size_t t, std::size_t s) { return causal && s > t + lead; });
    const Matrix output = reference_linear(expected.joined, attention, "c_proj");
    CHECK(largest_difference(tensor_of(part(result.output, b)), tensor_of(output)) < 1e-12);
    const Index count = static_cast<Index>(query.size() * key.size());
    for (Index h = 0; h < attention.heads(); ++h) {
      const Tensor weights =
          result.weights.strided_view({inputs[0].size(1), inputs[1].size(1)},
                                      {inputs[1].size(1), 1}, (b * attention.heads() + h) * count);
      CHECK(largest_difference(weights, tensor_of(expected.weights[static_cast<std::size_t>(h)])) <
            1e-12);
    }
  }
}

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

// Doubles the values at one point.
class Doubles : public ForwardHook {
 public:
  explicit Doubles(Point point) : point_(point) {}
  bool wants(Point point, Index) const override { return point == point_; }
  Tensor visit(const HookSite&, const Tensor& value) override { return value * 2.0; }

 private:
  Point point_;
};

Tensor draw(const Shape& shape, std::uint64_t stream, DType dtype = kDouble) {
  return random_uniform(shape, {7, stream}, -1, 1, dtype);
}

}  // namespace

TEST_CASE("two heads of a worked example give its weights and its output") {
  const AttentionResult result = attend(*worked_example(), {});
  CHECK(result.weights.shape() == Shape{1, 2, 3, 3});
  check_values(
      result.weights,
      twice({.108383, .445808, .445808, .028705, .485648, .485648, .028705, .485648, .485648}),
      1e-6);
  CHECK(result.output.shape() == Shape{1, 3, 4});
  check_values(result.output,
               {2.331288, 4.289370, 3, 4.566466, 2.271528, 4.628006, 3, 4.885182, 2.271528,
                4.628006, 3, 4.885182},
               1e-6);
}

TEST_CASE("two masked heads of a worked example give its weights and its output") {
  const Tensor future = causal_mask(3);
  for (const AttentionMasks& masks :
       {AttentionMasks{.causal = true}, AttentionMasks{.mask = future}}) {
    const AttentionResult result = attend(*worked_example(), masks);
    check_values(result.weights, twice({1, 0, 0, .055807, .944193, 0, .028705, .485648, .485648}),
                 1e-6);
    check_values(
        result.output,
        {3, .5, 3, 1, 1.111614, 5.693060, 2.055807, 5.720964, 2.271528, 4.628006, 3, 4.885182},
        1e-6);
  }
}

TEST_CASE("in float32 the worked example prints the digits of its notebook") {
  const auto attention = worked_example(DType::float32);
  const AttentionResult free = attend(*attention, {}, DType::float32);
  CHECK(printed(free.output) == std::vector<std::string>{"2.3313", "4.2894", "3.0000", "4.5665",
                                                         "2.2715", "4.6280", "3.0000", "4.8852",
                                                         "2.2715", "4.6280", "3.0000", "4.8852"});
  const AttentionResult masked = attend(*attention, {.causal = true}, DType::float32);
  const std::vector<std::string> head{"1.0000", "0.0000", "0.0000", "0.0558", "0.9442",
                                      "0.0000", "0.0287", "0.4856", "0.4856"};
  std::vector<std::string> heads = head;
  heads.insert(heads.end(), head.begin(), head.end());
  CHECK(printed(masked.weights) == heads);
  CHECK(printed(masked.output) == std::vector<std::string>{"3.0000", "0.5000", "3.0000", "1.0000",
                                                           "1.1116", "5.6931", "2.0558", "5.7210",
                                                           "2.2715", "4.6280", "3.0000", "4.8852"});
}

TEST_CASE("the joined heads of the worked example pass through an identity projection unchanged") {
  const auto attention = worked_example();
  set_weight(*attention, "c_proj.weight", {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}});
  check_values(attend(*attention, {}).output,
               {1.108383, 2.674850, 2.445808, 3.229041, 1.028705, 2.913886, 2.485648, 3.428239,
                1.028705, 2.913886, 2.485648, 3.428239},
               1e-6);
}

TEST_CASE("cross-attention takes keys and values of another length and other widths") {
  for (const bool bias : {true, false}) {
    const MultiHeadAttention attention(
        {.width = 6, .heads = 3, .key_width = 5, .value_width = 4, .bias = bias, .dtype = kDouble});
    randomize(attention, 5);
    for (const bool causal : {false, true}) {
      check_against_reference(attention,
                              {draw({2, 4, 6}, 1), draw({2, 7, 5}, 2), draw({2, 7, 4}, 3)}, causal);
    }
  }
}

TEST_CASE("the inner width of the heads need not equal the width of the model") {
  const MultiHeadAttention attention({.width = 6, .heads = 3, .head_width = 5, .dtype = kDouble});
  randomize(attention, 5);
  CHECK(attention.inner_width() == 15);
  CHECK(parameter_of(attention, "q_proj.weight").shape() == Shape{15, 6});
  CHECK(parameter_of(attention, "c_proj.weight").shape() == Shape{6, 15});
  const Tensor x = draw({2, 4, 6}, 1);
  check_against_reference(attention, {x, x, x}, true);
}

TEST_CASE("ten padded sequences of width 512 and 8 heads give the expected shapes") {
  const Embedding embedding({.count = 100, .width = 512}, {1, 1});
  const MultiHeadAttention attention({.width = 512, .heads = 8}, {1, 2});
  std::vector<Index> lengths;
  Tensor ids = Tensor::zeros({10, 20}, DType::int32);
  for (const auto& sequence : seed_sequences()) {
    std::copy(sequence.begin(), sequence.end(),
              ids.data<std::int32_t>() + static_cast<Index>(lengths.size()) * 20);
    lengths.push_back(static_cast<Index>(sequence.size()));
  }
  REQUIRE(lengths == std::vector<Index>{16, 5, 11, 2, 4, 5, 1, 20, 16, 14});
  const Tensor x = embedding.forward(ids);
  CHECK(x.shape() == Shape{10, 20, 512});
  const AttentionResult result =
      attention.forward(x, x, x, {.key_padding = padding_mask(lengths, 20)});
  CHECK(result.output.shape() == Shape{10, 20, 512});
  REQUIRE(result.weights.shape() == Shape{10, 8, 20, 20});
  const std::vector<double> weights = result.weights.to_vector();
  double pad_weight = 0;
  double furthest = 0;
  for (std::size_t row = 0; row < 10 * 8 * 20; ++row) {
    const Index length = lengths[row / (8 * 20)];
    double sum = 0;
    for (Index s = 0; s < 20; ++s) {
      const double weight = weights[row * 20 + static_cast<std::size_t>(s)];
      (s < length ? sum : pad_weight) += weight;
    }
    furthest = std::max(furthest, std::abs(sum - 1));
  }
  CHECK(pad_weight == 0);
  CHECK(furthest < 1e-6);
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

TEST_CASE("dropout on the weights keeps the expected output") {
  const MultiHeadAttention attention({.width = 4, .heads = 2, .dropout = 0.4, .dtype = kDouble});
  randomize(attention, 8);
  const Tensor x = draw({1, 5, 4}, 1);
  const std::vector<double> plain = attention.forward(x, x, x).output.to_vector();
  constexpr int kDraws = 4000;
  const ThreadScope one_thread(1);
  std::vector<double> mean(plain.size(), 0.0);
  for (std::uint64_t draw_number = 0; draw_number < kDraws; ++draw_number) {
    const ForwardContext context{.training = true, .random = {1, draw_number}};
    const std::vector<double> output = attention.forward(x, x, x, {}, context).output.to_vector();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += output[i] / kDraws;
    }
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    CHECK(std::abs(mean[i] - plain[i]) < 0.02);
  }
}

TEST_CASE("attention refuses invalid sizes") {
  CHECK_THROWS_WITH(MultiHeadAttention({.width = 512, .heads = 7}),
                    "[MultiHeadAttention] width 512 must be a multiple of the number of heads, 7");
  CHECK_NOTHROW(MultiHeadAttention({.width = 512, .heads = 7, .head_width = 64}));
  CHECK_THROWS_WITH(MultiHeadAttention({.width = 8, .heads = 0}),
                    "[MultiHeadAttention] expected a positive width and number of heads, got 8 "
                    "and 0");
  CHECK_THROWS_WITH(MultiHeadAttention({.width = 0, .heads = 1}),
                    "[MultiHeadAttention] expected a positive width and number of heads, got 0 "
                    "and 1");
  CHECK_THROWS_AS(MultiHeadAttention({.width = 8, .heads = 2, .head_width = -4}), Error);
}

TEST_CASE("attention refuses inputs of mismatched shapes") {
  const MultiHeadAttention attention({.width = 8, .heads = 2});
  const Tensor x = Tensor::ones({2, 3, 8});
  const std::string expected = "[MultiHeadAttention] expected inputs [B, T, C] of one batch size";
  CHECK_THROWS_WITH(attention.forward(Tensor(), x, x), expected);
  CHECK_THROWS_WITH(attention.forward(x, Tensor(), x), expected);
  CHECK_THROWS_WITH(attention.forward(x, x, Tensor::ones({3, 8})), expected);
  CHECK_THROWS_WITH(attention.forward(x, Tensor::ones({1, 3, 8}), x), expected);
  CHECK_THROWS_AS(attention.forward(x, x, Tensor::ones({2, 4, 8})), Error);
  CHECK_THROWS_AS(attention.forward(Tensor::ones({2, 3, 6}), x, x), Error);
  CHECK_THROWS_AS(attention.forward(x, x, Tensor::ones({2, 3, 8}, kDouble)), Error);
}

TEST_CASE("linear layers of attention start uniform within 1/sqrt(inputs)") {
  const MultiHeadAttention attention({.width = 64, .heads = 4, .dtype = kDouble}, {3, 3});
  for (const auto& [name, parameter] : attention.parameters()) {
    INFO(name);
    const std::vector<double> values = parameter.to_vector();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    CHECK(*low >= -0.125);
    CHECK(*low < -0.11);
    CHECK(*high <= 0.125);
    CHECK(*high > 0.11);
  }
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
  const auto attention = worked_example();
  const Tensor x = tensor_of(kInput).strided_view({1, 3, 4}, {12, 4, 1});
  for (const Point point : {Point::q, Point::k, Point::v, Point::attn_scores, Point::pattern,
                            Point::z, Point::result}) {
    Doubles hook(point);
    const AttentionResult changed = attention->forward(x, x, x, {}, {.hook = &hook});
    const AttentionResult plain = attention->forward(x, x, x);
    INFO(point_name(point, 0));
    // Nothing after the softmax changes its weights; the biases are 0, so the output doubles.
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

TEST_CASE("MultiHeadAttention refuses key/value caches") {
  const MultiHeadAttention attention({.width = 8, .heads = 2});
  const Tensor x = Tensor::ones({1, 3, 8});
  KeyValueCache* const none = nullptr;
  CHECK(mentions(error_of([&] {
                   attention.forward(x, x, x, {}, {.caches = {&none, 1}});
                 }),
                 {"[MultiHeadAttention]", "caches", "CausalSelfAttention"}));
}

}  // namespace multi_head_attention_test
