#include "headlight/interpret/record_attention.h"
#include "headlight/interpret/activations/activation_cache.h"
#include "headlight/interpret/prune.h"
#include "headlight/show/attention/attention_html.h"
#include "headlight/show/attention/attention_svg.h"
#include "support/test.h"

namespace record_attention_test {
constexpr Index kBlock = 24;

// Two layers of three heads over bytes, with weights large enough for sharp attention.
const Gpt& model() {
  static const auto instance = [] {
    GptConfig config{
        .vocab_size = 257, .block_size = kBlock, .n_layer = 2, .n_head = 3, .n_embd = 24};
    auto gpt = std::make_unique<Gpt>(config);
    draw_normal(gpt->parameters(), 3, 0.2, 0.4);
    return gpt;
  }();
  return *instance;
}

float weight(const Tensor& maps, std::initializer_list<Index> place) {
  Index offset = 0;
  Index axis = 0;
  for (const Index index : place) {
    offset += index * maps.strides()[axis++];
  }
  return maps.data<float>()[offset];
}

TEST_CASE("chosen heads are recorded layer by layer") {
  const ByteTokenizer tokenizer;
  const auto all = record_attention_batch(model(), tokenizer, {"abcdef"});
  const auto some =
      record_attention_batch(model(), tokenizer, {"abcdef"}, {.heads = {{1, 2}, {1, 0}}});
  REQUIRE(some.layers.size() == 1);
  CHECK(some.layers[0].layer == 1);
  CHECK(some.layers[0].heads == std::vector<Index>{0, 2});
  REQUIRE(some.layers[0].weights.shape() == Shape({1, 2, 6, 6}));
  CHECK(weight(some.layers[0].weights, {0, 1, 5, 3}) ==
        weight(all.layers[1].weights, {0, 2, 5, 3}));
  CHECK(weight(some.layers[0].weights, {0, 0, 5, 3}) ==
        weight(all.layers[1].weights, {0, 0, 5, 3}));
  const auto pairs =
      record_attention_batch(model(), tokenizer, {"abcdef"}, {.heads = {{1, 1}, {0, 2}}});
  REQUIRE(pairs.layers.size() == 2);
  CHECK(pairs.layers[0].layer == 0);
  CHECK(pairs.layers[0].heads == std::vector<Index>{2});
  CHECK(pairs.layers[1].heads == std::vector<Index>{1});
  CHECK(pairs.head_count() == 2);
  CHECK(weight(pairs.layers[0].weights, {0, 0, 4, 1}) ==
        weight(all.layers[0].weights, {0, 2, 4, 1}));
}

TEST_CASE("progress is told after each layer, and changes nothing") {
  for (const bool vectors : {false, true}) {
    std::vector<double> shares;
    const RecordedAttention told = record_attention_batch(
        model(), ByteTokenizer(), {"one two"},
        {.vectors = vectors, .progress = [&](double share) { shares.push_back(share); }});
    CHECK(shares == std::vector<double>{0.5, 1});
    const RecordedAttention plain =
        record_attention_batch(model(), ByteTokenizer(), {"one two"}, {.vectors = vectors});
    CHECK(told.layers[1].weights.to_vector() == plain.layers[1].weights.to_vector());
  }
}

TEST_CASE("documents of different lengths make a padded batch with zeros") {
  const std::vector<std::string> texts{"abc", "defghij", "k"};
  const auto batch = record_attention_batch(model(), ByteTokenizer(), texts);
  CHECK(batch.longest() == 7);
  CHECK(batch.token_count() == 11);
  const Tensor& maps = batch.layers[1].weights;
  REQUIRE(maps.shape() == Shape({3, 3, 7, 7}));
  for (Index document = 0; document < 3; ++document) {
    const auto length = static_cast<Index>(texts[static_cast<std::size_t>(document)].size());
    const auto alone = record_attention_batch(model(), ByteTokenizer(),
                                              {texts[static_cast<std::size_t>(document)]});
    for (Index head = 0; head < 3; ++head) {
      for (Index query = 0; query < 7; ++query) {
        for (Index key = 0; key < 7; ++key) {
          const float got = weight(maps, {document, head, query, key});
          if (query < length && key < length) {
            CHECK(got ==
                  Approx(weight(alone.layers[1].weights, {0, head, query, key})).margin(1e-6));
          } else {
            CHECK(got == 0.0F);
          }
        }
      }
    }
  }
}

TEST_CASE("the maps of one document have no pads and are accepted by the views") {
  const auto batch = record_attention_batch(model(), ByteTokenizer(), {"defghij", "a\xC3\xA9"});
  const AttentionMaps maps = batch.maps(1, "toy");
  CHECK(maps.title == "toy");
  CHECK(maps.tokens == std::vector<std::string>{"a", "<0xC3>", "<0xA9>"});
  REQUIRE(maps.layers.size() == 2);
  REQUIRE(maps.layers[1].weights.shape() == Shape({3, 3, 3}));
  CHECK(weight(maps.layers[1].weights, {2, 2, 1}) == weight(batch.layers[1].weights, {1, 2, 2, 1}));
  CHECK(contains(attention_svg(maps, maps.layers[0]), "<svg"));
  CHECK(contains(attention_html(maps), "<!doctype html>"));
  check_error([&] { batch.maps(2); }, {"[RecordedAttention::maps]", "got 2"});
  CHECK_THROWS_AS(batch.maps(-1), Error);
}

TEST_CASE("recorded queries and keys are those of each document and pads are zeros") {
  const RecordedAttention recorded = record_attention_batch(
      model(), ByteTokenizer(), {"abcdef", "xyz"},
      {.heads = HeadSet::of_layers(model().heads(), {}, {0, 2}), .vectors = true});
  const RecordedLayer& layer = recorded.layers[1];
  REQUIRE(layer.queries.shape() == Shape{2, 6, 2, 8});
  REQUIRE(layer.keys.shape() == layer.queries.shape());
  const RecordedAttention alone =
      record_attention_batch(model(), ByteTokenizer(), {"xyz"}, {.vectors = true});
  CHECK(weight(layer.queries, {1, 2, 1, 5}) ==
        Approx(weight(alone.layers[1].queries, {0, 2, 2, 5})));
  CHECK(weight(layer.keys, {1, 2, 1, 5}) == Approx(weight(alone.layers[1].keys, {0, 2, 2, 5})));
  CHECK(weight(layer.keys, {1, 3, 0, 0}) == 0.0F);
  const AttentionMaps maps = recorded.maps(1);
  REQUIRE(maps.layers[1].queries.shape() == Shape{2, 3, 8});
  CHECK(weight(maps.layers[1].keys, {1, 2, 5}) == weight(layer.keys, {1, 2, 1, 5}));
}

GptConfig small_config() {
  return {.vocab_size = 257, .block_size = kBlock, .n_layer = 2, .n_head = 6, .n_embd = 24};
}

// Models with several kinds of scores.
std::vector<std::pair<std::string, GptConfig>> scored_configs() {
  std::vector<std::pair<std::string, GptConfig>> configs;
  configs.emplace_back("plain", small_config());
  configs.emplace_back("three heads a key head, rotated", small_config());
  configs.back().second.n_kv_head = 2;
  configs.back().second.position = PositionKind::rope;
  configs.emplace_back("rotated and normalised", configs.back().second);
  configs.back().second.qk_norm = true;
  configs.emplace_back("normalised alone", small_config());
  configs.back().second.qk_norm = true;
  configs.emplace_back("a window and a scale of its own", small_config());
  configs.back().second.windows = {2, 0};
  configs.back().second.attention_scale = 1;
  return configs;
}

// Largest difference between a recorded weight and softmax(scale * q . k) over the visible keys.
double largest_softmax_error(const RecordedLayer& layer) {
  double error = 0;
  for (Index h = 0; h < std::ssize(layer.heads); ++h) {
    const Tensor query = select(select(layer.queries, 0, 0), 1, h);  // [T, D]
    const Tensor key = select(select(layer.keys, 0, 0), 1, h);
    const AttentionResult expected = scaled_dot_product_attention(
        query, key, key, {.causal = true, .window = layer.window, .scale = layer.scale});
    error = std::max(
        error, largest_difference(select(select(layer.weights, 0, 0), 0, h), expected.weights));
  }
  return error;
}

// Checks that recorded queries or keys of every head are those that a hook sees.
void check_vectors(const Gpt& gpt, const Tensor& recorded, PointRange point) {
  const ActivationContexts contexts(ByteTokenizer(), {"abcdefg"}, kBlock);
  const Tensor seen = cache_activations(gpt, contexts, {.points = {point}}).front().second;
  const Index shares = recorded.size(2) / seen.size(1);  // query heads of a key head
  for (Index head = 0; head < recorded.size(2); ++head) {
    check_close(select(select(recorded, 0, 0), 1, head), select(seen, 1, head / shares), 1e-5);
  }
}

TEST_CASE("queries and keys of every kind of attention give its weights, as hooks see them") {
  for (const auto& [name, config] : scored_configs()) {
    CAPTURE(name);
    Gpt gpt(config);
    draw_normal(gpt.parameters(), 5, 0.1, 0.3);
    const RecordedAttention recorded =
        record_attention_batch(gpt, ByteTokenizer(), {"abcdefg"}, {.vectors = true});
    for (const RecordedLayer& layer : recorded.layers) {
      CHECK(largest_softmax_error(layer) < 1e-4);
      CHECK(layer.rotated == (config.qk_norm || config.position == PositionKind::rope));
      const NumberRange own{layer.layer, layer.layer};
      check_vectors(gpt, layer.queries, {layer.rotated ? Point::rot_q : Point::q, own});
      check_vectors(gpt, layer.keys, {layer.rotated ? Point::rot_k : Point::k, own});
    }
  }
}

TEST_CASE("key heads keep their numbers when others are pruned") {
  GptConfig config = small_config();
  config.n_kv_head = 3;
  const Gpt whole(config);
  const auto pruned = prune_heads(whole, {{0, 2}, {0, 3}, {0, 4}, {1, 0}});
  const HeadLayout layout = pruned->heads();
  CHECK(layout.key_numbers[0] == std::vector<Index>{0, 2});
  CHECK(layout.key_indices[0] == std::vector<Index>{0, 0, 1});
  CHECK(layout.key_numbers[1] == std::vector<Index>{0, 1, 2});
  const auto again = prune_heads(*pruned, {{0, 0}, {0, 1}});
  CHECK(again->heads().key_numbers[0] == std::vector<Index>{2});
  const auto keys = [](const Gpt& gpt, const char* name) {
    const ActivationContexts contexts(ByteTokenizer(), {"abc"}, kBlock);
    return cache_activations(gpt, contexts, {.points = {parse_point("names", name)}})
        .front()
        .second.to_vector();
  };
  CHECK(keys(*pruned, "k.0.2") == keys(whole, "k.0.2"));
  check_error([&] { keys(*pruned, "k.0.1"); }, {"0 and 2 (others were pruned), got 1"});
}

TEST_CASE("keys of pruned models without shared keys keep the heads' original numbers") {
  const auto pruned = prune_heads(model(), {{0, 1}});
  CHECK(pruned->heads().key_numbers_of(0) == std::vector<Index>{0, 2});
}

TEST_CASE("one text gives the maps of its tokens") {
  ByteTokenizer tokenizer;
  CHECK(record_attention(model(), tokenizer, "ab").tokens == std::vector<std::string>{"a", "b"});
  tokenizer.set_prepends_begin_token(true);
  const AttentionMaps maps = record_attention(model(), tokenizer, "ab", {.heads = {{1, 0}}});
  CHECK(maps.tokens == std::vector<std::string>{"<|endoftext|>", "a", "b"});
  REQUIRE(maps.layers.size() == 1);
  CHECK(maps.layers[0].layer == 1);
  CHECK(weight(maps.layers[0].weights, {0, 0, 0}) == 1.0F);
}

TEST_CASE("documents of ids are recorded as they are") {
  ByteTokenizer tokenizer;
  const RecordedAttention text = record_attention_batch(model(), tokenizer, {std::string("ab")});
  tokenizer.set_prepends_begin_token(true);
  const RecordedAttention ids = record_attention_of_ids(model(), tokenizer, {{'a', 'b'}});
  CHECK(ids.documents[0].labels() == text.documents[0].labels());
  CHECK(ids.documents[0].text == "ab");
  CHECK(ids.layers[1].weights.to_vector() == text.layers[1].weights.to_vector());
  CHECK(record_attention_of_ids(model(), tokenizer, {{256, 'a'}, {'b'}}, {.max_tokens = 1})
            .token_count() == 2);
  check_error([&] { record_attention_of_ids(model(), tokenizer, {{}}); }, {"the text is empty"});
}

TEST_CASE("max_tokens cuts every document to its beginning") {
  const auto recorded = record_attention_batch(
      model(), ByteTokenizer(), {std::string(100, 'x') + "y", "ab"}, {.max_tokens = 4});
  CHECK(recorded.documents[0].text == "xxxx");
  CHECK(recorded.documents[0].ids.size() == 4);
  CHECK(recorded.documents[1].text == "ab");
  CHECK(recorded.layers[0].weights.shape() == Shape({2, 3, 4, 4}));
}

TEST_CASE("layers with different numbers of heads are recorded each with its own") {
  GptConfig config = model().config();
  config.heads_per_layer = {1, 3};
  const Gpt pruned(config);
  const auto recorded = record_attention_batch(pruned, ByteTokenizer(), {"abcd"});
  CHECK(recorded.layers[0].weights.shape() == Shape({1, 1, 4, 4}));
  CHECK(recorded.layers[1].weights.shape() == Shape({1, 3, 4, 4}));
  CHECK(error_of([&] {
          record_attention_batch(pruned, ByteTokenizer(), {"abcd"}, {.heads = {{0, 1}}});
        }) == "heads: layer 0 has heads 0 to 0, got 0.1");
}

TEST_CASE("recording names the argument that it refuses") {
  const ByteTokenizer tokenizer;
  const auto error = [&](const std::vector<std::string>& texts,
                         const RecordAttentionOptions& options = {}) {
    return error_of([&] { record_attention_batch(model(), tokenizer, texts, options); });
  };
  CHECK(error({std::string(25, 'x')}) ==
        "the text has 25 tokens, more than the 24 tokens of the context length: cut it with "
        "max_tokens 24, or raise window up to block_size");
  CHECK(error({"a", std::string(26, 'x')}) ==
        "document 2 has 26 tokens, more than the 24 tokens of the context length: cut it with "
        "max_tokens 24, or raise window up to block_size");
  CHECK(error({std::string(24, 'x')}) == "no error");
  CHECK(error({""}) == "the text is empty, expected at least one token");
  CHECK(error({}) == "[record_attention] expected at least one document, got none");
  CHECK(error({"a"}, {.heads = {{0, 3}}}) == "heads: layer 0 has heads 0 to 2, got 0.3");
  CHECK(error({"a"}, {.max_tokens = -1}) == "max_tokens: expected a number from 0, got -1");
  CHECK(contains(error({"a\xFF"}), "invalid UTF-8 at byte 1"));
}

TEST_CASE("maps that would take too much memory are refused before they are computed") {
  const std::vector<std::string> texts(1000, std::string(24, 'x'));
  // Bytes: 1000 documents x 2 layers x 3 heads x 24 x 24 weights x 4, twice: recorded and padded.
  constexpr Index kBytes = Index{1000} * 2 * 3 * 24 * 24 * 4 * 2;
  check_error(
      [&] { record_attention_batch(model(), ByteTokenizer(), texts, {.max_bytes = kBytes - 1}); },
      {"[record_attention]", "1000 documents", "26 MiB"});
  CHECK_NOTHROW(record_attention_batch(model(), ByteTokenizer(), texts, {.max_bytes = kBytes}));
}

TEST_CASE("weights that are not numbers are refused") {
  Gpt damaged(model().config());
  damaged.parameters()[0].second.fill(std::numeric_limits<double>::quiet_NaN());
  CHECK(error_of([&] { record_attention_batch(damaged, ByteTokenizer(), {"ab"}); }) ==
        "[record_attention] layer 0 gives weights that are not numbers: the model may be damaged");
  struct Idle : ForwardHook {
    bool wants(Point, Index) const override { return false; }
    Tensor visit(const HookSite&, const Tensor& value) override { return value; }
  };
  damaged.attach(std::make_shared<Idle>());
  CHECK(error_of([&] { record_attention_batch(damaged, ByteTokenizer(), {"ab"}); }) ==
        "[record_attention] layer 0 gives weights that are not numbers: an intervention may make "
        "values too large");
}

TEST_CASE("the maps of a pruned model keep the original numbers of its heads") {
  const auto pruned = prune_heads(model(), {{0, 0}, {1, 1}});
  const auto recorded = record_attention_batch(*pruned, ByteTokenizer(), {"abcd"});
  CHECK(recorded.layers[0].heads == std::vector<Index>{1, 2});
  CHECK(recorded.layers[1].heads == std::vector<Index>{0, 2});
  // Pruning does not change the input of the first layer, nor the weights of its remaining heads.
  const auto whole =
      record_attention_batch(model(), ByteTokenizer(), {"abcd"}, {.heads = {{0, 2}}});
  const auto one = record_attention_batch(*pruned, ByteTokenizer(), {"abcd"}, {.heads = {{0, 2}}});
  CHECK(one.layers[0].weights.to_vector() == whole.layers[0].weights.to_vector());
  CHECK(error_of([&] {
          record_attention_batch(*pruned, ByteTokenizer(), {"a"}, {.heads = {{0, 0}}});
        }) == "heads: layer 0 has heads 1 and 2 (others were pruned), got 0.0");
}

TEST_CASE("weights by values are weights times the relative norms of v W_O") {
  const ByteTokenizer tokenizer;
  const std::string text = "abcab cab";
  const AttentionMaps plain = record_attention(model(), tokenizer, text);
  const AttentionMaps weighted =
      record_attention(model(), tokenizer, text, {.heads = {{1, 2}}, .value_weighted = true});
  REQUIRE(weighted.layers.size() == 1);
  // hook_result is z times W_O; a query that reads one token only carries that token's vector.
  const Index length = std::ssize(plain.tokens);
  const Tensor values = [&] {
    const ActivationContexts contexts(tokenizer, {text}, kBlock);
    const NamedTensors arrays =
        cache_activations(model(), contexts, {.points = {{Point::v, {1, 1}}}});
    return select(arrays.front().second, 1, 2);  // [T, D]
  }();
  Tensor output;  // columns 16 to 23 of c_proj
  for (const auto& [name, parameter] : model().parameters()) {
    if (name == "h.1.attn.c_proj.weight") {
      output = slice(parameter.detach(), 1, 16, 24);
    }
  }
  const std::vector<double> written = linear(values, output).to_vector();
  std::vector<double> norms(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < written.size(); ++i) {
    norms[i / 24] += written[i] * written[i];
  }
  const double largest = *std::max_element(norms.begin(), norms.end());
  for (Index query = 0; query < length; ++query) {
    for (Index key = 0; key <= query; ++key) {
      const double norm = std::sqrt(norms[static_cast<std::size_t>(key)] / largest);
      CHECK(weight(weighted.layers[0].weights, {0, query, key}) ==
            Approx(norm * weight(plain.layers[1].weights, {2, query, key})).margin(1e-5));
    }
  }
  check_error(
      [&] {
        record_attention(model(), tokenizer, text, {.vectors = true, .value_weighted = true});
      },
      {"value_weighted: cannot be combined"});
}

TEST_CASE("the difference of attention is head by head") {
  const ByteTokenizer tokenizer;
  const AttentionMaps first = record_attention(model(), tokenizer, "abcd");
  const AttentionMaps second = record_attention(model(), tokenizer, "abxd");
  const AttentionMaps difference = attention_difference(first, second);
  CHECK(difference.tokens == std::vector<std::string>{"a", "b", "c/x", "d"});
  CHECK(weight(difference.layers[1].weights, {2, 3, 2}) ==
        weight(first.layers[1].weights, {2, 3, 2}) - weight(second.layers[1].weights, {2, 3, 2}));
  AttentionStyle style;
  style.differences = true;
  const std::string figure = attention_svg(difference, difference.layers[1], style);
  CHECK(contains(figure, "Difference of weights"));
  check_error([&] { attention_svg(difference, difference.layers[1]); },
              {"expected a number in [0, 1]"});
  check_error([&] { attention_difference(first, record_attention(model(), tokenizer, "abc")); },
              {"compare: expected a text of as many tokens, 4, got 3"});
}
}  // namespace record_attention_test
