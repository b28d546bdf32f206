#include "support/test.h"

namespace gpt_cache_test {

GptConfig small_config() {
  return {.vocab_size = 50, .block_size = 24, .n_layer = 2, .n_head = 4, .n_embd = 32};
}

Tensor row(const Tensor& logits, Index t) {
  const Index width = logits.size(1);
  return logits.strided_view({width}, {1}, t * width);
}

// Feeds `tokens` in chunks of these sizes, repeating the last one. Returns the largest difference
// between the logits after a chunk and the logits of the full pass.
double compare_chunks(const Gpt& gpt, const Ids& tokens, const std::vector<std::size_t>& sizes) {
  const ThreadScope one_thread(1);  // the passes are tiny
  const Tensor full = gpt.logits(make_batch({tokens}));
  KeyValueCache cache = gpt.make_cache();
  double furthest = 0;
  std::size_t chunk = 0;
  for (std::size_t done = 0; done < tokens.size(); ++chunk) {
    const std::size_t size =
        std::min(sizes[std::min(chunk, sizes.size() - 1)], tokens.size() - done);
    const auto start = tokens.begin() + static_cast<Index>(done);
    const Tensor logits = next_logits(gpt, Ids(start, start + static_cast<Index>(size)), cache);
    done += size;
    require(logits.shape() == Shape{gpt.config().vocab_size}, "expected logits [V]");
    require(cache.length() == static_cast<Index>(done), "expected the cache to have grown");
    furthest =
        std::max(furthest, largest_difference(logits, row(full, static_cast<Index>(done) - 1)));
  }
  return furthest;
}

TEST_CASE("with a cache the next logits are those of the full pass, in chunks of any size") {
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{24},
                                                {23, 1},
                                                {7, 1, 2, 1},
                                                {5},
                                                {1, 22, 1},
                                                {250, 1},
                                                {60, 10, 190, 2},
                                                {130, 200}}) {
    const Index length = sizes[0] < 60 ? 24 : 330;
    GptConfig config = small_config();
    config.block_size = length;
    const Gpt exact(config, 3, kDouble);
    randomize(exact, 71);
    CHECK(compare_chunks(exact, draw_ids(length, 50), sizes) < 1e-12);
    CHECK(compare_chunks(Gpt(config, 3), draw_ids(length, 50), sizes) < 1e-5);
  }
}

TEST_CASE("the next logits record no gradient") {
  const Gpt gpt(small_config());
  KeyValueCache cache = gpt.make_cache();
  const Tensor logits = next_logits(gpt, {1, 2, 3}, cache);
  CHECK_FALSE(logits.requires_grad());
  CHECK_FALSE(cache.keys(0, 3).requires_grad());
  CHECK(live_graph_nodes() == 0);
}

TEST_CASE("a cache grows block by block, and every head starts on 64 bytes") {
  GptConfig config = small_config();
  config.head_width = 7;
  config.block_size = 200;
  const Gpt gpt(config);
  KeyValueCache cache = gpt.make_cache();
  CHECK(cache.blocks(0).empty());
  next_logits(gpt, draw_ids(64, 50), cache);
  CHECK(cache.blocks(0).size() == 1);
  next_logits(gpt, {1}, cache);
  for (const Index layer : {0, 1}) {
    REQUIRE(cache.blocks(layer).size() == 2);
    for (const void* block : cache.blocks(layer)) {
      for (Index head = 0; head < 8; ++head) {  // heads of keys, then of values
        const auto* start = static_cast<const float*>(block) + head * KeyValueCache::kBlock * 7;
        CHECK(reinterpret_cast<std::uintptr_t>(start) % 64 == 0);
      }
    }
  }
  cache.clear();
  CHECK(cache.blocks(0).empty());
  CHECK(cache.length() == 0);
}

