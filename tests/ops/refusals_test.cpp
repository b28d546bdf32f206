#include "support/test.h"

// What each op refuses. Every message begins with the op's name and has the given parts.
template <class Call>
void refuses(const std::string& op, const Call& call, const std::vector<std::string>& parts = {},
             int line = __builtin_LINE()) {
  const std::string error = error_of(call);
  INFO("called in line " << line << ": " << error);
  CHECK(error.starts_with("[" + op + "]"));
  CHECK(mentions(error, parts));
}

Tensor zeros(const Shape& shape, DType dtype = DType::float32) {
  return Tensor::zeros(shape, dtype);
}
Tensor wide(const Shape& shape) { return zeros(shape, DType::float64); }
Tensor hides(const Shape& shape) { return zeros(shape, DType::boolean); }
Tensor ids(std::initializer_list<std::int32_t> values) {
  return ints(values, {std::ssize(values)});
}

const Tensor kNone;
const Tensor kX = zeros({2, 3});
const Tensor kIds = ids({1});
const Tensor kYes = bools({true}, {1});

TEST_CASE("rearrangements name what they refuse") {
  constexpr Index kHuge = std::numeric_limits<Index>::max();
  refuses("reshape", [] { reshape(kX, {4, 2}); }, {"[2, 3]", "[4, 2]"});
  refuses("reshape", [] { reshape(kX, {4, -1}); }, {"[2, 3]", "[4, -1]"});
  refuses("reshape", [] { reshape(kX, {-1, -1}); }, {"only one", "[-1, -1]"});
  refuses("reshape", [] { reshape(kX, {-2, 3}); }, {"negative", "[-2, 3]"});
  refuses("reshape", [] { reshape(kX, {kHuge, kHuge, -1}); }, {"too many"});
  refuses("reshape", [] { reshape(kX, {0, -1}); }, {"[0, -1]"});
  refuses("reshape", [] { reshape(kNone, {1}); }, {"undefined"});
  refuses("transpose", [] { transpose(kX, 0, 2); }, {"axis 2", "2 axes"});
  refuses("transpose", [] { transpose(zeros({3})); }, {"axis -2"});
  refuses("transpose", [] { transpose(kNone); }, {"undefined"});
  refuses("permute", [] { permute(kX, {0}); }, {"expected 2", "got 1"});
  refuses("permute", [] { permute(kX, {0, 0}); }, {"axis 0", "twice"});
  refuses("permute", [] { permute(kX, {0, -2}); }, {"axis -2", "twice"});
  refuses("permute", [] { permute(kX, {0, 5}); }, {"axis 5"});
  refuses("permute", [] { permute(kNone, {}); }, {"undefined"});
  refuses("slice", [] { slice(kIds, 1, 0, 1); }, {"axis 1", "1 axes"});
  refuses("slice", [] { slice(kX, 0, 0, 1, 0); }, {"positive step", "got 0"});
  refuses("slice", [] { slice(kX, 0, 0, 1, -1); }, {"got -1"});
  refuses("slice", [] { slice(kNone, 0, 0, 1); }, {"undefined"});
  refuses("expand", [] { expand(kX, {4, 3}); }, {"[2, 3]", "[4, 3]"});
  refuses("expand", [] { expand(kX, {3}); }, {"[2, 3]", "[3]"});
  refuses("expand", [] { expand(kX, {2, 1}); }, {"[2, 3]", "[2, 1]"});
  refuses("expand", [] { expand(kNone, {1}); }, {"undefined"});
  CHECK_FALSE(error_of([] { expand(zeros({1}), {-1}); }) == "no error");
  refuses("concat", [] { concat({}, 0); }, {"at least one"});
  refuses("concat", [] { concat({kX, zeros({2, 4})}, 0); }, {"[2, 3]", "[2, 4]"});
  refuses("concat", [] { concat({kX, zeros({3})}, 0); }, {"[2, 3]", "[3]"});
  refuses("concat", [] { concat({kX, kX}, 2); }, {"axis 2"});
  refuses("concat", [] { concat({kX, wide({2, 3})}, 0); }, {"float64"});
  CHECK_FALSE(error_of([] { concat({kX, kNone}, 0); }) == "no error");
  CHECK_FALSE(error_of([] { concat({kNone, kNone}, 0); }) == "no error");
  refuses("stack", [] { stack({}); }, {"at least one"});
  refuses("stack", [] { stack({zeros({2}), zeros({1})}); }, {"[2]", "[1]"});
  refuses("stack", [] { stack({zeros({2})}, 2); }, {"axis 2"});
  refuses("split", [] { split(kX, 0, 1); }, {"positive size", "got 0"});
  refuses("split", [] { split(kX, 1, 3); }, {"axis 3"});
  refuses("split", [] { split(kNone, 1, 0); }, {"undefined"});
  refuses("contiguous", [] { contiguous(kNone); }, {"undefined"});
  refuses("select", [] { select(kX, 1, 3); }, {"index 3", "axis 1", "[2, 3]"});
  refuses("select", [] { select(kX, 1, -4); }, {"index -4"});
  refuses("select", [] { select(kX, 2, 0); }, {"axis 2"});
  refuses("select", [] { select(zeros({0}), 0, 0); }, {"[0]"});
  refuses("select", [] { select(kNone, 0, 0); }, {"undefined"});
  refuses("unsqueeze", [] { unsqueeze(kX, 3); }, {"axis 3"});
  refuses("unsqueeze", [] { unsqueeze(kNone, 0); }, {"undefined"});
  refuses("squeeze", [] { squeeze(kX, -3); }, {"axis -3"});
  refuses("squeeze", [] { squeeze(kNone, 0); }, {"undefined"});
}

