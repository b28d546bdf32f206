#include "support/test.h"

// Every result must have equal bits for any number of threads.

namespace thread_invariance_test {
using Inputs = std::vector<Tensor>;

// Returns the output of a function and the gradients of all its inputs.
std::vector<Tensor> run(const Inputs& inputs, const std::function<Tensor(const Inputs&)>& f) {
  const auto leaves =
      mapped<Tensor>(inputs, [&](const Tensor& input) { return leaf(input.detach()); });
  const Tensor output = f(leaves);
  std::vector<Tensor> results{output.detach()};
  backward(output, {.gradient = noise(output.shape(), 99, output.dtype())});
  for (const Tensor& x : leaves) {
    results.push_back(x.grad());
  }
  return results;
}

Tensor ids_below(Index count, Index bound) {
  const Ids ids = draw_ids(count, bound, 4);
  return Tensor::from(ids, {count});
}

Tensor mlp(const Inputs& in, Activation activation, bool gated) {
  FeedForwardParameters parameters;
  parameters.norm = {.gain = {}, .shift = {}, .epsilon = 1e-6, .kind = NormKind::rms};
  parameters.up_weight = in[1];
  parameters.down_weight = in[2];
  parameters.gate_weight = gated ? in[3] : Tensor();
  parameters.activation = activation;
  return feed_forward(in[0], parameters);
}

struct Row {
  std::string op;
  std::vector<Shape> shapes;
  std::function<Tensor(const Inputs&)> f;
};

std::vector<Row> rows() {
  const auto product = [](const Inputs& in) { return matmul(in[0], in[1]); };
  const Tensor targets = ids_below(700, 129);
  std::vector<Row> all{
      {"matmul", {{831, 190}, {190, 877}}, product},
      {"matmul of batches", {{7, 50, 33}, {7, 33, 41}}, product},
      {"matmul of a row", {{1, 300}, {300, 1000}}, product},
      {"linear",
       {{1717, 96}, {203, 96}, {203}},
       [](const Inputs& in) { return linear(in[0], in[1], in[2]); }},
      {"layer_norm",
       {{1003, 65}, {65}, {65}},
       [](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); }},
      {"rms_norm", {{1003, 65}, {65}}, [](const Inputs& in) { return rms_norm(in[0], in[1]); }},
      {"batch_norm",
       {{900, 33}, {33}, {33}},
       [](const Inputs& in) {
         RunningStatistics running{Tensor::zeros({33}), Tensor::ones({33})};
         return batch_norm(in[0], in[1], in[2], running);
       }},
      {"ragged_attention",
       {{500, 3 * 3 * 16}},
       [](const Inputs& in) {
         const std::vector<Index> offsets{0, 1, 66, 366, 500};
         return ragged_attention(
             in[0], {.heads = 3, .offsets = offsets, .dropout = 0.1, .random = {1, 2}});
       }},
      {"plain attention",
       {{6, 70, 16}, {6, 70, 16}, {6, 70, 16}},
       [](const Inputs& in) {
         return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true}).output;
       }},
      {"cross_entropy",
       {{700, 129}},
       [=](const Inputs& in) { return cross_entropy(in[0], targets); }},
      {"linear_cross_entropy",
       {{700, 48}, {129, 48}},
       [=](const Inputs& in) { return linear_cross_entropy(in[0], in[1], targets); }},
      {"embedding",
       {{50, 300}},
       [ids = ids_below(2000, 50)](const Inputs& in) { return embedding(in[0], ids); }},
      {"elementwise ops",
       {{301, 257}, {257}},
       [](const Inputs& in) {
         return mean(softmax(gelu(in[0] * in[1])) + tanh(in[0]), {.axes = {0}});
       }},
      {"dropout",
       {{301, 257}},
       [](const Inputs& in) {
         return dropout(in[0], 0.2, {1, 2});
       }},
      {"var", {{100000}}, [](const Inputs& in) { return var(in[0]); }}};
  for (const RotaryStyle style : {RotaryStyle::half, RotaryStyle::interleaved}) {
    all.push_back({"rope", {{1500, 3, 34}}, [=](const Inputs& in) {
                     return rope(in[0], ids_below(1500, 5000), {.style = style});
                   }});
  }
  for (const Choice<Activation>& choice : kChoices<Activation>) {
    all.push_back({concat_text("MLP with ", choice.name),
                   {{1100, 40}, {72, 40}, {40, 72}, {72, 40}},
                   [activation = choice.value](const Inputs& in) {
                     return mlp(in, activation, false) + mlp(in, activation, true);
                   }});
  }
  return all;
}

TEST_CASE("every op gives the same bits with any number of threads") {
  for (const Row& row : rows()) {
    Inputs inputs;
    for (const Shape& shape : row.shapes) {
      inputs.push_back(noise(shape, inputs.size() + 1, DType::float32));
    }
    const auto with_threads = [&](int count) {
      const ThreadScope scope(count);
      return run(inputs, row.f);
    };
    const std::vector<Tensor> expected = with_threads(1);
    for (const int threads : {2, 3, 8}) {
      INFO(row.op << " with " << threads << " threads");
      CHECK(same_bits(with_threads(threads), expected));
    }
  }
}
}  // namespace thread_invariance_test
