#include "kernels/cpu_variant.h"
#include "kernels/panels/panels.h"
#include "kernels/panels/rounded_rows.h"
#include "support/products.h"
#include "support/test.h"

namespace decoder_test {
GptConfig small_config() {
  return {.vocab_size = 53, .block_size = 40, .n_layer = 2, .n_head = 4, .n_embd = 64};
}

// Models that each differ from GPT-2 in one property.
std::vector<GptConfig> odd_configs() {
  std::vector<GptConfig> configs(11, small_config());
  configs[1].norm = NormPosition::post;
  configs[2].bias = false;
  configs[3].tie_weights = false;
  configs[4].activation = Activation::gelu_erf;
  configs[5].activation = Activation::relu;
  configs[6].n_head = 1;
  configs[6].n_embd = 20;
  configs[7].n_head = 3;
  configs[7].n_embd = 96;
  configs[7].norm = NormPosition::post;
  configs[7].bias = false;
  configs[8].n_head = 3;  // pruned
  configs[8].n_embd = 33;
  configs[8].head_width = 7;
  configs[8].heads_per_layer = {1, 3};
  configs[9].mlp = false;
  configs[10].mlp = false;
  configs[10].norm = NormPosition::post;
  return configs;
}

constexpr CacheType kCacheTypes[] = {CacheType::float32, CacheType::bfloat16, CacheType::float16,
                                     CacheType::int8};

// Gives weights the size of trained ones, so that a tolerance of 1e-5 is meaningful.
void liven(const Gpt& gpt, std::uint64_t seed) {
  for (auto& [name, parameter] : gpt.parameters()) {
    const bool gain = name.find("ln_") != std::string::npos && name.ends_with("weight");
    const double width = static_cast<double>(parameter.size(-1));
    const double deviation = parameter.rank() == 2 ? 1 / std::sqrt(width) : 0.2;
    parameter.copy_from(random_normal(parameter.shape(), {seed, ++seed}, gain ? 1 : 0, deviation));
  }
}

// Largest difference relative to the largest logit.
double difference(std::span<const float> logits, const Tensor& expected) {
  const std::vector<double> wanted = expected.to_vector();
  require(logits.size() == wanted.size(), "sizes differ");
  double furthest = 0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    furthest = std::max(furthest, std::abs(static_cast<double>(logits[i]) - wanted[i]));
    largest = std::max(largest, std::abs(wanted[i]));
  }
  return furthest / largest;
}

// Reads the first `prompt` tokens as a matrix and the others one by one. Returns the largest
// difference from the logits of a forward pass over all tokens.
double compare(Decoder& decoder, const Ids& tokens, Index prompt) {
  const auto& gpt = dynamic_cast<const Gpt&>(decoder.model());
  const Tensor all = gpt.logits(make_batch({tokens}));
  const Index width = all.size(1);
  KeyValueCache cache = decoder.make_cache();
  double furthest = 0;
  for (Index t = prompt - 1; t < static_cast<Index>(tokens.size()); ++t) {
    if (t == prompt - 1) {
      decoder.read(Ids(tokens.begin(), tokens.begin() + prompt), cache);
    } else {
      const DecodeItem item{tokens[static_cast<std::size_t>(t)], &cache};
      decoder.step({&item, 1});
    }
    require(cache.length() == t + 1, "expected the cache to grow");
    furthest = std::max(furthest,
                        difference(decoder.logits(0), all.strided_view({width}, {1}, t * width)));
  }
  return furthest;
}

std::vector<float> copied(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

// Returns true if the packed matrices read the prompt. Finds out by clearing the model's own.
bool prompt_meets_packed_matrices(WeightFormat format, Index tokens) {
  GptConfig config = small_config();
  config.block_size = 200;
  const Gpt gpt(config);
  liven(gpt, 7);
  Decoder decoder(gpt, format);
  const auto logits = [&] {
    KeyValueCache cache = gpt.make_cache();
    decoder.read(draw_ids(tokens, 53), cache);
    return copied(decoder.logits(0));
  };
  const std::vector<float> before = logits();
  for (auto& [name, parameter] : gpt.parameters()) {
    if (parameter.rank() == 2 && name.starts_with("h.")) {
      parameter.fill(0);
    }
  }
  return logits() == before;
}

// A kind of decoder, and the largest allowed difference from the model with equal weights.
struct Kind {
  WeightFormat weights;
  CacheType cache;
  double limit;  // int8 products round the vectors to 16 bits
  std::vector<Index> prompts;
  Index length;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {WeightFormat::float32, CacheType::float32, 1e-5, {1, 17, 40}, 40},
      {WeightFormat::bfloat16, CacheType::float32, 1e-5, {9}, 40},
      {WeightFormat::int8, CacheType::float32, 3e-4, {9}, 40},
      {WeightFormat::float32, CacheType::bfloat16, 0.03, {3}, 6},
      {WeightFormat::float32, CacheType::float16, 0.004, {3}, 6},
      {WeightFormat::float32, CacheType::int8, 0.04, {3}, 6}};
  return all;
}