TEST_CASE("arithmetic and functions of one element name what they refuse") {
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  for (const auto& [name, op] :
       std::map<std::string, Binary>{{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}}) {
    const Binary run = op;
    refuses(name, [=] { run(kX, zeros({4})); }, {"[2, 3]", "[4]"});
    refuses(name, [=] { run(kX, wide({2, 3})); }, {"float32", "float64"});
    refuses(name, [=] { run(kX, kNone); }, {"undefined"});
    refuses(name, [=] { run(kNone, kX); }, {"undefined"});
    refuses(name, [=] { run(kIds, kIds); }, {"float32 or float64", "int32"});
  }
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"neg", neg},
      {"pow", [](const Tensor& x) { return pow(x, 2); }},
      {"exp", exp},
      {"log", log},
      {"sqrt", sqrt},
      {"tanh", tanh},
      {"relu", relu},
      {"sigmoid", sigmoid},
      {"silu", silu},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x, GeluForm::erf); }}};
  for (const auto& one : functions) {
    const char* name = one.first;
    const auto run = one.second;
    refuses(name, [=] { run(kNone); }, {"undefined"});
    refuses(name, [=] { run(kIds); }, {"int32"});
    refuses(name, [=] { run(zeros({1}, DType::bfloat16)); }, {"bfloat16"});
  }
  refuses("cast", [] { cast(kX, DType::int32); }, {"floating"});
  refuses("cast", [] { cast(kIds, DType::float32); }, {"floating"});
  refuses("cast", [] { cast(kNone, DType::float32); });
}

