// Note 002: the width of a head, and a hook that collects the attention weights of each layer.
#include <headlight/headlight.h>

#include <iostream>
#include <vector>

using namespace headlight;

// Collects the pattern [H, T, T] of every layer.
class CollectPatterns : public ForwardHook {
 public:
  bool wants(Point point, Index) const override { return point == Point::pattern; }
  Tensor visit(const HookSite&, const Tensor& pattern) override {
    patterns.push_back(pattern);
    return pattern;
  }

  std::vector<Tensor> patterns;  // a layer after the other
};

// Share of attention that the heads [H] give to the previous token, from patterns [H, T, T].
Tensor previous_token_score(const Tensor& pattern) {
  const Index T = pattern.size(-1);
  const Tensor before = tril(triu(Tensor::ones({T, T}, DType::boolean), -1), -1);
  const Tensor shares = masked_fill(pattern, logical_not(before), 0);
  return sum(shares, {.axes = {-2, -1}}) / static_cast<double>(T - 1);
}

// Share of attention that the heads [H] give to the first token.
Tensor first_token_score(const Tensor& pattern) {
  return mean(select(pattern, -1, 0), {.axes = {-1}});
}

int main() {
  struct Row {
    const char* name;
    Index width;
    Index heads;
  };
  for (const Row& row : {Row{"BERT-base", 768, 12}, Row{"BERT-large", 1024, 16},
                         Row{"GPT-2", 768, 12}, Row{"GPT-3", 12288, 96}}) {
    std::cout << row.name << ": d_k = " << row.width / row.heads << "\n";
  }
  // More heads of a smaller width: the number of parameters is the same.
  for (const Index heads : {4, 8, 64}) {
    const MultiHeadAttention attention({.width = 512, .heads = heads});
    std::cout << heads << " heads of width " << attention.head_width() << ": "
              << attention.parameter_count() << " parameters\n";
  }

  const Gpt model({.vocab_size = 50, .block_size = 16, .n_layer = 2, .n_head = 4, .n_embd = 32});
  CollectPatterns hook;
  const NoGrad no_grad;
  model.logits(make_batch({{3, 14, 15, 9, 26, 5, 35, 8}}), {.hook = &hook});
  for (const Tensor& pattern : hook.patterns) {
    const Tensor scores = previous_token_score(pattern);
    std::cout << "pattern " << pattern.shape() << ", previous token "
              << tensor_text(scores, {.precision = 2}) << ", first token "
              << tensor_text(first_token_score(pattern), {.precision = 2}) << ", best head "
              << argmax(scores).item() << "\n";
  }
  const TopK strongest = topk(select(select(hook.patterns[0], 0, 0), 0, 7), 3);
  std::cout << "keys with the largest weights of the last query in head 0: " << strongest.indices
            << "\n";
}