TEST_CASE("a decoder gives the logits of the model, whatever its shape, weights and cache") {
  const ThreadScope two_threads(2);
  for (const Kind& kind : kinds()) {
    for (const GptConfig& config : odd_configs()) {
      Gpt gpt(config);
      liven(gpt, 5);
      round_weights(gpt, kind.weights);
      Decoder decoder(gpt, kind.weights, kind.cache);
      CAPTURE(name_of(kind.weights), name_of(kind.cache), config.n_embd, config.n_head,
              config.bias);
      CHECK(decoder.make_cache().type() == kind.cache);
      for (const Index prompt : kind.prompts) {
        const double difference = compare(decoder, draw_ids(kind.length, 53), prompt);
        CHECK(difference < kind.limit);
        CHECK((difference > 1e-6) >= (kind.cache != CacheType::float32));
      }
    }
  }
}

TEST_CASE("long contexts are computed in parts whose bits do not depend on the threads", "[long]") {
  GptConfig config = small_config();
  config.block_size = 5000;
  config.n_head = 6;
  config.head_width = 16;
  config.position = PositionKind::rope;
  for (const Index key_heads : {1, 2, 3, 6}) {
    for (const Index window : {0, 200}) {
      const Index longest = key_heads == 2 || key_heads == 3 ? 500 : 4300;
      for (const Index length : {Index{127}, Index{330}, longest}) {
        config.n_kv_head = key_heads;
        config.windows = {window, 0};
        const Gpt gpt(config);
        liven(gpt, 10);
        std::vector<std::vector<float>> expected;
        for (const int threads : {1, 2, 3}) {
          const ThreadScope scope(threads);
          Decoder decoder(gpt);
          INFO(key_heads << " key heads, window " << window << ", length " << length);
          CHECK(compare(decoder, draw_ids(length + 3, 53), length) < 1e-5);
          expected.push_back(copied(decoder.logits(0)));
          CHECK(expected.back() == expected.front());
        }
      }
    }
  }
}

TEST_CASE("a decoder rounds the weights of an unrounded model") {
  Gpt gpt(small_config());
  liven(gpt, 7);
  Decoder early(gpt, WeightFormat::int8);
  const auto logits = [&](Decoder& decoder) {
    KeyValueCache cache = gpt.make_cache();
    const DecodeItem item{7, &cache};
    decoder.step({&item, 1});
    return Tensor::from(copied(decoder.logits(0)), {53});
  };
  const Tensor exact = gpt.logits(make_batch({{7}}));
  const Tensor coarse = logits(early);
  CHECK(difference({coarse.data<float>(), 53}, reshape(exact, {53})) > 1e-4);
  round_weights(gpt, WeightFormat::int8);
  Decoder late(gpt, WeightFormat::int8);
  CHECK(largest_difference(logits(late), coarse) < 0.2);
}

TEST_CASE("a prompt is multiplied by the packed matrices of single steps where that is fast") {
  CHECK(prompt_meets_packed_matrices(WeightFormat::int8, 40) == kernels::multiplies_int8_fast());
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bfloat16}) {
    const ProductsScope own(kernels::Products::own);
    CHECK(prompt_meets_packed_matrices(format, 128));
    const bool rounds = kernels::RoundedRows::supports(format, small_config().n_embd);
    CHECK(prompt_meets_packed_matrices(format, 129) == rounds);
    const ProductsScope blas(kernels::Products::blas);
    CHECK(!prompt_meets_packed_matrices(format, 32));
  }
}