TEST_CASE("products name what they refuse") {
  const auto product = [](const Shape& a, const Shape& b) {
    return [=] { matmul(zeros(a), zeros(b)); };
  };
  refuses("matmul", product({4, 8}, {9, 2}), {"inner sizes", "[4, 8]", "[9, 2]"});
  refuses("matmul", product({2, 4, 8}, {9, 2}), {"[2, 4, 8]", "[9, 2]"});
  refuses("matmul", product({3}, {4}), {"inner sizes"});
  refuses("matmul", product({2, 3, 4}, {5, 4, 2}), {"broadcast", "[2]", "[5]"});
  refuses("matmul", product({}, {3}), {"at least one axis"});
  refuses("matmul", product({3}, {}), {"at least one axis"});
  refuses("matmul", [] { matmul(kX, kNone); });
  refuses("matmul", [] { matmul(zeros({2, 2}), wide({2, 2})); }, {"float32", "float64"});
  refuses("matmul", [] { matmul(ints({1}, {1, 1}), ints({1}, {1, 1})); }, {"int32"});
  const Tensor x = zeros({5, 3});
  refuses("linear", [=] { linear(x, zeros({3, 2})); }, {"[5, 3]", "[3, 2]"});
  refuses("linear", [=] { linear(x, zeros({3})); }, {"two axes"});
  refuses("linear", [=] { linear(x, kX, zeros({3})); }, {"bias", "[2]", "[3]"});
  refuses("linear", [=] { linear(Tensor::scalar(1), kX); }, {"one axis"});
  refuses("linear", [=] { linear(kNone, kX); });
  refuses("linear", [=] { linear(x, kX, wide({2})); }, {"float64"});
  const auto of_two = [](const char* equation, const Shape& a = {2, 3}, const Shape& b = {3, 2}) {
    return [=] { einsum(equation, zeros(a), zeros(b)); };
  };
  refuses("einsum", of_two("ij,jk"), {"'ij,jk'", "'->'"});
  refuses("einsum", of_two("ij,jk->ix"), {"x", "no operand"});
  refuses("einsum", of_two("ii,ij->j", {2, 2}, {2, 2}), {"label i", "repeats"});
  refuses("einsum", of_two("ij,jk->ii"), {"label i", "repeats"});
  refuses("einsum", of_two("i1,jk->ik"), {"single letters"});
  refuses("einsum", of_two("ij,jk->i->k"), {"single letters"});
  refuses("einsum", of_two("...ij,jk->ik"), {"single letters"});
  refuses("einsum", of_two("ijk,jk->i"), {"'ijk'", "[2, 3]"});
  refuses("einsum", of_two("ij,jk->ik", {2, 3}, {4, 2}), {"label j", "3", "4"});
  refuses("einsum", of_two("ij->i"), {"two operands"});
  refuses("einsum", [] { einsum("", zeros({2})); }, {"'->'"});
  refuses("einsum", [] { einsum("ij,jk->ik", kX); }, {"one operand"});
  refuses("einsum", [] { einsum("i->i", kNone); }, {"'i'"});
}

