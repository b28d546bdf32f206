#include <cctype>

#include "headlight/show/attention/attention_html.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/show/plot/matrix_plot.h"
#include "support/test.h"

// Compiles and runs the right column of the table PyTorch | Headlight in docs/library.md.
// Its names and lines are not ours.
// NOLINTBEGIN(readability-identifier-naming, bugprone-unused-raii)
// NOLINTBEGIN(performance-unnecessary-copy-initialization)
constexpr Index B = 1;
constexpr Index T = 3;
constexpr Index H = 2;
constexpr Index D = 2;
constexpr Index C = 4;
constexpr Index h = 1;

// Takes values, so that rows of the table are a statement.
template <class... Values>
void rows(const Values&...) {}

Tensor counting(const Shape& shape) {
  return reshape(Tensor::arange(numel(shape), DType::float32), shape);
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](unsigned char letter) { return std::isspace(letter) != 0; });
  return text;
}

class Attention : public Module {};

class Silent : public ForwardHook {
 public:
  bool wants(Point, Index) const override { return false; }
  Tensor visit(const HookSite&, const Tensor& value) override { return value; }
};

TEST_CASE("the table from PyTorch: tensors and views") {
  const Ids ids{1, 2, 3, 4, 5, 6};
  RandomStream random{42};
  rows(random_normal({2, 4, 8}, random), Tensor::from({1.0F, 0.0F, 0.0F, 2.0F}, {2, 2}),
       Tensor::from(ids, {2, 3}), Tensor::scalar(2.0), Tensor::ones({T, T}, DType::boolean),
       Tensor::zeros({H, T, T}), Tensor::eye(4));
  const Tensor x = counting({B, T, C});
  const Tensor w = counting({C, C});
  const Tensor mask = Tensor::ones({T, T});
  const Tensor qkv = counting({3, B, H, T, D});
  const Tensor attn_weights = counting({B, H, T, T});
  const Tensor Qh = counting({T, H, D});
  std::ostringstream printed;
  std::streambuf* const terminal = std::cout.rdbuf(printed.rdbuf());
  std::cout << x;
  std::cout.rdbuf(terminal);
  CHECK(printed.str() == tensor_text(x));
  rows(x.shape(), x.size(-1), tensor_text(x, {.precision = 2, .scientific = false}),
       x.detach().to_vector());
  rows(reshape(x, {B, -1, H, D}), reshape(x, {-1}), transpose(x, 1, 2), transpose(w),
       permute(x, {2, 0, 1}), contiguous(x), unsqueeze(mask, 0), squeeze(x, 0), select(qkv, 0, 0),
       select(select(attn_weights, 0, 0), 0, h), select(Qh, 1, 1), slice(x, 1, 1, 3));
  const Tensor scores = Tensor::zeros({H, T, T});
  const Tensor s = Tensor::ones({T, T});
  select(scores, 0, h).copy_from(s);
  CHECK(sum(scores).item() == T * T);
  CHECK(select(select(attn_weights, 0, 0), 0, h).shape() == Shape{T, T});
}

TEST_CASE("the table from PyTorch: numbers and masks") {
  const Tensor x = counting({B, T, C});
  const Tensor Q = counting({B, H, T, D});
  const Tensor K = Q;
  const Tensor Qh = counting({T, H, D});
  const Tensor Kh = Qh;
  const Tensor a = counting({T, C});
  const Tensor w = counting({C, C});
  const Tensor b = counting({T, 1});
  const double d_k = 2;
  const Tensor scores = matmul(Q, transpose(K, -2, -1));
  const Tensor attn = softmax(scores, -1);
  rows(matmul(Q, transpose(K, -2, -1)), matmul(a, w), einsum("thd,shd->hts", Qh, Kh),
       scores / std::sqrt(d_k), scores / sqrt(Tensor::scalar(d_k)), a - reshape(b, {-1, 1}),
       concat({a, b}, 1), 1.0 - x, softmax(scores, -1), sum(attn, {.axes = {-1}}),
       mean(x, {.axes = {-1}}), stddev(x, {.axes = {-1}}, 0), clamp(x, -1, 1), argmax(x, -1));
  Tensor y = x;
  y += x;
  CHECK(allclose(y, x * 2.0));
  const auto [values, indices] = topk(x, 2);
  rows(gather(x, -1, indices), allclose(a, b, {.absolute = 1e-6}));
  CHECK(allclose(values, gather(x, -1, indices)));
  const Tensor mask = tril(Tensor::ones({T, T}));
  const Tensor hidden = triu(Tensor::ones({T, T}, DType::boolean), 1);
  rows(equal(mask, 0), less(x, 1), logical_not(hidden), logical_and(a, b), logical_or(a, b),
       masked_fill(scores, equal(mask, 0), -std::numeric_limits<double>::infinity()));
  CHECK(allclose(equal(mask, 0), hidden));
  const std::vector<Ids> data{{1, 2, 3}, {4}};
  const std::int32_t pad_id = 0;
  CHECK(pad_sequences(data, pad_id).tokens.shape() == Shape{2, 3});
}

