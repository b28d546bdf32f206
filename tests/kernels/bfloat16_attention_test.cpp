#include "kernels/attention/attention.h"
#include "support/cpu_variants.h"
#include "support/test.h"

// Attention by each kind of bfloat16 tiles against attention in float64. The inputs are rounded to
// bfloat16 already, so only the weights and the scores' gradients are rounded inside.

namespace bfloat16_attention_test {
using kernels::Bfloat16Tiles;

// Sizes around strips (14 or 32 rows), query tiles (56 or 64) and key tiles (256).
const std::vector<Index> kLengths{1, 2, 13, 15, 31, 32, 33, 57, 64, 65, 100, 255, 256, 257, 600};

// Half a unit in the last of bfloat16's eight significant bits.
constexpr double kRounding = 1.0 / 512;

struct Case {
  Index heads = 1;  // H
  Index width = 1;  // D
  std::vector<Index> lengths = {};
  double dropout = 0;

  std::vector<kernels::AttentionSequence> sequences() const {
    std::vector<kernels::AttentionSequence> result;
    Index begin = 0;
    for (const Index length : lengths) {
      result.push_back({begin, length, begin, length});
      begin += length;
    }
    return result;
  }
  Index tokens() const { return sequences().back().query_begin + lengths.back(); }  // N
};

struct Inputs {
  Tensor query;        // [N, H D], as the others
  Tensor key;          //
  Tensor value;        //
  Tensor output_grad;  //

  explicit Inputs(const Case& c) {
    std::uint64_t stream = 1;
    for (Tensor* tensor : {&query, &key, &value, &output_grad}) {
      const Tensor normal = random_normal({c.tokens(), c.heads * c.width}, {7, stream++});
      *tensor = convert(convert(normal, DType::bfloat16), DType::float32);
    }
  }
};

struct Outcome {
  Tensor output;                // [N, H D]
  Tensor log_sum_exp;           // [N, H]
  Tensor query_grad;            // [N, H D]
  Tensor key_grad;              //
  Tensor value_grad;            //
  std::vector<Tensor> weights;  // [H, T, T] per sequence

  std::vector<Tensor> all() const { return {output, query_grad, key_grad, value_grad}; }
};

template <class T>
Outcome empty_outcome(const Case& c, DType dtype) {
  const Shape shape{c.tokens(), c.heads * c.width};
  const auto unset = [&](const Shape& of) {
    Tensor tensor = Tensor::empty(of, dtype);
    tensor.fill(std::numeric_limits<double>::quiet_NaN());
    return tensor;
  };
  Outcome result{
      unset(shape), unset({c.tokens(), c.heads}), unset(shape), unset(shape), unset(shape), {}};
  for (const Index length : c.lengths) {
    result.weights.push_back(unset({c.heads, length, length}));
  }
  return result;
}

// Runs forward and backward; tiles... is a set of bfloat16 tiles, or empty for the generic kernels.
template <class T, class... Tiles>
Outcome attend(const Case& c, const Inputs& given, const Tiles&... tiles) {
  const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  const Tensor query = convert(given.query, dtype);
  const Tensor key = convert(given.key, dtype);
  const Tensor value = convert(given.value, dtype);
  const Tensor output_grad = convert(given.output_grad, dtype);
  const std::vector<kernels::AttentionSequence> sequences = c.sequences();
  const kernels::AttentionOperands<T> operands{
      .query = query.data<T>(),
      .key = key.data<T>(),
      .value = value.data<T>(),
      .query_stride = c.heads * c.width,
      .key_stride = c.heads * c.width,
      .key_head_stride = c.width,
      .heads = c.heads,
      .head_width = c.width,
      .scale = static_cast<T>(1 / std::sqrt(static_cast<double>(c.width))),
      .dropout = {.seed = 1, .stream = 2, .probability = static_cast<float>(c.dropout)},
      .sequences = sequences};
  Outcome result = empty_outcome<T>(c, dtype);
  auto weights = mapped<T*>(result.weights, [&](Tensor& tensor) { return tensor.data<T>(); });
  kernels::attention_forward(
      operands,
      kernels::AttentionOutputs<T>{.output = result.output.data<T>(),
                                   .log_sum_exp = result.log_sum_exp.data<T>(),
                                   .weights = weights},
      tiles...);
  kernels::attention_backward(
      operands,
      kernels::AttentionGradients<T>{.output = result.output.data<T>(),
                                     .log_sum_exp = result.log_sum_exp.data<T>(),
                                     .output_grad = output_grad.data<T>(),
                                     .query_grad = result.query_grad.data<T>(),
                                     .key_grad = result.key_grad.data<T>(),
                                     .value_grad = result.value_grad.data<T>()},
      tiles...);
  return result;
}

// Fills free memory with NaN, both as floats and as bfloat16, so that stale reads are visible.
void poison_free_memory() {
  release_unused_storage();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  Storage storage(kBytes);
  std::fill_n(static_cast<unsigned char*>(storage.data()), kBytes,
              static_cast<unsigned char>(0xFF));
}

// A gradient has two rounded factors: the scores' gradient, and the weights in the output.
void check_rounded(const Tensor& actual, const Tensor& expected) {
  CHECK(relative_difference(actual, expected) < 2 * kRounding);
  CHECK(largest_difference(actual, expected) < 0.02);
}

void check_case(const Case& c) {
  CAPTURE(c.heads, c.width, c.dropout);
  const Inputs inputs(c);
  const Outcome expected = attend<double>(c, inputs);
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    poison_free_memory();
    const Outcome actual = attend<float>(c, inputs, tiles);
    CHECK(largest_difference(actual.log_sum_exp, expected.log_sum_exp) < 1e-5);
    for (std::size_t i = 0; i < 4; ++i) {
      check_rounded(actual.all()[i], expected.all()[i]);
    }
    for (std::size_t b = 0; b < c.lengths.size(); ++b) {
      CHECK(largest_difference(actual.weights[b], expected.weights[b]) < 1e-5);
    }
  });
}