TEST_CASE("choices and masks name what they refuse") {
  refuses("argmax", [] { argmax(kX, 2); }, {"axis 2"});
  refuses("argmax", [] { argmax(zeros({3, 0}), 1); }, {"[3, 0]"});
  refuses("argmax", [] { argmax(zeros({0})); }, {"nothing"});
  refuses("argmax", [] { argmax(kNone); }, {"undefined"});
  refuses("topk", [] { topk(kX, 4); }, {"0 to 3", "got 4"});
  refuses("topk", [] { topk(kX, -1); }, {"got -1"});
  refuses("topk", [] { topk(kNone, 1); }, {"undefined"});
  refuses("topk", [] { topk(Tensor::scalar(1), 1); }, {"axis -1"});
  refuses("gather", [] { gather(kX, 1, ints({3}, {1, 1})); }, {"index 3", "[2, 3]"});
  refuses("gather", [] { gather(kX, 1, ints({-1}, {1, 1})); }, {"index -1"});
  refuses("gather", [] { gather(kX, 1, ids({0})); }, {"[2, 3]", "[1]"});
  refuses("gather", [] { gather(kX, 1, zeros({3, 1}, DType::int32)); }, {"axis 0"});
  refuses("gather", [] { gather(kX, 1, kX); }, {"int32", "float32"});
  refuses("masked_fill", [] { masked_fill(kX, hides({2}), 0); }, {"[2]", "[2, 3]"});
  refuses("masked_fill", [] { masked_fill(kX, hides({4, 2, 3}), 0); }, {"[4, 2, 3]", "[2, 3]"});
  refuses("masked_fill", [] { masked_fill(kX, kX, 0); }, {"bool", "float32", "equal(mask, 0)"});
  refuses("masked_fill", [] { masked_fill(kX, kNone, 0); }, {"undefined"});
  refuses("masked_fill", [] { masked_fill(kNone, kNone, 0); });
  refuses("masked_fill", [] { masked_fill(kIds, kYes, 0); }, {"int32"});
  refuses("where", [] { where(kX, kX, kX); }, {"condition", "bool"});
  refuses("where", [] { where(kYes, zeros({2}), zeros({3})); }, {"[2]", "[3]"});
  refuses("where", [] { where(kYes, kX, wide({2, 3})); }, {"float64"});
  refuses("where", [] { where(kYes, kX, kNone); }, {"undefined"});
  refuses("tril", [] { tril(zeros({3})); }, {"two axes", "[3]"});
  refuses("triu", [] { triu(kNone); }, {"two axes"});
  refuses("combine_masks", [] { combine_masks(causal_mask(2), causal_mask(3)); },
          {"[2, 2]", "[3, 3]"});
  refuses("combine_masks",
          [] {
            combine_masks(causal_mask(2), zeros({2, 2}));
          },
          {"bool", "float32"});
  refuses("softmax", [] { softmax(kX, 2); }, {"axis 2"});
  refuses("softmax", [] { softmax(Tensor::scalar(1)); }, {"one axis"});
  refuses("softmax", [] { softmax(kIds); }, {"int32"});
  refuses("log_softmax", [] { log_softmax(kX, -3); }, {"axis -3"});
  refuses("log_softmax", [] { log_softmax(kNone); }, {"one axis"});
  refuses("log_softmax", [] { log_softmax(kIds); }, {"int32"});
  refuses("masked_softmax", [] { masked_softmax(kX, kX); }, {"mask", "bool"});
  refuses("masked_softmax", [] { masked_softmax(kX, hides({2})); }, {"[2]", "[2, 3]"});
  refuses("masked_softmax", [] { masked_softmax(kX, hides({5, 2, 3})); }, {"[5, 2, 3]", "[2, 3]"});
  refuses("masked_softmax", [] { masked_softmax(kIds, kYes); }, {"int32"});
}

TEST_CASE("embedding and dropout name what they refuse") {
  const Tensor table = zeros({3, 2});
  refuses("embedding", [=] { embedding(table, ids({0, 3})); }, {"0 to 2", "3", "position 1"});
  refuses("embedding", [=] { embedding(table, ids({-1})); }, {"got -1", "position 0"});
  refuses("embedding", [=] { embedding(table, ids({2147483647})); }, {"got 2147483647"});
  refuses("embedding", [=] { embedding(zeros({3}), kIds); }, {"two axes"});
  refuses("embedding", [=] { embedding(kNone, kIds); });
  refuses("embedding", [=] { embedding(table, zeros({1})); }, {"ids", "int32", "float32"});
  refuses("embedding", [=] { embedding(table, kNone); }, {"undefined"});
  refuses("embedding", [=] { embedding(table, kIds, 3); }, {"padding index", "got 3"});
  refuses("embedding", [=] { embedding(table, kIds, -1); }, {"got -1"});
  refuses("embedding", [=] { embedding(ints({1, 1}, {2, 1}), kIds); }, {"int32"});
  refuses("dropout", [] { dropout(kX, 1, {}); }, {"got 1"});
  refuses("dropout", [] { dropout(kX, -0.1, {}); }, {"got -0.1"});
  refuses("dropout", [] { dropout(kX, std::nan(""), {}); }, {"nan"});
  refuses("dropout", [] { dropout(kNone, 0.5, {}); }, {"undefined"});
  refuses("dropout", [] { dropout(kIds, 0.5, {}); }, {"int32"});
}

