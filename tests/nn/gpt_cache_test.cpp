#include "headlight/autograd/autograd.h"
#include "headlight/nn/gpt.h"
#include "nn/nn_support.h"
#include "support/catch.h"

using namespace headlight;
using namespace headlight::test;

namespace {

constexpr DType kDouble = DType::float64;

GptConfig small_config() {
  return {.vocab_size = 50, .block_size = 24, .n_layer = 2, .n_head = 4, .n_embd = 32};
}

Tensor row(const Tensor& logits, Index t) {
  const Index width = logits.size(1);
  return logits.strided_view({width}, {1}, t * width);
}

// Feeds `tokens` in chunks of the given sizes, the last one repeated; returns the largest
// difference between the logits after a chunk and those of the full pass.
double compare_chunks(const Gpt& gpt, const Ids& tokens, const std::vector<std::size_t>& sizes) {
  const ThreadScope one_thread(1);  // these are many tiny passes
  const Tensor full = gpt.logits(make_batch({tokens}));
  KeyValueCache cache = gpt.make_cache();
  double furthest = 0;
  std::size_t chunk = 0;
  for (std::size_t done = 0; done < tokens.size(); ++chunk) {
    const std::size_t size =
        std::min(sizes[std::min(chunk, sizes.size() - 1)], tokens.size() - done);
    const auto start = tokens.begin() + static_cast<Index>(done);
    const Tensor logits = gpt.next_logits(Ids(start, start + static_cast<Index>(size)), cache);
    done += size;
    require(logits.shape() == Shape{gpt.config().vocab_size}, "expected logits [V]");
    require(cache.length == static_cast<Index>(done), "expected the cache to have grown");
    furthest =
        std::max(furthest, largest_difference(logits, row(full, static_cast<Index>(done) - 1)));
  }
  return furthest;
}

}  // namespace

TEST_CASE("with a cache the next logits are those of the full pass, token by token") {
  for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
    for (const bool tied : {true, false}) {
      GptConfig config = small_config();
      config.norm = position;
      config.tie_weights = tied;
      const Gpt exact(config, 3, kDouble);
      randomize(exact, 71);
      const Ids tokens = draw_ids(24, 50);
      CHECK(compare_chunks(exact, tokens, {1}) < 1e-12);
      const Gpt single(config, 3);
      CHECK(compare_chunks(single, tokens, {1}) < 1e-5);
    }
  }
}

TEST_CASE("with a cache the next logits are those of the full pass, in chunks of any size") {
  const Gpt exact(small_config(), 3, kDouble);
  randomize(exact, 71);
  const Gpt single(small_config(), 3);
  const Ids tokens = draw_ids(24, 50);
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{24}, {23, 1}, {7, 1, 2, 1}, {5}, {1, 22, 1}}) {
    CHECK(compare_chunks(exact, tokens, sizes) < 1e-12);
    CHECK(compare_chunks(single, tokens, sizes) < 1e-5);
  }
}

TEST_CASE("with a cache the next logits of a long sequence are those of the full pass") {
  GptConfig config = small_config();
  config.block_size = 330;
  const Gpt exact(config, 3, kDouble);
  randomize(exact, 72);
  const Ids tokens = draw_ids(330, 50);
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{250, 1}, {60, 10, 190, 2}, {130, 200}}) {
    CHECK(compare_chunks(exact, tokens, sizes) < 1e-12);
  }
}

TEST_CASE("with a cache pruned layers give the logits of the full pass") {
  GptConfig config = small_config();
  config.n_head = 3;
  config.head_width = 7;
  config.heads_per_layer = {1, 3};
  const Gpt gpt(config, 3, kDouble);
  randomize(gpt, 73);
  const KeyValueCache cache = gpt.make_cache();
  CHECK(cache.layers[0].keys.shape() == Shape{1, 24, 7});
  CHECK(cache.layers[1].values.shape() == Shape{3, 24, 7});
  CHECK(compare_chunks(gpt, draw_ids(24, 50), {5, 1, 3, 1}) < 1e-12);
}

TEST_CASE("two caches of one model do not know of each other") {
  const Gpt gpt(small_config(), 3, kDouble);
  randomize(gpt, 74);
  KeyValueCache first = gpt.make_cache();
  KeyValueCache second = gpt.make_cache();
  gpt.next_logits({1, 2, 3}, first);
  gpt.next_logits({4, 5}, second);
  const Tensor own = gpt.next_logits({9}, first);
  CHECK(largest_difference(own, row(gpt.logits(make_batch({{1, 2, 3, 9}})), 3)) < 1e-12);
}

