#include "headlight/interpret/scores/head_scores.h"
#include "interpret/head_experiments_support.h"
#include "interpret/planted_models.h"
#include "support/programs/local_processes.h"
#include "support/test.h"

// Scores and verdicts of heads.

HeadScoreOptions quick() {
  HeadScoreOptions options;
  options.bootstrap.resamples = 0;
  options.weight_scores = false;
  return options;
}

const ScoredHead& head_of(const HeadScores& scores, std::string_view name) {
  for (const ScoredHead& head : scores.heads) {
    if (head_name(head.head) == name) {
      return head;
    }
  }
  fail("no head ", name);
}

double value_of(const HeadScores& scores, const std::string& head, std::string_view score) {
  return head_of(scores, head).score(score).value.mean;
}

// Recorded weights of one sequence.
class Maps {
 public:
  Maps(const Gpt& model, const Ids& tokens) : length_(tokens.size()) {
    Recorder recorder;
    const NoGrad no_grad;
    model.hidden(make_batch({tokens}), {.recorder = &recorder});
    for (const auto& [layer, sequences] : recorder.layers()) {
      layers_.push_back(sequences[0].to_vector());
    }
  }
  // Weights of a head as a function of query and key.
  auto of(const HeadId& id) const {
    return [this, id](std::size_t query, std::size_t key) {
      const auto head = static_cast<std::size_t>(id.head);
      return layers_[static_cast<std::size_t>(id.layer)][(head * length_ + query) * length_ + key];
    };
  }

 private:
  std::size_t length_;
  std::vector<std::vector<double>> layers_;  // [H, T, T] of each
};

TEST_CASE("planted heads get the right verdicts with scores of at least 0.99") {
  const PlantedModel planted;
  const HeadScores scores =
      score_heads(planted.model(), random_documents(12, 48, PlantedModel::kVocabulary), quick());
  struct Expected {
    const char* head;
    const char* verdict;
    const char* score;
  };
  for (const Expected& expected :
       {Expected{"0.0", "previous_token", "previous_token"},
        Expected{"0.1", "first_token", "first_token"},
        Expected{"0.2", "duplicate_token", "duplicate_token"},
        Expected{"0.3", "same_token", "same_token"}, Expected{"1.0", "induction", "induction"},
        Expected{"1.1", "fixed_offset", "second_previous"}}) {
    INFO(expected.head);
    const ScoredHead& head = head_of(scores, expected.head);
    CHECK(head.verdict.name == expected.verdict);
    CHECK(head.verdict.score >= 0.99);
    CHECK(head.score(expected.score).value.mean >= 0.99);
  }
  CHECK(head_of(scores, "1.1").best_offset == 2);
  CHECK(head_of(scores, "0.0").best_offset == 1);
  CHECK(value_of(scores, "0.0", "offset_share") == 1);
  const ScoredHead& even = head_of(scores, "1.2");
  CHECK(even.verdict.name == "diffuse");
  CHECK(even.score("spread").value.mean == Approx(1));
  CHECK(head_sentence(head_of(scores, "0.0")) ==
        "0.0 attends to the previous token: 1.00 of its weight");
  CHECK(head_sentence(head_of(scores, "1.1")) ==
        "1.1 attends 2 tokens back: its largest weight is there for 1.00 of the queries");
}

TEST_CASE("random weights are not given the names of planted heads") {
  const std::set<std::string_view> patterns{"previous_token", "fixed_offset",    "same_token",
                                            "first_token",    "duplicate_token", "induction"};
  const auto documents = random_documents(6, 48, 24);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const GptConfig config{
        .vocab_size = 24, .block_size = 48, .n_layer = 2, .n_head = 4, .n_embd = 32};
    const Gpt fresh(config, seed);
    for (const ScoredHead& head : score_heads(fresh, documents, quick()).heads) {
      CHECK(head.verdict.name == "diffuse");
    }
    const Gpt wild(config, seed);
    randomize(wild, seed);
    for (const ScoredHead& head : score_heads(wild, documents, quick()).heads) {
      INFO(head_sentence(head));
      CHECK(patterns.count(head.verdict.name) == 0);
    }
  }
}