TEST_CASE("norms name what they refuse") {
  refuses("rms_norm", [] { rms_norm(kX, zeros({2})); }, {"[3]", "[2]"});
  refuses("rms_norm", [] { rms_norm(kX, wide({3})); }, {"float64", "float32"});
  refuses("rms_norm", [] { rms_norm(Tensor::scalar(1), {}); }, {"one axis"});
  refuses("rms_norm", [] { rms_norm(kNone, {}); });
  refuses("rms_norm", [] { rms_norm(kIds, {}); }, {"int32"});
  refuses("layer_norm", [] { layer_norm(kX, zeros({2}), {}); }, {"[3]", "[2]"});
  refuses("layer_norm", [] { layer_norm(kX, {}, zeros({1, 3})); }, {"[3]", "[1, 3]"});
  refuses("layer_norm", [] { layer_norm(kX, wide({3}), {}); }, {"float64", "float32"});
  refuses("layer_norm", [] { layer_norm(Tensor::scalar(1), {}, {}); }, {"one axis"});
  refuses("layer_norm", [] { layer_norm(kNone, {}, {}); });
  refuses("layer_norm", [] { layer_norm(kIds, {}, {}); }, {"int32"});
  const auto batch = [](const Tensor& x, Index gains = 2, Index statistics = 2) {
    return [=] {
      RunningStatistics running;
      if (statistics > 0) {
        running = {zeros({statistics}), zeros({statistics})};
      }
      batch_norm(x, zeros({gains}), zeros({2}), running);
    };
  };
  refuses("batch_norm", batch(zeros({4})), {"[N, C]"});
  refuses("batch_norm", batch(kNone));
  refuses("batch_norm", batch(zeros({4, 2}), 3), {"[2]", "[3]"});
  refuses("batch_norm", batch(wide({4, 2})), {"float64", "float32"});
  refuses("batch_norm", batch(zeros({1, 2})), {"more than one value", "[1, 2]"});
  refuses("batch_norm", batch(zeros({0, 2})), {"[0, 2]"});
  refuses("batch_norm", batch(zeros({4, 2}), 2, 3), {"running", "[2]", "[3]"});
  refuses("batch_norm", batch(zeros({4, 2}), 2, 0), {"must be given"});
}

