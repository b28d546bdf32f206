#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/attribution.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/prune.h"
#include "headlight/interpret/scores/head_scores.h"
#include "interpret/head_experiments_support.h"
#include "support/models/drawn_config.h"
#include "support/test.h"

// Head tools on combinations of all configuration keys.

constexpr int kDraws = 200;

std::unique_ptr<Gpt> drawn_model(const GptConfig& config, DType dtype) {
  auto gpt = std::make_unique<Gpt>(config, 1, dtype);
  spread_weights(*gpt);
  return gpt;
}

// A random set of heads, fewer than all in each layer.
HeadSet drawn_heads(int number, const GptConfig& config) {
  if (config.qk_norm_whole) {
    return {};  // such models cannot be pruned
  }
  std::mt19937 random(static_cast<std::mt19937::result_type>(number + 2000));
  std::vector<HeadId> heads;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const auto kept = static_cast<Index>(random() % static_cast<unsigned>(config.n_head));
    for (Index head = 0; head < config.n_head; ++head) {
      if (head != kept && random() % 2 == 0) {
        heads.push_back({layer, head});
      }
    }
  }
  return HeadSet(heads);
}

std::vector<Ids> drawn_documents(int number, const GptConfig& config) {
  const Ids tokens = drawn_tokens(number, config);
  std::vector<Ids> documents;
  for (const std::ptrdiff_t length : {7, 3, 5}) {
    documents.emplace_back(tokens.begin(), tokens.begin() + length);
  }
  return documents;
}

TEST_CASE("pruning under every configuration gives what the model computes without those heads") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    const HeadSet heads = drawn_heads(number, config);
    const auto whole = drawn_model(config, DType::float64);
    const Batch batch = make_batch({drawn_tokens(number, config), {0, 1, 2}});
    const auto pruned = prune_heads(*whole, heads);
    for (const HeadId& id : heads) {
      silence(*whole, id.layer, id.head);
    }
    check_close(pruned->logits(batch), whole->logits(batch), 1e-9);
    CHECK(pruned->parameter_count() == count_parameters(pruned->config()).total());
    // Prunes the first remaining head, too.
    const HeadLayout left = pruned->heads();
    if (left.count(0) > 1 && !config.qk_norm_whole) {
      const auto again = prune_heads(*pruned, HeadSet({{0, left.numbers[0].front()}}));
      silence(*whole, 0, left.numbers[0].front());
      check_close(again->logits(batch), whole->logits(batch), 1e-9);
    }
  }
}

TEST_CASE("a key head is removed together with the last query head that reads it") {
  const GptConfig config{.vocab_size = 5,
                         .block_size = 8,
                         .n_layer = 1,
                         .n_head = 6,
                         .n_embd = 6,
                         .head_width = 2,
                         .n_kv_head = 3};
  const Gpt gpt(config, 1);
  const auto one = prune_heads(gpt, HeadSet({{0, 2}}));
  CHECK(one->config().key_groups == std::vector<std::vector<Index>>{{2, 1, 2}});
  const auto both = prune_heads(*one, HeadSet({{0, 3}}));
  CHECK(both->config().key_groups.empty());
  CHECK(both->config().n_kv_head == 2);
  CHECK(both->config().n_head == 4);
  CHECK(both->heads().numbers == std::vector<std::vector<Index>>{{0, 1, 4, 5}});
  const auto single = prune_heads(*both, HeadSet({{0, 0}, {0, 4}}));
  CHECK(single->config().key_groups.empty());
  CHECK(single->config().n_kv_head == 0);
}

TEST_CASE("models pruned under every configuration generate the same with a cache as without") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    const auto whole = drawn_model(config, DType::float32);
    const auto gpt = prune_heads(*whole, drawn_heads(number, config));
    const Ids tokens = drawn_tokens(number, config);
    const Tensor expected = gpt->logits(make_batch({tokens}));  // [T, V]
    Decoder decoder(*gpt);
    KeyValueCache cache = decoder.make_cache();
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const DecodeItem item{tokens[t], &cache};
      decoder.step({&item, 1});
      const auto row = static_cast<Index>(t);
      check_close(Tensor::from(decoder.logits(0), {1, config.vocab_size}),
                  slice(expected, 0, row, row + 1), 2e-4);
    }
  }
}

TEST_CASE("head analyses run under every configuration") {
  for (int number = 0; number < kDraws; number += 5) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    const auto gpt = drawn_model(config, DType::float32);
    const std::vector<Ids> texts = drawn_documents(number, config);
    const TokenDataset documents =
        document_dataset(texts, static_cast<std::int32_t>(config.vocab_size) - 1);
    const auto heads = static_cast<std::size_t>(config.n_layer * config.n_head);
    const HeadScores scores = score_heads(*gpt, texts, {});
    CHECK(scores.heads.size() == heads);
    const AblationResult ablation = ablate(*gpt, documents, each_part(*gpt, PartKind::head));
    CHECK(ablation.rises.size() == heads);
    CHECK(std::isfinite(ablation.rises.back().mean));
    const ImportanceResult importance = head_importance(*gpt, documents, {});
    CHECK(std::isfinite(importance.heads.back().sensitivity.mean));
    const PatchGrid patching = patch_grid(
        *gpt, {.clean = {0, 1, 2, 3, 0}, .corrupt = {3, 1, 2, 0, 1}, .answer = {1}, .wrong = {2}},
        {});
    CHECK(patching.cells.size() == heads);
  }
}

TEST_CASE("the parts of a logit sum to it under every configuration without post-norms") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    if (config.norm == NormPosition::post) {
      continue;
    }
    INFO("drawn_config(" << number << ")");
    const auto whole = drawn_model(config, DType::float64);
    const auto pruned = prune_heads(*whole, drawn_heads(number, config));
    const Ids text = drawn_tokens(number, config);
    for (const Gpt* gpt : {whole.get(), pruned.get()}) {
      const std::vector<double> logits = gpt->next_logits(make_batch({text})).to_vector();
      for (const Choice<AttributionBy>& by : kChoices<AttributionBy>) {
        if (config.mlp || by.value != AttributionBy::neuron) {
          INFO(by.name);
          const double parts = attribute_logit(*gpt, {.text = text, .target = 3}, by.value).logit;
          const double cap = config.logit_cap;
          const double logit = cap > 0 ? cap * std::tanh(parts / cap) : parts;
          CHECK(std::abs(logit - logits[3]) < 1e-9 * (1 + std::abs(logits[3])));
        }
      }
    }
  }
}

TEST_CASE("source contributions of heads sum to their outputs under every configuration") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    if (config.norm == NormPosition::post) {
      continue;
    }
    INFO("drawn_config(" << number << ")");
    const auto gpt = drawn_model(config, DType::float64);
    const AttributionTask task{.text = drawn_tokens(number, config), .target = 3};
    std::map<HeadId, double> sums;
    for (const LogitPart& part : attribute_logit(*gpt, task, AttributionBy::source).parts) {
      if (part.source) {
        sums[*part.head] += part.logit;
      }
    }
    for (const LogitPart& part : attribute_logit(*gpt, task).parts) {
      if (part.head) {
        CHECK(std::abs(sums.at(*part.head) - part.logit) < 1e-9 * (1 + std::abs(part.logit)));
      }
    }
  }
}