TEST_CASE("scores of attention weights equal the means in their definitions") {
  const auto model = random_gpt(three_layers());
  const Ids tokens{3, 5, 3, 3, 7, 5};
  const HeadScores scores = score_heads(*model, {tokens}, quick());
  const Maps maps(*model, tokens);
  for (const ScoredHead& head : scores.heads) {
    INFO(head_name(head.head));
    const auto weight = maps.of(head.head);
    double previous = 0;
    double first = 0;
    double same = 0;
    double entropy = 0;
    double distance = 0;
    double confidence = 0;
    for (std::size_t query = 0; query < 6; ++query) {
      double largest = 0;
      for (std::size_t key = 0; key <= query; ++key) {
        const double p = weight(query, key);
        entropy -= p * std::log(p) / 6;
        distance += p * static_cast<double>(query - key) / 6;
        largest = std::max(largest, p);
      }
      confidence += largest / 6;
      if (query > 0) {
        previous += weight(query, query - 1) / 5;
        first += weight(query, 0) / 5;
        same += weight(query, query) / 5;
      }
    }
    // Queries 2, 3 and 5 have earlier occurrences of their tokens.
    const double duplicate = (weight(2, 0) + weight(3, 0) + weight(3, 2) + weight(5, 1)) / 3;
    const double second = (weight(2, 0) + weight(3, 1) + weight(4, 2) + weight(5, 3)) / 4;
    for (const auto& [name, expected] :
         {std::pair{"previous_token", previous}, std::pair{"first_token", first},
          std::pair{"same_token", same}, std::pair{"duplicate_token", duplicate},
          std::pair{"second_previous", second}, std::pair{"entropy", entropy},
          std::pair{"mean_distance", distance}, std::pair{"confidence", confidence}}) {
      INFO(name);
      CHECK(head.score(name).value.mean == Approx(expected).margin(1e-6));
    }
    CHECK(head.score("duplicate_token").count == 3);
    CHECK_FALSE(head.score("near").measured());  // no query has more than eight keys
    CHECK_FALSE(head.score("quote").measured());
  }
  CHECK(scores.tokens == 6);
  CHECK(scores.sequences == 1);
}

TEST_CASE("annotated pairs are scored from the later span and from the token before it") {
  const auto model = random_gpt(three_layers());
  const Ids tokens{3, 5, 1, 2, 7, 5, 4, 6};
  HeadScoreOptions options = quick();
  options.annotations.resize(1);
  options.annotations[0]["quote"] = {{1, 2, 5, 6}};
  options.annotations[0]["name"] = {{0, 2, 5, 7}};
  options.annotations[0]["phrase"] = {{0, 3, 4, 7}};
  const HeadScores scores = score_heads(*model, {tokens}, options);
  const Maps maps(*model, tokens);
  for (const ScoredHead& head : scores.heads) {
    const auto weight = maps.of(head.head);
    CHECK(head.score("quote").value.mean == Approx(weight(5, 1)).margin(1e-6));
    CHECK(head.score("quote_ahead").value.mean == Approx(weight(4, 1)).margin(1e-6));
    CHECK(head.score("name").value.mean ==
          Approx((weight(5, 0) + weight(5, 1) + weight(6, 0) + weight(6, 1)) / 2).margin(1e-6));
    CHECK(head.score("phrase").value.mean ==
          Approx((weight(4, 1) + weight(5, 2)) / 2).margin(1e-6));
    CHECK(head.score("names_ahead").value.mean == Approx(weight(4, 0) + weight(4, 1)).margin(1e-6));
    CHECK_FALSE(head.score("bracket").measured());
  }
  // With a second name, the token before either sees all mentions of both, each counted once.
  options.annotations[0]["name"] = {{0, 1, 4, 5}, {2, 3, 6, 7}, {4, 5, 7, 8}};
  const HeadScores two = score_heads(*model, {tokens}, options);
  for (const ScoredHead& head : two.heads) {
    const auto weight = maps.of(head.head);
    CHECK(head.score("names_ahead").value.mean ==
          Approx((weight(3, 0) + weight(3, 2) + weight(5, 0) + weight(5, 2) + weight(5, 4) +
                  weight(6, 0) + weight(6, 2) + weight(6, 4) + weight(6, 6)) /
                 3)
              .margin(1e-6));
  }
  options.annotations.resize(2);
  check_error([&] { score_heads(*model, {tokens}, options); }, {"annotations", "2"});
}