TEST_CASE("attention and rotations name what they refuse") {
  const Tensor x = zeros({3, 4});
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v,
                         const AttentionOptions& options = {}) {
    return [=] { scaled_dot_product_attention(q, k, v, options); };
  };
  refuses("scaled_dot_product_attention", attend(x, zeros({3, 5}), x),
          {"widths", "[3, 4]", "[3, 5]"});
  refuses("scaled_dot_product_attention", attend(x, x, zeros({2, 4})),
          {"lengths", "[3, 4]", "[2, 4]"});
  refuses("scaled_dot_product_attention", attend(zeros({4}), x, x), {"two axes"});
  refuses("scaled_dot_product_attention", attend(x, x, kNone));
  refuses("scaled_dot_product_attention", attend(x, x, wide({3, 4})), {"float64"});
  refuses("masked_softmax", attend(x, x, x, {.mask = causal_mask(2)}), {"[2, 2]", "[3, 3]"});
  refuses("masked_softmax", attend(x, x, x, {.mask = zeros({3, 3})}), {"mask", "bool"});
  refuses("dropout", attend(x, x, x, {.dropout = 1.5}), {"1.5"});
  refuses("scaled_dot_product_attention", attend(x, x, x, {.bias = kX}), {"[2, 3]", "[3, 3]"});
  refuses("scaled_dot_product_attention", attend(x, x, x, {.bias = wide({3, 3})}),
          {"float32", "float64"});
  refuses("scaled_dot_product_attention", attend(x, x, x, {.bias = zeros({2, 3, 3})}),
          {"bias [2, 3, 3]"});
  const auto ragged = [](const Tensor& qkv, Index heads, const std::vector<Index>& offsets,
                         double dropout = 0) {
    return [=] { ragged_attention(qkv, {.heads = heads, .offsets = offsets, .dropout = dropout}); };
  };
  const Tensor qkv = zeros({4, 12});
  refuses("ragged_attention", ragged(zeros({4}), 1, {0, 4}), {"(H + 2 G) D"});
  refuses("ragged_attention", ragged(kNone, 1, {0}));
  refuses("ragged_attention", ragged(qkv, 5, {0, 4}), {"12", "5"});
  refuses("ragged_attention", ragged(qkv, 0, {0, 4}), {"0 heads"});
  refuses("ragged_attention", ragged(qkv, -1, {0, 4}));
  refuses("ragged_attention", ragged(qkv, 2, {0, 3, 2, 4}), {"decrease"});
  refuses("ragged_attention", ragged(qkv, 2, {0, 9, 4}), {"decrease"});
  refuses("ragged_attention", ragged(qkv, 2, {0, 4}, 1), {"dropout", "got 1"});
  refuses("ragged_attention", ragged(zeros({4, 12}, DType::int32), 2, {0, 4}), {"int32"});
  for (const Shape& offsets :
       {Shape{}, Shape{0}, Shape{0, 3}, Shape{0, 5}, Shape{1, 4}, Shape{4}}) {
    refuses("ragged_attention", ragged(qkv, 2, {offsets.begin(), offsets.end()}),
            {"offsets", "0 to 4"});
  }
  const Tensor query = zeros({2, 4});
  const Tensor room = zeros({2, 5, 2});
  const auto cached = [](const Tensor& q, const Tensor& keys, const Tensor& values) {
    return [=] { cached_attention(q, keys, values); };
  };
  CHECK_NOTHROW(cached(query, room, room)());
  const Tensor one = slice(room, 1, 0, 1);
  refuses("cached_attention", cached(zeros({2, 6}), room, room),
          {"3 heads cannot share 2 key heads"});
  refuses("cached_attention", cached(zeros({4}), room, room), {"[N, H D]"});
  refuses("cached_attention", cached(query, one, one), {"got 1", "[2, 4]"});
  refuses("cached_attention", cached(query, room, zeros({2, 4, 2})), {"one layout", "[2, 4, 2]"});
  refuses("cached_attention", cached(query, zeros({5, 2}), room), {"[G, M, D]", "[5, 2]"});
  refuses("cached_attention", cached(query, room, kNone));
  refuses("cached_attention", cached(query, transpose(room), room));
  refuses("cached_attention", cached(query, transpose(zeros({2, 2, 5})), room),
          {"contiguous rows"});
  refuses("cached_attention", cached(query, wide({2, 5, 2}), room), {"float64"});
  const auto divided = [&](const std::vector<Index>& offsets, const std::vector<Index>& keys) {
    return [=] { cached_attention(query, room, room, {.offsets = offsets, .key_offsets = keys}); };
  };
  CHECK_NOTHROW(divided({0, 1, 2}, {0, 2, 5})());
  refuses("cached_attention", divided({0, 1}, {}), {"0 to 2"});
  refuses("cached_attention", divided({0, 2}, {0, 4}), {"0 to 5"});
  refuses("cached_attention", divided({0, 1, 2}, {0, 5}), {"expected 3", "got 2"});
  refuses("cached_attention", divided({0, 1, 2}, {0, 5, 5}), {"got 0", "[1, 4]"});
  const auto turned = [](const Tensor& rows, const Tensor& positions, const RopeOptions& options) {
    return [=] { rope(rows, positions, options); };
  };
  const Tensor rows = zeros({2, 1, 6});
  const Tensor two = ids({0, 1});
  const auto with = [&](const RopeOptions& options) { return turned(rows, two, options); };
  const RopeOptions llama3{.scaling = RopeScaling::llama3, .factor = 8};
  RopeOptions equal_factors = llama3;
  equal_factors.high_freq_factor = 1;
  RopeOptions no_context = llama3;
  no_context.original_max_position_embeddings = 0;
  refuses("rope", turned(kNone, two, {}), {"three axes"});
  refuses("rope", turned(zeros({2, 6}), two, {}), {"three axes"});
  refuses("rope", turned(rows, ids({0}), {}), {"positions", "[2]", "[1]"});
  refuses("rope", turned(rows, zeros({2}), {}), {"positions", "int32"});
  refuses("rope", turned(rows, {}, {}), {"positions", "undefined"});
  refuses("rope", turned(zeros({2, 1, 5}), two, {}), {"width", "even", "5"});
  refuses("rope", with({.width = 8}), {"width", "6", "8"});
  refuses("rope", with({.width = -2}), {"width", "-2"});
  refuses("rope", with({.theta = 0}), {"theta", "0"});
  refuses("rope", with({.theta = std::nan("")}), {"theta"});
  refuses("rope", with({.scaling = RopeScaling::linear, .factor = 0}), {"factor", "0"});
  refuses("rope", with(equal_factors), {"low_freq_factor", "high_freq_factor"});
  refuses("rope", with(no_context), {"original_max_position_embeddings", "0"});
  refuses("rope", with({.scaling = RopeScaling::yarn, .factor = 8, .beta_fast = 0.5}),
          {"beta_slow", "beta_fast"});
}