TEST_CASE("a forked cache is independent and shares full blocks") {
  GptConfig config = small_config();
  config.block_size = 200;
  const Gpt gpt(config, 3, kDouble);
  randomize(gpt, 76);
  for (const Index length : {63, 64, 70, 128}) {
    const Ids tokens = draw_ids(length, 50);
    KeyValueCache first = gpt.make_cache();
    next_logits(gpt, tokens, first);
    KeyValueCache second = first.fork();
    CHECK(second.length() == length);
    const auto expected = [&](Ids more) {
      more.insert(more.begin(), tokens.begin(), tokens.end());
      return row(gpt.logits(make_batch({more})), std::ssize(more) - 1);
    };
    const Tensor one = next_logits(gpt, {7, 8}, first);
    const Tensor other = next_logits(gpt, {9, 10}, second);
    CHECK(largest_difference(one, expected({7, 8})) < 1e-12);
    CHECK(largest_difference(other, expected({9, 10})) < 1e-12);
    CHECK(largest_difference(next_logits(gpt, {11}, first), expected({7, 8, 11})) < 1e-12);
  }
  const Gpt single(config, 3);
  KeyValueCache full = single.make_cache();
  next_logits(single, draw_ids(70, 50), full);
  const KeyValueCache fork = full.fork();
  CHECK(fork.blocks(0)[0] == full.blocks(0)[0]);
  CHECK(fork.blocks(0)[1] != full.blocks(0)[1]);
}

TEST_CASE("a rounded cache holds the rounded rows and forks them") {
  const GptConfig config{
      .vocab_size = 5, .block_size = 200, .n_layer = 1, .n_head = 2, .n_embd = 14};
  const Tensor rows = random_normal({70, 2, 7}, {3, 1});
  const std::pair<CacheType, double> cases[] = {
      {CacheType::bfloat16, 0x1p-8}, {CacheType::float16, 0x1p-11}, {CacheType::int8, 0.5 / 127}};
  for (const auto& [type, step] : cases) {
    KeyValueCache cache(config, DType::float32, type);
    cache.reserve(70);
    cache.write(0, rows, rows);
    cache.advance(70);
    for (const void* block : cache.blocks(0)) {
      CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    }
    KeyValueCache fork = cache.fork(66);
    cache.truncate(65);
    cache.reserve(5);
    cache.write(0, Tensor::zeros({5, 2, 7}), rows.strided_view({5, 2, 7}, rows.strides(), 0));
    const std::vector<double> expected = rows.to_vector();
    const std::vector<double> keys = fork.keys(0, 66).to_vector();
    const std::vector<double> values = fork.values(0, 66).to_vector();
    CHECK(keys == values);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t head = i / (66 * 7);
      const std::size_t t = i / 7 % 66;
      CHECK(std::abs(keys[i] - expected[(2 * t + head) * 7 + i % 7]) <= step * 4);
    }
  }
}

TEST_CASE("a batch needs a cache for each of its sequences, and continues them all") {
  const Gpt gpt(small_config(), 3, kDouble);
  randomize(gpt, 77);
  KeyValueCache first = gpt.make_cache();
  KeyValueCache second = gpt.make_cache();
  next_logits(gpt, {1, 2, 3}, first);
  KeyValueCache* const caches[] = {&first, &second};
  const Tensor logits =
      gpt.logits(continue_sequences({{4, 5}, {6, 7, 8}}, {3, 0}), {.caches = caches});  // [5, V]
  const Tensor expected = gpt.logits(make_batch({{1, 2, 3, 4, 5}, {6, 7, 8}}));         // [8, V]
  CHECK(largest_difference(row(logits, 1), row(expected, 4)) < 1e-12);
  CHECK(largest_difference(row(logits, 4), row(expected, 7)) < 1e-12);
  CHECK(first.length() == 5);
  CHECK(second.length() == 3);
}
TEST_CASE("sequences continue a known beginning, and prefixes that do not fit are refused") {
  const Gpt gpt(small_config());
  const Ids tokens = draw_ids(9, 50);
  const Tensor full = gpt.logits(make_batch({tokens}));
  KeyValueCache cache = gpt.make_cache();
  next_logits(gpt, Ids(tokens.begin(), tokens.begin() + 6), cache);
  const Batch ends = continue_sequences({{tokens.begin() + 4, tokens.end()}, tokens}, {4, 0});
  const auto logits = [&](const std::vector<KnownPrefix>& prefixes) {
    return gpt.logits(ends, {.prefixes = prefixes});
  };
  const Tensor continued = logits({{&cache, 4}, {}});
  CHECK(largest_difference(slice(continued, 0, 0, 5), slice(full, 0, 4, 9)) < 1e-5);
  CHECK(largest_difference(slice(continued, 0, 5, 14), full) < 1e-5);
  check_error([&] { logits({{&cache, 4}}); }, {"a prefix for each of 2", "got 1"});
  check_error([&] { logits({{&cache, 7}, {}}); }, {"the 7 positions of a prefix"});
  check_error([&] { logits({{nullptr, 4}, {}}); }, {"the 4 positions of a prefix"});
}
}  // namespace gpt_cache_test