TEST_CASE("keys and values have 16 bits by default if the weights are not float32") {
  const Gpt gpt(small_config());
  CHECK(default_cache_type(gpt) == CacheType::float32);
  CHECK(default_cache_type(gpt, WeightFormat::bfloat16) == CacheType::float16);
  CHECK(default_cache_type(gpt, WeightFormat::int8) == CacheType::float16);
}

TEST_CASE("with rounded weights the chunks of a prompt change no bit") {
  if (!kernels::supports(kernels::CpuVariant::v4)) {
    // There the model's own weights multiply long prompts and the packed ones multiply steps.
    WARN("not checked: without AVX-512, chunks of a prompt change its last bits");
    return;
  }
  const WeightFormat format = GENERATE(WeightFormat::bfloat16, WeightFormat::int8);
  GptConfig config = small_config();
  config.block_size = 200;
  const Gpt gpt(config);
  liven(gpt, 9);
  for (const CacheType type : kCacheTypes) {
    Decoder decoder(gpt, format, type);
    const std::vector<std::int32_t> prompt = draw_ids(150, 53);
    KeyValueCache whole = decoder.make_cache();
    decoder.read(prompt, whole);
    const std::vector<float> expected = copied(decoder.logits(0));
    for (const Index chunk : {1, 32, 128, 149}) {
      INFO(name_of(format) << ", cache " << name_of(type) << ", chunks of " << chunk);
      KeyValueCache cache = decoder.make_cache();
      for (Index first = 0; first < std::ssize(prompt); first += chunk) {
        const Index last = std::min(first + chunk, std::ssize(prompt));
        decoder.read({prompt.begin() + first, prompt.begin() + last}, cache, nullptr, 150);
      }
      CHECK(copied(decoder.logits(0)) == expected);
      CHECK(same_bits(cache.keys(1, 150), whole.keys(1, 150)));
    }
  }
}

TEST_CASE("the bits of a step depend on neither the threads nor the other sequences", "[long]") {
  const std::pair<WeightFormat, CacheType> cases[] = {{WeightFormat::float32, CacheType::float32},
                                                      {WeightFormat::float32, CacheType::int8},
                                                      {WeightFormat::bfloat16, CacheType::float16},
                                                      {WeightFormat::int8, CacheType::float32},
                                                      {WeightFormat::int8, CacheType::int8}};
  for (const auto& [format, type] : cases) {
    GptConfig config = small_config();
    config.n_embd = 256;
    config.n_head = 3;
    config.head_width = 40;
    const Gpt gpt(config);
    liven(gpt, 8);
    std::vector<std::vector<float>> expected;
    for (const int threads : {1, 2, 3, 8}) {
      const ThreadScope scope(threads);
      Decoder decoder(gpt, format, type);
      std::vector<KeyValueCache> caches;
      std::vector<DecodeItem> items;
      for (Index i = 0; i < 6; ++i) {
        decoder.read(draw_ids(3 + i, 53), caches.emplace_back(decoder.make_cache()));
      }
      for (std::size_t i = 0; i < 6; ++i) {
        items.push_back({static_cast<std::int32_t>(i), &caches[i]});
      }
      decoder.step(items);
      for (Index i = 0; i < 6; ++i) {
        const std::vector<float> together = copied(decoder.logits(i));
        KeyValueCache cache = decoder.make_cache();
        Decoder alone(gpt, format, type);
        alone.read(draw_ids(3 + i, 53), cache);
        const DecodeItem item{static_cast<std::int32_t>(i), &cache};
        alone.step({&item, 1});
        CHECK(copied(alone.logits(0)) == together);
        if (threads == 1) {
          expected.push_back(together);
        }
        CHECK(expected[static_cast<std::size_t>(i)] == together);
      }
    }
  }
}