TEST_CASE("losses name what they refuse") {
  const Tensor two = ids({0, 0});
  refuses("cross_entropy", [] { cross_entropy(kX, ids({0, 3})); }, {"0 to 2", "3", "position 1"});
  refuses("cross_entropy", [] { cross_entropy(kX, ids({-2, 0})); }, {"got -2", "position 0"});
  refuses("cross_entropy", [=] { cross_entropy(zeros({2}), two); }, {"[N, V]"});
  refuses("cross_entropy", [=] { cross_entropy(kNone, two); });
  refuses("cross_entropy", [] { cross_entropy(kX, kIds); }, {"[2]", "[1]"});
  refuses("cross_entropy", [] { cross_entropy(kX, zeros({2})); }, {"int32", "float32"});
  refuses("cross_entropy", [] { cross_entropy(kX, kNone); }, {"undefined"});
  refuses("cross_entropy",
          [] {
            cross_entropy(kX, slice(ids({0, 1, 2}), 0, 0, 3, 2));
          },
          {"contiguous"});
  refuses("cross_entropy", [] { cross_entropy(ints({1, 2}, {1, 2}), kIds); }, {"int32"});
  const Tensor weight = zeros({4, 3});
  refuses("linear_cross_entropy", [=] { linear_cross_entropy(zeros({3}), weight, two); },
          {"[N, C]"});
  refuses("linear_cross_entropy", [=] { linear_cross_entropy(kX, kNone, two); });
  refuses("linear_cross_entropy",
          [=] {
            linear_cross_entropy(kX, zeros({4, 2}), two);
          },
          {"[2, 3]", "[4, 2]"});
  const Tensor beyond = ids({0, 4});
  refuses("cross_entropy", [=] { linear_cross_entropy(kX, weight, beyond); }, {"position 1"});
  const Tensor other = wide({4, 3});
  refuses("linear_cross_entropy", [=] { linear_cross_entropy(kX, other, two); }, {"float64"});
  const auto pairs = [](const std::vector<Index>& offsets, std::size_t references, double beta = 1,
                        DType dtype = DType::float64) {
    return [=] {
      preference_loss(zeros({6}, dtype), offsets, std::vector<PreferredPair>(references),
                      {.beta = beta});
    };
  };
  const std::vector<Index> four{0, 2, 3, 4, 6};
  refuses("preference_loss", pairs({0, 2, 3, 6}, 1), {"got 3 sequences"});
  refuses("preference_loss", pairs({0}, 0), {"got 0 sequences"});
  refuses("preference_loss", pairs({1, 3, 6}, 1));
  refuses("preference_loss", pairs({0, 9, 6}, 1));
  refuses("preference_loss", pairs({0, 2, 5}, 1), {"[5]", "[6]"});
  refuses("preference_loss", pairs(four, 1), {"2 pairs of the reference, got 1"});
  refuses("preference_loss", pairs(four, 2, 0), {"beta", "positive", "got 0"});
  refuses("preference_loss", pairs(four, 2, 1, DType::float32), {"float64", "float32"});
}