TEST_CASE("scores depend neither on threads nor on how sequences are batched") {
  const auto model = random_gpt(three_layers(), DType::float32);
  const auto documents = counted<Ids>(
      7, [&](Index i) { return draw_ids(2 + i * 3, 11, static_cast<std::uint64_t>(i)); });
  HeadScoreOptions options;
  options.bootstrap.resamples = 50;
  const HeadScores one = [&] {
    const ThreadScope threads(1);
    return score_heads(*model, documents, options);
  }();
  options.batch_size = 2;
  const ThreadScope threads(3);
  const HeadScores other = score_heads(*model, documents, options);
  for (std::size_t head = 0; head < one.heads.size(); ++head) {
    for (std::size_t score = 0; score < score_list().size(); ++score) {
      INFO(head_name(one.heads[head].head) << " " << score_list()[score].name);
      const Interval& a = one.heads[head].scores[score].value;
      const Interval& b = other.heads[head].scores[score].value;
      CHECK(a.mean == b.mean);
      CHECK(a.low == b.low);
      CHECK(a.high == b.high);
    }
    CHECK(one.heads[head].score("entropy").has_interval);
    CHECK(one.heads[head].score("entropy").value.low < one.heads[head].score("entropy").value.high);
  }
}

TEST_CASE("several processes share the scoring of heads") {
  const auto documents = random_documents(9, 20, 11);
  HeadScoreOptions options = quick();
  options.batch_size = 2;
  const auto whole_model = random_gpt(three_layers());
  const HeadScores whole = score_heads(*whole_model, documents, options);
  test::run_processes(4, [&](Processes& processes) {
    const auto model = random_gpt(three_layers());
    HeadScoreOptions own = options;
    own.processes = &processes;
    const HeadScores shared = score_heads(*model, documents, own);
    for (std::size_t head = 0; head < whole.heads.size(); ++head) {
      for (std::size_t score = 0; score < score_list().size(); ++score) {
        const ScoreValue& expected = whole.heads[head].scores[score];
        const ScoreValue& got = shared.heads[head].scores[score];
        require(got.count == expected.count &&
                    std::abs(got.value.mean - expected.value.mean) < 1e-12 &&
                    std::abs(got.value.high - expected.value.high) < 1e-12,
                score_list()[score].name, ": ", got.value.mean, ", not ", expected.value.mean);
      }
    }
  });
}

TEST_CASE("only the heads that were asked for are scored, and progress reaches its end") {
  const auto model = random_gpt(three_layers());
  HeadScoreOptions options = quick();
  options.heads = {{2, 1}, {0, 2}};
  options.batch_size = 2;
  options.max_tokens = 5;
  std::vector<double> shares;
  options.progress = [&](double share) { shares.push_back(share); };
  const auto documents = random_documents(5, 8, 11);
  const HeadScores some = score_heads(*model, documents, options);
  REQUIRE(some.heads.size() == 2);
  CHECK(head_name(some.heads[0].head) == "0.2");
  CHECK(some.tokens == 25);
  const auto repeats = static_cast<std::size_t>((options.repeats.sequences + 1) / 2);
  REQUIRE(shares.size() == 3 + repeats);
  CHECK(shares.back() == 1);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  options.heads = {};
  options.progress = [](double) {};
  const HeadScores all = score_heads(*model, documents, options);
  CHECK(value_of(some, "2.1", "entropy") == value_of(all, "2.1", "entropy"));
  CHECK(value_of(some, "2.1", "induction") == value_of(all, "2.1", "induction"));
}

TEST_CASE("scoring refuses invalid options and data") {
  const auto model = random_gpt(three_layers());
  const auto refusal = [&](const HeadScoreOptions& options, const std::vector<Ids>& sequences) {
    return error_of([&] { score_heads(*model, sequences, options); });
  };
  CHECK(mentions(refusal(quick(), {}), {"at least one token"}));
  CHECK(mentions(refusal(quick(), {{}}), {"at least one token"}));
  HeadScoreOptions options = quick();
  options.heads = {{9, 0}};
  CHECK(mentions(refusal(options, {{1, 2}}), {"9.0"}));
  check_error([&] { score_index("inductoin"); }, {"inductoin", "induction"});
  check_error([&] { repeated_sequences({.sequences = 0}, model->config()); }, {"repeats", "0"});
  parameter_of(*model, "h.1.attn.c_attn.bias").fill(std::nan(""));
  CHECK(mentions(refusal(quick(), {{1, 2, 3}}), {"not numbers"}));
}

