// An op and a model that Headlight does not have, from outside: the example of the README.
#include <headlight/autograd/autograd.h>
#include <headlight/autograd/gradient_check.h>
#include <headlight/data/batcher.h>
#include <headlight/kernels/parallel.h>
#include <headlight/nn/layers.h>
#include <headlight/ops/cross_entropy.h>
#include <headlight/optim/adamw.h>
#include <headlight/text/char_tokenizer.h>

#include <cmath>
#include <iostream>

using namespace headlight;

// log(1 + exp(x)) of every element, double or float.
template <class T>
void softplus_elements(const Tensor& x, Tensor& y) {
  const T* from = x.data<T>();
  T* to = y.mutable_data<T>();
  parallel_for(x.numel(), 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      to[i] = std::max(from[i], T{0}) + std::log1p(std::exp(-std::abs(from[i])));
    }
  });
}

Tensor softplus(const Tensor& x) {
  const Tensor values = to_contiguous(x.detach());
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (x.dtype() == DType::float64) {
    softplus_elements<double>(values, y);
  } else {
    softplus_elements<float>(values, y);
  }
  return record("softplus", y, {x}, [](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{grad * sigmoid(inputs[0])};
  });
}

// The next character from the last one alone, through an inner layer.
class Bigrams : public Module {
 public:
  Bigrams(Index vocabulary, Index width)
      : embedding_({.count = vocabulary, .width = width}, {1, 1}),
        head_({.inputs = width, .outputs = vocabulary}, {1, 2}) {
    register_module("embedding", embedding_);
    register_module("head", head_);
  }
  Tensor loss(const Batch& batch) const {
    return cross_entropy(head_.forward(softplus(embedding_.forward(batch.tokens))), batch.targets,
                         {.ignore_index = kIgnoreTarget});
  }

 private:
  Embedding embedding_;
  Linear head_;
};

int main() {
  const Tensor x = random_uniform({3, 5}, {7, 7}, -3, 3, DType::float64).set_requires_grad();
  const GradientCheckResult check =
      check_gradients([](const auto& inputs) { return softplus(inputs[0]); }, {x});
  std::cout << "gradients " << (check.passed ? "agree" : check.worst) << "\n";

  const std::string text = "abcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabd";
  const CharTokenizer tokenizer = build_char_tokenizer(text);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(text));
  Batcher batcher(dataset, {.batch_size = 4, .block_size = 12});
  Bigrams model(tokenizer.vocab_size(), 16);
  AdamW optimizer(model.parameters());
  double loss_value = 0;
  for (Index step = 0; step < 200; ++step) {
    model.zero_grad();
    const Tensor loss = model.loss(batcher.batch(step));
    backward(loss);
    optimizer.step(1e-2);
    loss_value = loss.item();
  }
  // After b come c and d in turn, which the last character cannot tell: log(2) / 3 stays.
  std::cout << "loss " << loss_value << "\n";
  return check.passed && std::abs(loss_value - std::log(2.0) / 3) < 0.1 ? 0 : 1;
}