TEST_CASE("dropout is off when the next logits are computed") {
  GptConfig config = small_config();
  const Gpt plain(config, 3);
  config.attention_dropout = 0.5;
  config.residual_dropout = 0.5;
  config.embedding_dropout = 0.5;
  const Gpt dropping(config, 3);
  KeyValueCache a = plain.make_cache();
  KeyValueCache b = dropping.make_cache();
  CHECK(same_bits(plain.next_logits({1, 2, 3}, a), dropping.next_logits({1, 2, 3}, b)));
}

TEST_CASE("the next logits record no gradient") {
  const Gpt gpt(small_config());
  KeyValueCache cache = gpt.make_cache();
  const Tensor logits = gpt.next_logits({1, 2, 3}, cache);
  CHECK_FALSE(logits.requires_grad());
  CHECK_FALSE(cache.layers[0].keys.requires_grad());
  CHECK(live_graph_nodes() == 0);
}

TEST_CASE("a full cache refuses more tokens and says how many are there") {
  const Gpt gpt(small_config());
  KeyValueCache cache = gpt.make_cache();
  gpt.next_logits(draw_ids(20, 50), cache);
  CHECK_THROWS_WITH(gpt.next_logits(draw_ids(5, 50), cache),
                    "[Gpt] a block of 24 positions cannot take 5 more after 20");
  CHECK(cache.length == 20);
  CHECK_NOTHROW(gpt.next_logits(draw_ids(4, 50), cache));
  CHECK_THROWS_WITH(gpt.next_logits({1}, cache),
                    "[Gpt] a block of 24 positions cannot take 1 more after 24");
}

TEST_CASE("refused tokens leave the cache as it was") {
  const Gpt gpt(small_config(), 3, kDouble);
  randomize(gpt, 75);
  KeyValueCache cache = gpt.make_cache();
  gpt.next_logits({1, 2, 3}, cache);
  CHECK_THROWS_WITH(gpt.next_logits({4, 50}, cache),
                    "[embedding] expected ids from 0 to 49, got 50 at position 1");
  CHECK_THROWS_WITH(gpt.next_logits({-1}, cache),
                    "[embedding] expected ids from 0 to 49, got -1 at position 0");
  CHECK_THROWS_WITH(gpt.next_logits({}, cache), "[Gpt] expected at least one token");
  CHECK(cache.length == 3);
  const Tensor logits = gpt.next_logits({9}, cache);
  CHECK(largest_difference(logits, row(gpt.logits(make_batch({{1, 2, 3, 9}})), 3)) < 1e-12);
}

TEST_CASE("a cache of another model is refused") {
  GptConfig deeper = small_config();
  deeper.n_layer = 3;
  GptConfig wider = small_config();
  wider.n_embd = 64;
  const Gpt gpt(small_config());
  KeyValueCache nothing;
  CHECK_THROWS_WITH(gpt.next_logits({1}, nothing), "[Gpt] expected a cache of 2 layers, got 0");
  KeyValueCache of_deeper = Gpt(deeper).make_cache();
  CHECK_THROWS_WITH(gpt.next_logits({1}, of_deeper), "[Gpt] expected a cache of 2 layers, got 3");
  KeyValueCache of_wider = Gpt(wider).make_cache();
  CHECK_THROWS_WITH(gpt.next_logits({1}, of_wider),
                    "[Gpt] expected keys [4, 24, 8] in layer 0 of the cache, got [4, 24, 16]");
}

TEST_CASE("a cache has the room that was asked for, and every head starts on 64 bytes") {
  GptConfig config = small_config();
  config.head_width = 7;
  const Gpt gpt(config);
  KeyValueCache cache = gpt.make_cache(5);
  CHECK(cache.room() == 5);
  for (const KeyValueCache::Layer& layer : cache.layers) {
    for (const Tensor& x : {layer.keys, layer.values}) {
      CHECK(x.shape() == Shape{4, 5, 7});
      for (Index head = 0; head < 4; ++head) {
        const float* start = x.data<float>() + head * x.strides()[0];
        CHECK(reinterpret_cast<std::uintptr_t>(start) % 64 == 0);
      }
    }
  }
  gpt.next_logits({1, 2, 3}, cache);
  CHECK_THROWS_WITH(gpt.next_logits({1, 2, 3}, cache),
                    "[Gpt] a cache for 5 positions cannot take 3 more after 3");
  CHECK(gpt.make_cache(100).room() == 24);
}