TEST_CASE("a step reads prompts beside other texts with the bits of single steps") {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8}) {
      GptConfig config = small_config();
      config.norm = norm;
      const Gpt gpt(config);
      liven(gpt, 8);
      Decoder decoder(gpt, format);
      const std::vector<Ids> prompts{draw_ids(30, 53), draw_ids(12, 53), draw_ids(1, 53)};
      std::vector<std::vector<float>> expected;
      for (const Ids& prompt : prompts) {
        KeyValueCache cache = gpt.make_cache();
        for (const std::int32_t id : prompt) {
          const DecodeItem item{id, &cache};
          decoder.step({&item, 1});
        }
        expected.push_back(copied(decoder.logits(0)));
      }
      auto caches =
          counted<KeyValueCache>(std::size_t{3}, [&](std::size_t) { return gpt.make_cache(); });
      std::vector<DecodeItem> items;
      for (std::size_t i = 0; i < 3; ++i) {
        const Index length = std::ssize(prompts[i]);
        for (Index at = 0; at < length; ++at) {
          items.push_back(
              {prompts[i][static_cast<std::size_t>(at)], &caches[i], at, at + 1 == length});
        }
      }
      decoder.step(items);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(caches[i].length() == std::ssize(prompts[i]));
        CHECK(copied(decoder.logits(static_cast<Index>(i))) == expected[i]);
      }
    }
  }
}

// A prompt and a step write and read the same numbers, but where their sums differ in the last bit,
// a key may be rounded to the neighbour.
TEST_CASE("a step with rounded keys gives the logits of a prompt") {
  const Gpt gpt(small_config());
  liven(gpt, 4);
  for (const CacheType type : {CacheType::bfloat16, CacheType::float16, CacheType::int8}) {
    Decoder decoder(gpt, WeightFormat::float32, type);
    KeyValueCache whole = decoder.make_cache();
    decoder.read(draw_ids(39, 53), whole);
    const Tensor expected = Tensor::from(copied(decoder.logits(0)), {1, 53});
    KeyValueCache cache = decoder.make_cache();
    for (const std::int32_t id : draw_ids(39, 53)) {
      decoder.read({id}, cache);
    }
    CHECK(difference(decoder.logits(0), expected) < 2e-4);
    cache.truncate(20);  // as after wrong guesses
    const std::vector<std::int32_t> ids = draw_ids(39, 53);
    decoder.read({ids.begin() + 20, ids.end()}, cache);
    CHECK(difference(decoder.logits(0), expected) < 2e-4);
  }
}

TEST_CASE("a decoder refuses wrong sizes and leaves the caches unchanged") {
  const Gpt gpt(small_config());
  Decoder decoder(gpt);
  CHECK_THROWS_WITH(decoder.logits(0), "[Decoder] no logits of sequence 0");
  KeyValueCache cache = gpt.make_cache();
  decoder.read(draw_ids(39, 53), cache);
  KeyValueCache full = gpt.make_cache();
  decoder.read(draw_ids(40, 53), full);
  const auto step = [&](std::vector<DecodeItem> items) { decoder.step(items); };
  CHECK_THROWS_WITH(step({}), "[Decoder] expected at least one sequence");
  CHECK_THROWS_WITH(step({{1, nullptr}}), "[Decoder] expected a cache for sequence 0");
  check_error([&] { step({{1, &cache}, {53, &cache}}); }, {"[Decoder]", "got 53 for sequence 1"});
  check_error([&] { step({{-1, &cache}}); }, {"[Decoder]", "got -1 for sequence 0"});
  CHECK_THROWS_WITH(step({{1, &cache}, {1, &full}}),
                    "[Gpt] a context of 40 positions has no room for 1 more after 40");
  CHECK(cache.length() == 39);
  step({{1, &cache}});
  CHECK_THROWS_WITH(step({{1, &cache}}),
                    "[Gpt] a context of 40 positions has no room for 1 more after 40");
  const Gpt wide(small_config(), 1, DType::float64);
  CHECK_THROWS_WITH(Decoder(wide), "[Decoder] expected a float32 model, got float64");
}

TEST_CASE("embeddings that are only looked up are not rounded") {
  for (const bool tied : {true, false}) {
    GptConfig config = small_config();
    config.tie_weights = tied;
    Gpt gpt(config);
    liven(gpt, 10);
    const Gpt same(config);
    copy_parameters(gpt, same);
    round_weights(gpt, WeightFormat::bfloat16);
    const auto changed = [&](const char* name) {
      return largest_difference(parameter_of(gpt, name), parameter_of(same, name)) > 0;
    };
    CHECK(changed("wte.weight") == tied);
    CHECK_FALSE(changed("wpe.weight"));
    CHECK_FALSE(changed("h.0.ln_1.weight"));
    CHECK_FALSE(changed("h.0.mlp.c_fc.bias"));
    CHECK(changed("h.1.mlp.c_fc.weight"));
  }
}
}  // namespace decoder_test