TEST_CASE("the table from PyTorch: modules and hooks") {
  const RandomStream random{42};
  constexpr Index vocab_size = 10;
  const Tensor x = counting({B, T, C});
  const Tensor a = counting({T, C});
  Linear w_q({C, C}, random);
  rows(w_q.forward(x), Attention());
  Embedding({.count = vocab_size, .width = C}, random);
  Dropout(0.1);
  const LayerNorm m({.width = C});
  rows(m.weight, m.bias);
  BatchNorm1d batch({.width = C});
  batch.forward(a, {.training = true});
  const MultiHeadAttention mha({.width = C, .heads = H}, random);
  const auto [Q, K, V] = std::tuple(x, x, x);
  rows(mha.forward(x, x, x), scaled_dot_product_attention(Q, K, V).output, mha.parameter_count());
  const Tensor loss = mean(mha.forward(x, x, x).output);
  backward(loss);
  const Tensor p = mha.parameters()[0].second;
  rows(loss.item(), p.grad());
  CHECK(p.grad().defined());
  Gpt model({.vocab_size = vocab_size, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4});
  const auto hook = std::make_shared<Silent>();
  model.attach(hook);
  const NoGrad no_grad;
  CHECK(model.logits(make_batch({{1, 2, 3}})).shape() == Shape{3, vocab_size});
}

TEST_CASE("the table from PyTorch: pictures") {
  const test::TemporaryFolder folder;
  const auto here = fs::current_path();
  fs::current_path(folder.path());
  const std::vector<std::string> tokens{"a", "b", "c"};
  const std::vector<double> xs{0, 1};
  const std::vector<double> ys{2, 3};
  const Tensor attn = Tensor::eye(T);
  const std::string svg =
      matrix_plot_svg({.rows = tokens, .columns = tokens, .values = attn.to_vector()});
  write_file("attention.svg", svg);
  CHECK(fs::exists(folder.path() / "attention.svg"));
  fs::current_path(here);
  const AttentionMaps maps{
      .title = "", .tokens = tokens, .layers = {{0, {0}, unsqueeze(Tensor::eye(T), 0)}}};
  rows(line_plot_svg({.series = {{.x = xs, .y = ys}}}),
       attention_html({maps}, {.view = AttentionView::head}),
       attention_html({maps}, {.view = AttentionView::model}));
}

TEST_CASE("every row of the table from PyTorch is compiled above", "[structure]") {
  static const std::regex kRow("\n\\| `[^\n]*` \\| `([^\n]*)` \\|(?=\n)");
  const std::string root = HEADLIGHT_SOURCE_DIR;
  const std::string page = file_contents(root + "/docs/library.md");
  const std::string source =
      without_blanks(file_contents(root + "/tests/structure/pytorch_table_test.cpp"));
  int count = 0;
  for (const std::string& cell : matches_of(page, kRow)) {
    INFO(cell);
    CHECK(source.find(without_blanks(cell)) != std::string::npos);
    ++count;
  }
  CHECK(count > 60);
}

// NOLINTEND(performance-unnecessary-copy-initialization)
// NOLINTEND(readability-identifier-naming, bugprone-unused-raii)
