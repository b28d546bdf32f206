#include "support/test.h"

// What modules refuse, and the parts of the message.
namespace nn_refusals_test {
GptConfig small_config() {
  return {.vocab_size = 100, .block_size = 20, .n_layer = 2, .n_head = 4, .n_embd = 32};
}

TEST_CASE("layers refuse sizes and probabilities by name") {
  check_error([] { Linear({.inputs = 0, .outputs = 3}); }, {"[Linear]", "0 inputs and 3 outputs"});
  check_error([] { Linear({.inputs = 2, .outputs = -1}); }, {"[Linear]", "-1 outputs"});
  check_error([] { Embedding({.count = 0, .width = 4}); }, {"[Embedding]", "0 rows of width 4"});
  for (const Index row : {-1, 4}) {
    check_error([&] { Embedding({.count = 4, .width = 3, .padding_index = row}); },
                {"[Embedding]", "padding index from 0 to 3", std::to_string(row)});
  }
  BatchNorm1d norm({.width = 3});
  const Tensor one_row = Tensor::ones({1, 3});
  check_error([&] { norm.forward(one_row, {.training = true}); }, {"[batch_norm]", "[1, 3]"});
  CHECK_NOTHROW(norm.forward(one_row, {}));
  const Tensor narrow = Tensor::ones({4, 2});
  CHECK_THROWS_AS(norm.forward(narrow, {.training = true}), Error);
  check_error([] { Dropout(1); }, {"[Dropout]", "0 to below 1", "got 1"});
  check_error([] { Dropout(-0.1); }, {"[Dropout]", "got -0.1"});
  check_error([] { Dropout(std::nan("")); }, {"[Dropout]"});
}

TEST_CASE("attention modules refuse sizes and inputs by name") {
  const auto general = [](MultiHeadAttentionOptions options) {
    return [=] { MultiHeadAttention{options}; };
  };
  check_error(general({.width = 512, .heads = 7}),
              {"[MultiHeadAttention]", "512", "multiple", "7"});
  CHECK_NOTHROW(general({.width = 512, .heads = 7, .head_width = 64})());
  check_error(general({.width = 8, .heads = 0}), {"[MultiHeadAttention]", "8 and 0"});
  check_error(general({.width = 0, .heads = 1}), {"[MultiHeadAttention]", "0 and 1"});
  check_error(general({.width = 8, .heads = 2, .head_width = -4}), {});
  const auto causal = [](CausalSelfAttentionOptions options) {
    return [=] { CausalSelfAttention{options}; };
  };
  check_error(causal({.width = 512, .plan = {.heads = 7}}), {"[CausalSelfAttention]", "512", "7"});
  CHECK_NOTHROW(causal({.width = 512, .plan = {.heads = 7, .head_width = 64}})());
  check_error(causal({.width = 8, .plan = {.heads = 4, .key_heads = 3}}),
              {"4 heads cannot share 3 key heads"});
  CHECK_NOTHROW(causal({.width = 8, .plan = {.heads = 4, .key_heads = 2, .key_ends = {3, 4}}})());
  check_error(causal({.width = 0, .plan = {.heads = 1}}), {"[CausalSelfAttention]", "0 and 1"});
  check_error(causal({.width = 8, .plan = {.heads = 2, .head_width = -4}}), {});
  const MultiHeadAttention attention({.width = 8, .heads = 2});
  const Tensor x = Tensor::ones({2, 3, 8});
  const auto forward = [&](const Tensor& query, const Tensor& key, const Tensor& value) {
    return [=, &attention] { attention.forward(query, key, value); };
  };
  const std::vector<std::string> shapes{"[MultiHeadAttention]", "[B, T, C] of one batch size"};
  check_error(forward({}, x, x), shapes);
  check_error(forward(x, {}, x), shapes);
  check_error(forward(x, x, Tensor::ones({3, 8})), shapes);
  check_error(forward(x, Tensor::ones({1, 3, 8}), x), shapes);
  check_error(forward(x, x, Tensor::ones({2, 4, 8})), {"["});
  check_error(forward(Tensor::ones({2, 3, 6}), x, x), {"["});
  check_error(forward(x, x, Tensor::ones({2, 3, 8}, DType::float64)), {"["});
  KeyValueCache* const none = nullptr;
  const ForwardContext cached{.caches = {&none, 1}};
  check_error([&] { attention.forward(x, x, x, {}, cached); }, {"caches", "CausalSelfAttention"});
}

TEST_CASE("attention refuses masks of other shapes and types") {
  const MultiHeadAttention attention({.width = 6, .heads = 2});
  const auto masked = [&](const Shape& shape, DType dtype = DType::boolean, Index batch = 3) {
    return [=, &attention] {
      const Tensor keys = Tensor::ones({batch, 5, 6});
      attention.forward(Tensor::ones({batch, 4, 6}), keys, keys,
                        {.mask = Tensor::zeros(shape, dtype)});
    };
  };
  const std::string expected = "expected a mask [T, S], [B, 1, T, S] or [B, H, T, S]";
  check_error(masked({2, 3, 2, 4, 5}), {expected, "[3, 2, 4, 5]", "[2, 3, 2, 4, 5]"});
  check_error(masked({5, 4}), {});
  check_error(masked({4, 5}, DType::float32), {});
  check_error(masked({2, 1, 4, 5}, DType::boolean, 1), {expected, "[1, 2, 4, 5]", "[2, 1, 4, 5]"});
  for (const Index first : {3, 2}) {  // could mean sequences or heads
    check_error(masked({first, 4, 5}), {});
  }
  const Tensor query = Tensor::ones({3, 4, 6});
  const Tensor keys = Tensor::ones({3, 5, 6});
  for (const Tensor& padding : {Tensor::zeros({3, 4}, DType::boolean),
                                Tensor::zeros({5}, DType::boolean), Tensor::zeros({3, 5})}) {
    const AttentionMasks masks{.key_padding = padding};
    check_error([&] { attention.forward(query, keys, keys, masks); }, {"expected"});
  }
}

TEST_CASE("batches refuse what cannot be laid end to end or padded") {
  check_error([] { make_batch({}); }, {"[make_batch]", "at least one sequence"});
  check_error([] { make_batch({{1}, {}}); }, {"[make_batch] sequence 1 is empty"});
  check_error([] { pad_sequences({}, 0); }, {"[pad_sequences]", "at least one sequence"});
  const auto unpadded = [](const auto& change) {
    return [=] {
      PaddedBatch padded = pad_sequences({{7, 8, 9}, {5}}, 6, 4);
      change(padded);
      remove_padding(padded);
    };
  };
  check_error([] { remove_padding(pad_sequences({{}, {}}, 0, 4)); }, {"has no real token"});
  check_error([] { remove_padding(pad_sequences({{}}, 0)); }, {"has no real token"});
  check_error(unpadded([](PaddedBatch& padded) {
                padded.padding_mask.data<bool>()[5] = true;
                padded.padding_mask.data<bool>()[6] = false;
              }),
              {"row 1", "position 2 is a token after the pad at position 1"});
  check_error(unpadded([](PaddedBatch& padded) {
                padded.lengths = {3, 2};
              }),
              {"row 1", "leaves 1", "says 2"});
  check_error(unpadded([](PaddedBatch& padded) { padded.lengths = {3}; }),
              {"1 lengths for 2 rows"});
  const Tensor other_mask = Tensor::ones({2, 3}, DType::boolean);
  check_error(unpadded([&](PaddedBatch& padded) { padded.padding_mask = other_mask; }),
              {"padding_mask must be [2, 4] bool", "[2, 3] bool"});
  check_error(unpadded([](PaddedBatch& padded) {
                padded.tokens = Tensor::zeros({2, 3});
              }),
              {"tokens must be [B, T] int32", "[2, 3] float32"});
  check_error([] { remove_padding(PaddedBatch{}); }, {"undefined"});
}

TEST_CASE("a GPT refuses tokens, positions and targets that it does not have") {
  const Gpt gpt(small_config());
  const auto loss = [&](const std::vector<Ids>& sequences) {
    return [=, &gpt] { gpt.loss(make_batch(sequences)); };
  };
  CHECK_NOTHROW(loss({draw_ids(20, 100), {0, 99}})());
  check_error(loss({{1, 2}, draw_ids(21, 100)}), {"[Gpt] sequence 1 has 21 tokens", "20"});
  check_error(loss({{1, 100, 2}}), {"[embedding]", "0 to 99", "got 100 at position 1"});
  check_error(loss({{1, 2}, {-1, 2}}), {"[embedding]", "got -1 at position 2"});
  CHECK_THROWS_AS(gpt.logits(Batch{}), Error);
  Batch batch = make_batch({{1, 2, 3}});
  batch.targets = Tensor();
  CHECK_NOTHROW(gpt.logits(batch));
  check_error([&] { gpt.loss(batch); }, {"[LanguageModel]", "no targets"});
  batch.targets = ints({2, 100, 3}, {3});
  check_error([&] { gpt.loss(batch); }, {"[cross_entropy]", "got 100 at position 1"});
}

TEST_CASE("a cache refuses tokens without room or of another model, and stays as it was") {
  const Gpt gpt(small_config(), 3, DType::float64);
  randomize(gpt, 75);
  KeyValueCache cache = gpt.make_cache();
  next_logits(gpt, {1, 2, 3}, cache);
  const auto read = [&](const Ids& tokens) {
    return [&gpt, &cache, tokens] { next_logits(gpt, tokens, cache); };
  };
  check_error(read({4, 100}), {"[embedding]", "got 100 at position 1"});
  check_error(read({-1}), {"[embedding]", "got -1 at position 0"});
  check_error(read({}), {"[make_batch] sequence 0 is empty"});
  check_error(read(draw_ids(18, 100)), {"[Gpt]", "20 positions", "no room for 18 more after 3"});
  CHECK(cache.length() == 3);
  const Tensor whole = gpt.logits(make_batch({{1, 2, 3, 9}}));
  check_close(next_logits(gpt, {9}, cache), select(whole, 0, 3), 1e-12);
  read(draw_ids(16, 100))();
  check_error(read({1}), {"[Gpt]", "no room for 1 more after 20"});
  GptConfig deeper = small_config();
  deeper.n_layer = 3;
  GptConfig wider = small_config();
  wider.n_embd = 64;
  KeyValueCache none;
  KeyValueCache of_deeper = Gpt(deeper).make_cache();
  KeyValueCache of_wider = Gpt(wider, 1, DType::float64).make_cache();
  check_error([&] { next_logits(gpt, {1}, none); }, {"[Gpt]", "a cache of 2 layers, got 0"});
  check_error([&] { next_logits(gpt, {1}, of_deeper); }, {"[Gpt]", "2 layers, got 3"});
  check_error([&] { next_logits(gpt, {1}, of_wider); }, {"width 8 in layer 0", "4 of width 16"});
  KeyValueCache* const caches[] = {&cache, &cache};
  check_error([&] { gpt.logits(make_batch({{1}}), {.caches = caches}); }, {"1 sequences, got 2"});
  check_error([] { KeyValueCache(small_config(), DType::float64, CacheType::int8); },
              {"[KeyValueCache]", "float32", "int8", "float64"});
}
}  // namespace nn_refusals_test