TEST_CASE("fused layers name what they refuse") {
  struct Sizes {  // of inputs and weights
    Shape x{3, 7}, up{12, 7}, down{7, 12}, gain{7}, up_bias{12}, down_bias{7};
    DType up_type = DType::float32, down_type = DType::float32;
  };
  const auto of = [](const Shape& shape, DType dtype = DType::float32) {
    return shape.rank() == 0 ? kNone : zeros(shape, dtype);
  };
  const auto normed = [=](const Sizes& in) {
    return [=] {
      norm_linear(of(in.x), {of(in.gain), zeros({7}), 1e-3}, of(in.up, in.up_type), of(in.up_bias));
    };
  };
  refuses("norm_linear", normed({.x = {}}), {"last axis"});
  refuses("norm_linear", normed({.x = {3, 0}}));
  refuses("norm_linear", normed({.up = {7}}), {"two axes"});
  refuses("norm_linear", normed({.up = {12, 6}}), {"[3, 7]", "[12, 6]"});
  refuses("norm_linear", normed({.up_type = DType::float64}), {"float32", "float64"});
  refuses("norm_linear", normed({.up_bias = {5}}), {"bias", "[12]", "[5]"});
  refuses("layer_norm", normed({.gain = {5}}), {"[7]", "[5]"});
  const auto fed = [=](const Sizes& in, const Tensor& gate = {}, const Tensor& gate_bias = {}) {
    return [=] {
      feed_forward(of(in.x), {.norm = {of(in.gain), zeros({7}), 1e-3},
                              .up_weight = of(in.up, in.up_type),
                              .up_bias = of(in.up_bias),
                              .down_weight = of(in.down, in.down_type),
                              .down_bias = of(in.down_bias),
                              .gate_weight = gate,
                              .gate_bias = gate_bias});
    };
  };
  refuses("feed_forward", fed({.x = {}}), {"last axis"});
  refuses("feed_forward", fed({.down = {}}), {"two axes"});
  refuses("feed_forward", fed({.up = {12, 6}}), {"up_weight", "[12, 6]"});
  refuses("feed_forward", fed({.down = {7, 6}}), {"down_weight", "[7, 12]", "[7, 6]"});
  refuses("feed_forward", fed({.down_type = DType::float64}), {"float32", "float64"});
  refuses("feed_forward", fed({.up_bias = {5}}), {"up_bias", "[12]", "[5]"});
  refuses("feed_forward", fed({.down_bias = {5}}), {"down_bias", "[7]", "[5]"});
  refuses("feed_forward", fed({}, zeros({12, 6})), {"gate_weight", "[12, 7]", "[12, 6]"});
  refuses("feed_forward", fed({}, wide({12, 7})), {"float64"});
  refuses("feed_forward", fed({}, zeros({12, 7}), zeros({5})), {"gate_bias", "[12]", "[5]"});
  refuses("feed_forward", fed({}, {}, zeros({12})), {"gate_bias", "gate_weight"});
}