TEST_CASE("bfloat16 attention equals attention of rounded inputs for any length and head width",
          "[long]") {
  for (const Index width : {1, 8, 31, 32, 33, 100}) {
    check_case({.heads = 2, .width = width, .lengths = kLengths});
  }
}

TEST_CASE("bfloat16 attention drops the weights that float attention drops") {
  for (const Index width : {7, 32}) {
    check_case({.heads = 2, .width = width, .lengths = kLengths, .dropout = 0.3});
  }
}

TEST_CASE("bfloat16 attention rounds the weights but not those that are recorded") {
  const Case c{.heads = 2, .width = 32, .lengths = {300}};
  const Inputs inputs(c);
  const Outcome expected = attend<float>(c, inputs);
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    const Outcome actual = attend<float>(c, inputs, tiles);
    CHECK(largest_difference(actual.output, expected.output) > 1e-4);
    const std::vector<double> weights = actual.weights[0].to_vector();
    for (std::size_t row = 0; row < 600; ++row) {
      double sum = 0;
      for (std::size_t key = 0; key < 300; ++key) {
        sum += weights[row * 300 + key];
        REQUIRE((key <= row % 300 || weights[row * 300 + key] == 0));
      }
      REQUIRE(sum == Approx(1).margin(2e-6));
    }
  });
}

TEST_CASE("bfloat16 attention does not depend on the number of threads") {
  const Case c{.heads = 3, .width = 20, .lengths = {300, 1, 77}, .dropout = 0.1};
  const Inputs inputs(c);
  const int before = thread_count();
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    set_thread_count(1);
    const Outcome expected = attend<float>(c, inputs, tiles);
    for (const int threads : {2, 3, 8}) {
      set_thread_count(threads);
      const Outcome actual = attend<float>(c, inputs, tiles);
      CHECK(same_bits(actual.all(), expected.all()));
    }
    set_thread_count(before);
  });
}

TEST_CASE("an embedding later in its sequence changes no bit of bfloat16 attention before it") {
  const Case c{.heads = 1, .width = 24, .lengths = {300}};
  const Inputs inputs(c);
  Inputs changed(c);
  for (Tensor* tensor : {&changed.query, &changed.key, &changed.value}) {
    *tensor = tensor->clone();
    slice(*tensor, 0, 211, 300).fill(5);
  }
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    const Tensor first = attend<float>(c, inputs, tiles).output;
    const Tensor second = attend<float>(c, changed, tiles).output;
    CHECK(same_bits(slice(first, 0, 0, 211), slice(second, 0, 0, 211)));
    CHECK_FALSE(same_bits(slice(first, 0, 211, 212), slice(second, 0, 211, 212)));
  });
}
}  // namespace bfloat16_attention_test