TEST_CASE("a verdict from very few tokens is marked as unreliable") {
  const PlantedModel planted;
  const HeadScores few = score_heads(planted.model(), {{1, 2, 3, 4}}, quick());
  const ScoredHead& offset = head_of(few, "1.1");
  CHECK(offset.verdict.name == "fixed_offset");
  CHECK(offset.verdict.score == 1);
  CHECK(offset.verdict.queries == 2);
  CHECK_FALSE(offset.verdict.significant);
  CHECK(offset.verdict.range.low == Approx(1 - std::sqrt(std::log(40.0) / 4)));
  CHECK(mentions(head_sentence(offset), {"2 tokens back", "(unsure: 0.04 to 1.00 from 2 places)"}));
  CHECK(mentions(head_sentence(offset, Language::korean), {"불확실", "2곳"}));
  CHECK(mentions(verdict_caution(few.heads), {"caution", "of 7 verdicts"}));
  CHECK(mentions(verdict_caution(few.heads, Language::korean), {"주의", "7개 중"}));
  // An induction head is scored on repeated random tokens, of which even a short text gets many.
  CHECK(head_of(few, "1.0").verdict.significant);
  const HeadScores one = score_heads(planted.model(), {{1}}, quick());
  CHECK_FALSE(head_of(one, "0.0").verdict.significant);
}

TEST_CASE("a verdict on enough text is reliable if its interval allows it") {
  const PlantedModel planted;
  HeadScoreOptions options = quick();
  options.bootstrap.resamples = 100;
  const HeadScores scores =
      score_heads(planted.model(), random_documents(12, 48, PlantedModel::kVocabulary), options);
  CHECK(verdict_caution(scores.heads).empty());
  const ScoredHead& previous = head_of(scores, "0.0");
  CHECK(previous.verdict.significant);
  CHECK(previous.verdict.queries == 12 * 47);
  CHECK(previous.score("previous_token").documents == 12);
  CHECK(previous.verdict.range.low == previous.score("previous_token").value.low);
  // Three documents are too few for the bootstrap; the bound is wider.
  const HeadScores three =
      score_heads(planted.model(), random_documents(3, 48, PlantedModel::kVocabulary), options);
  const ScoredHead& even = head_of(three, "0.0");
  CHECK(even.verdict.range.low < even.score("previous_token").value.low);
}

TEST_CASE("verdicts have labels in both languages") {
  for (const VerdictRule& rule : verdict_rules()) {
    std::string label(rule.name);
    std::replace(label.begin(), label.end(), '_', ' ');
    CHECK(verdict_label(rule.name) == label);
    CHECK(verdict_label(rule.name, Language::korean) != label);
  }
  check_error([] { verdict_label("none_such"); }, {"none_such"});
}

TEST_CASE("every score comes with the score of uniform attention") {
  const auto model = random_gpt(three_layers());
  HeadScoreOptions options = quick();
  options.annotations.resize(1);
  options.annotations[0]["name"] = {{0, 2, 5, 6}};
  const HeadScores scores = score_heads(*model, {{3, 5, 1, 2, 7, 5}}, options);
  const ScoredHead& head = scores.heads.front();
  CHECK(head.score("previous_token").even ==
        Approx((1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5 + 1.0 / 6) / 5));
  CHECK(head.score("name_ahead").even == Approx(2.0 / 5));
  CHECK(head.score("spread").even == Approx(1));
  CHECK(std::isnan(head.score("quote").even));
  CHECK(std::isnan(head.score("copying").even));
  double chance = 0;  // that the largest of equal weights is best_offset back
  const Index first = std::max<Index>(head.best_offset, 1);
  for (Index query = first; query < 6; ++query) {
    chance += 1 / static_cast<double>(query + 1);
  }
  CHECK(head.score("offset_share").even == Approx(chance / static_cast<double>(6 - first)));
  options.repeats.length = 1;  // of two equal tokens, the second has half of its weight on itself
  const HeadScores repeated = score_heads(*model, {{3, 5, 1, 2, 7, 5}}, options);
  CHECK(repeated.heads.front().score("induction").even == Approx(0.5));
}

