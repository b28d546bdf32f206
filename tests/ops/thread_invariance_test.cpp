#include "support/test.h"

// Every result must have equal bits for any number of threads.

namespace thread_invariance_test {
using Inputs = std::vector<Tensor>;

// Returns the output of a function and the gradients of all its inputs.
std::vector<Tensor> run(const Inputs& inputs, const std::function<Tensor(const Inputs&)>& f) {
  Inputs leaves;
  for (const Tensor& input : inputs) {
    leaves.push_back(leaf(input.detach()));
  }
  const Tensor output = f(leaves);
  std::vector<Tensor> results{output.detach()};
  backward(output, {.gradient = noise(output.shape(), 99, output.dtype())});
  for (const Tensor& x : leaves) {
    results.push_back(x.grad());
  }
  return results;
}

void check_threads(const Inputs& inputs, const std::function<Tensor(const Inputs&)>& f) {
  const auto with_threads = [&](int count) {
    const ThreadScope scope(count);
    return run(inputs, f);
  };
  const std::vector<Tensor> expected = with_threads(1);
  for (const int threads : {2, 3, 8}) {
    INFO(threads << " threads");
    const std::vector<Tensor> results = with_threads(threads);
    for (std::size_t i = 0; i < results.size(); ++i) {
      INFO("result " << i);
      CHECK(same_bits(results[i], expected[i]));
    }
  }
}

Tensor floats_of(const Shape& shape, std::uint64_t stream) {
  return noise(shape, stream, DType::float32);
}

Tensor ids_below(Index count, Index bound) {
  Tensor ids = Tensor::empty({count}, DType::int32);
  for (Index i = 0; i < count; ++i) {
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(
        RandomStream{4, 4}.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(bound)));
  }
  return ids;
}

TEST_CASE("matmul gives the same bits with any number of threads") {
  const auto product = [](const Inputs& in) { return matmul(in[0], in[1]); };
  check_threads({floats_of({831, 190}, 1), floats_of({190, 877}, 2)}, product);
  check_threads({floats_of({7, 50, 33}, 1), floats_of({7, 33, 41}, 2)}, product);
  check_threads({floats_of({1, 300}, 1), floats_of({300, 1000}, 2)}, product);
}

TEST_CASE("linear gives the same bits with any number of threads") {
  check_threads({floats_of({1717, 96}, 1), floats_of({203, 96}, 2), floats_of({203}, 3)},
                [](const Inputs& in) { return linear(in[0], in[1], in[2]); });
}

TEST_CASE("layer_norm gives the same bits with any number of threads") {
  check_threads({floats_of({1003, 65}, 1), floats_of({65}, 2), floats_of({65}, 3)},
                [](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); });
}

TEST_CASE("rms_norm gives the same bits with any number of threads") {
  check_threads({floats_of({1003, 65}, 1), floats_of({65}, 2)},
                [](const Inputs& in) { return rms_norm(in[0], in[1]); });
}

TEST_CASE("rope gives the same bits with any number of threads") {
  const Tensor positions = ids_below(1500, 5000);
  for (const RotaryStyle style : {RotaryStyle::half, RotaryStyle::interleaved}) {
    check_threads({floats_of({1500, 3, 34}, 1)},
                  [&](const Inputs& in) { return rope(in[0], positions, {.style = style}); });
  }
}

TEST_CASE("gated and plain MLPs give the same bits with any number of threads") {
  for (const auto& [name, activation] : kChoices<Activation>) {
    INFO(name);
    const Activation chosen = activation;
    check_threads({floats_of({1100, 40}, 1), floats_of({72, 40}, 2), floats_of({40, 72}, 3),
                   floats_of({72, 40}, 4)},
                  [&](const Inputs& in) {
                    const FeedForwardParameters plain{
                        .norm = {.gain = {}, .shift = {}, .epsilon = 1e-6, .kind = NormKind::rms},
                        .up_weight = in[1],
                        .up_bias = {},
                        .down_weight = in[2],
                        .down_bias = {},
                        .activation = chosen};
                    FeedForwardParameters gated = plain;
                    gated.gate_weight = in[3];
                    return feed_forward(in[0], plain) + feed_forward(in[0], gated);
                  });
  }
}

TEST_CASE("batch_norm gives the same bits with any number of threads") {
  check_threads({floats_of({900, 33}, 1), floats_of({33}, 2), floats_of({33}, 3)},
                [](const Inputs& in) {
                  RunningStatistics running{Tensor::zeros({33}), Tensor::ones({33})};
                  return batch_norm(in[0], in[1], in[2], running);
                });
}

TEST_CASE("ragged attention gives the same bits with any number of threads") {
  const RaggedAttentionOptions options{
      .heads = 3, .offsets = {0, 1, 66, 366, 500}, .dropout = 0.1, .random = {1, 2}};
  check_threads({floats_of({500, 3 * 3 * 16}, 1)},
                [&](const Inputs& in) { return ragged_attention(in[0], options); });
}

TEST_CASE("plain attention gives the same bits with any number of threads") {
  check_threads({floats_of({6, 70, 16}, 1), floats_of({6, 70, 16}, 2), floats_of({6, 70, 16}, 3)},
                [](const Inputs& in) {
                  return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true}).output;
                });
}

TEST_CASE("cross_entropy gives the same bits with any number of threads") {
  const Tensor targets = ids_below(700, 129);
  check_threads({floats_of({700, 129}, 1)},
                [&](const Inputs& in) { return cross_entropy(in[0], targets); });
  check_threads({floats_of({700, 48}, 1), floats_of({129, 48}, 2)},
                [&](const Inputs& in) { return linear_cross_entropy(in[0], in[1], targets); });
}

TEST_CASE("embedding gives the same bits with any number of threads") {
  const Tensor ids = ids_below(2000, 50);
  check_threads({floats_of({50, 300}, 1)}, [&](const Inputs& in) { return embedding(in[0], ids); });
}

TEST_CASE("element by element ops and reductions give the same bits with any number of threads") {
  check_threads({floats_of({301, 257}, 1), floats_of({257}, 2)}, [](const Inputs& in) {
    return mean(softmax(gelu(in[0] * in[1])) + tanh(in[0]), {.axes = {0}});
  });
  check_threads({floats_of({301, 257}, 1)}, [](const Inputs& in) {
    return dropout(in[0], 0.2, {1, 2});
  });
  check_threads({floats_of({100000}, 1)}, [](const Inputs& in) { return var(in[0]); });
}
}  // namespace thread_invariance_test