// A head without a pattern: only `name` is measured, with this mean and this value for uniform
// attention. Uniform attention on a text with a name in 2 of the 5 tokens before its next mention
// gives 2 / 5.
ScoredHead head_with(std::string_view name, double mean, double even) {
  ScoredHead head;
  head.scores.resize(score_list().size());
  ScoreValue& score = head.scores[score_index(name)];
  score = {.value = {mean, mean, mean}, .count = 1000, .even = even};
  head.verdict = judge_head(head);
  return head;
}

TEST_CASE("only a pattern above uniform attention is the nearest") {
  const ScoredHead above = head_with("name_ahead", 0.45, 2.0 / 5);
  CHECK(head_sentence(above) ==
        "0.0 matches no pattern; the nearest is 'name mover' with 0.45 (unsure: 0.41 to 0.49 from "
        "1000 places)");
  CHECK(even_weights_text(above) == ", where uniform attention gives 0.40");
  const ScoredHead below = head_with("name_ahead", 0.15, 2.0 / 5);
  CHECK(below.verdict.name == "mixed");
  CHECK(below.verdict.leans.empty());
  CHECK(mentions(head_sentence(below), {"0.0 matches no pattern"}));
  CHECK_FALSE(mentions(head_sentence(below), {"nearest"}));
  CHECK_FALSE(mentions(head_sentence(below, Language::korean), {"가까운"}));
  CHECK(even_weights_text(below).empty());
  // Another score of the same rule, or another rule, can still be above its own value.
  ScoredHead both = below;
  both.scores[score_index("name")] = {.value = {0.1, 0.1, 0.1}, .count = 1000, .even = 0.05};
  CHECK(judge_head(both).measure == "name");
  both.scores[score_index("name")].even = 0.2;
  both.scores[score_index("first_token")] = {
      .value = {0.08, 0.08, 0.08}, .count = 1000, .even = 0.03};
  CHECK(judge_head(both).leans == "first_token");
  CHECK(judge_head(both).score == 0.08);
}

TEST_CASE("scores without the first token divide the other weights by their sum") {
  const auto gpt = random_gpt(three_layers(), DType::float32);
  const Ids tokens{1, 5, 2, 5, 8, 2};
  HeadScoreOptions options = quick();
  options.exclude_first_token = true;
  options.annotations = {{{"own", {{0, 1, 3, 4}, {1, 2, 4, 5}}}}};
  const HeadScores scores = score_heads(*gpt, {tokens}, options);
  const Maps maps(*gpt, tokens);
  const auto weight = [at = maps.of({1, 2})](std::size_t query, std::size_t key) {
    return at(query, key) / (1 - at(query, 0));
  };
  double previous = 0;
  for (std::size_t query = 2; query < 6; ++query) {
    previous += weight(query, query - 1) / 4;
  }
  CHECK(value_of(scores, "1.2", "previous_token") == Approx(previous));
  CHECK(value_of(scores, "1.2", "duplicate_token") == Approx((weight(3, 1) + weight(5, 2)) / 2));
  CHECK_FALSE(head_of(scores, "1.2").score("first_token").measured());
  const std::size_t own = score_list().size();
  CHECK(head_of(scores, "1.2").scores[own].count == 1);
  CHECK(head_of(scores, "1.2").scores[own].value.mean == Approx(weight(4, 1)));
  CHECK(head_of(scores, "1.2").score("previous_token").even ==
        Approx((1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5) / 4));
  options.annotations.clear();
  CHECK(score_heads(*gpt, {{3}}, options).tokens == 1);
  const PlantedModel planted;
  const auto documents = random_documents(4, 48, PlantedModel::kVocabulary);
  options.repeats.sequences = 2;
  const HeadScores found = score_heads(planted.model(), documents, options);
  CHECK(value_of(found, "0.0", "previous_token") > 0.99);
  CHECK(value_of(found, "1.0", "induction") > 0.9);
}

TEST_CASE("scores name their model by its weights when asked to") {
  const auto model = random_gpt(three_layers());
  HeadScoreOptions options = quick();
  CHECK(score_heads(*model, {{1, 2}}, options).model_fingerprint.empty());
  options.fingerprint = true;
  const std::string before = score_heads(*model, {{1, 2}}, options).model_fingerprint;
  CHECK(before.size() == 32);
  CHECK(before == score_heads(*model, {{3, 4}}, options).model_fingerprint);
  silence(*model, 0, 0);
  CHECK(before != score_heads(*model, {{1, 2}}, options).model_fingerprint);
}
