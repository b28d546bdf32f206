#include "headlight/interpret/effects/attribution.h"
#include "headlight/interpret/interventions/interventions.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

namespace attribution_test {
const Ids kText{1, 2, 3, 4, 5};
const AttributionTask kTask{.text = kText, .target = 4, .against = 6};

double total_logit(const std::vector<LogitPart>& parts) {
  return sum_of<double>(parts, [&](const LogitPart& part) { return part.logit; });
}

const LogitPart& part_of(const AttributionResult& result, const std::string& name) {
  const auto found = std::find_if(result.parts.begin(), result.parts.end(),
                                  [&](const LogitPart& part) { return part.name == name; });
  REQUIRE(found != result.parts.end());
  return *found;
}

// The model's own difference of logits after the text.
double difference_of(const Gpt& gpt, const AttributionTask& task) {
  const std::vector<double> logits = gpt.next_logits(make_batch({task.text})).to_vector();
  return logits[static_cast<std::size_t>(*task.target)] -
         logits[static_cast<std::size_t>(*task.against)];
}

// Tokens are unit vectors. The only head has uniform attention and copies only the presence of
// token 3. Neuron 4 fires only on token 2. Both raise the logit of token 5.
std::unique_ptr<Gpt> hand_set_model() {
  auto gpt = Gpt::blank({.vocab_size = 6,
                         .block_size = 8,
                         .n_layer = 1,
                         .n_head = 1,
                         .n_embd = 8,
                         .tie_weights = false,
                         .norm_type = NormKind::rms});
  for (auto& [name, parameter] : gpt->parameters()) {
    parameter.fill(name.find("ln_") != std::string::npos && name.ends_with("weight") ? 1 : 0);
  }
  const auto set = [&](const std::string& name, Index row, Index column) {
    Tensor parameter = parameter_of(*gpt, name);
    parameter.data<float>()[row * parameter.size(1) + column] = 1;
  };
  for (Index token = 0; token < 6; ++token) {
    set("wte.weight", token, token);
  }
  set("h.0.attn.c_attn.weight", 16, 3);  // values begin after 8 queries and 8 keys
  set("h.0.attn.c_proj.weight", 6, 0);
  set("h.0.mlp.c_fc.weight", 4, 2);
  set("h.0.mlp.c_proj.weight", 7, 4);
  set("lm_head.weight", 5, 6);
  set("lm_head.weight", 5, 7);
  return gpt;
}

std::unique_ptr<Gpt> changed_model(const std::string& changes, const GptConfig& config) {
  auto gpt = random_gpt(config);
  gpt->attach(
      std::make_shared<Interventions>(*gpt, parse_changes(changes), Interventions::Options{}));
  return gpt;
}

TEST_CASE("attribution finds a planted source token and a planted neuron") {
  const auto gpt = hand_set_model();
  const AttributionTask task{.text = {0, 1, 3, 4, 2}, .target = 5};
  const AttributionResult sources = attribute_logit(*gpt, task, AttributionBy::source);
  REQUIRE(sources.parts.size() == 1 + 5 + 1 + 1 + 1);  // with biases of attention and norm
  for (const LogitPart& part : sources.parts) {
    INFO(part.name);
    const bool counts = part.name == "0.0 @2" || part.name == "0.mlp";
    CHECK((part.logit > 1e-3) == counts);
    CHECK((part.logit == 0) == !counts);
  }
  const AttributionResult neurons = attribute_logit(*gpt, task, AttributionBy::neuron);
  const LogitPart& strongest = *std::ranges::max_element(
      neurons.parts, {}, [](const LogitPart& part) { return std::abs(part.logit); });
  CHECK(strongest.name == "neuron.0.4");
  CHECK(strongest.neuron == 4);
  CHECK(strongest.kind == LogitPartKind::neuron);
  CHECK(strongest.logit == Approx(part_of(sources, "0.mlp").logit));
  CHECK(part_of(neurons, "0.attn").logit == Approx(part_of(sources, "0.0 @2").logit));
}

TEST_CASE("parts that are split further sum to the original part") {
  const auto gpt = random_gpt(three_layers());
  const AttributionResult heads = attribute_logit(*gpt, kTask);
  const AttributionResult layers = attribute_logit(*gpt, kTask, AttributionBy::layer);
  const AttributionResult sources = attribute_logit(*gpt, kTask, AttributionBy::source);
  const AttributionResult neurons = attribute_logit(*gpt, kTask, AttributionBy::neuron);
  std::map<std::string, double> sums;
  for (const LogitPart& part : sources.parts) {
    if (part.source) {
      CHECK(part.name == head_name(*part.head) + " @" + std::to_string(*part.source));
      sums[head_name(*part.head)] += part.logit;
    }
  }
  for (const LogitPart& part : neurons.parts) {
    if (part.kind == LogitPartKind::neuron || part.kind == LogitPartKind::mlp_bias) {
      sums[concat_text(part.layer, ".mlp")] += part.logit;
    }
  }
  for (const LogitPart& part : heads.parts) {
    if (part.kind == LogitPartKind::head || part.kind == LogitPartKind::mlp) {
      CHECK(sums.at(part.name) == Approx(part.logit).margin(1e-10));
    }
    if (part.kind == LogitPartKind::head || part.kind == LogitPartKind::attention_bias) {
      sums[concat_text(part.layer, ".attn")] += part.logit;
    }
  }
  for (const LogitPart& part : layers.parts) {
    if (part.kind == LogitPartKind::attention) {
      CHECK(sums.at(part.name) == Approx(part.logit).margin(1e-10));
    }
  }
}

TEST_CASE("the residual stream equals the sum of the layers so far") {
  for (const bool parallel : {false, true}) {
    GptConfig config = three_layers();
    config.parallel_residual = parallel;
    const auto gpt = random_gpt(config);
    const AttributionResult layers = attribute_logit(*gpt, kTask, AttributionBy::layer);
    const AttributionResult stream = attribute_logit(*gpt, kTask, AttributionBy::stream);
    REQUIRE(stream.parts.size() == 1 + 2 * 3);
    double sum = layers.parts.back().logit;  // shift of the last norm
    for (std::size_t i = 0; i < stream.parts.size(); ++i) {
      sum += layers.parts[i].logit;
      CHECK(stream.parts[i].name == layers.parts[i].name);
      CHECK(stream.parts[i].logit == Approx(sum).margin(1e-10));
    }
    CHECK(stream.logit == Approx(difference_of(*gpt, kTask)));
  }
}

TEST_CASE("parts of a float32 model sum to its logit") {
  const auto gpt = random_gpt(three_layers(), DType::float32);
  for (const AttributionBy by :
       {AttributionBy::head, AttributionBy::source, AttributionBy::neuron}) {
    const double logit = attribute_logit(*gpt, kTask, by).logit;
    CHECK(logit == Approx(difference_of(*gpt, kTask)).epsilon(1e-5).margin(1e-5));
  }
}

TEST_CASE("an intervention that changes the residual stream is a part of its own") {
  for (const char* change : {"off 0.1", "off mlp.1", "scale resid_post.0 0.5",
                             "scale pattern.1 0.5", "scale ln_final 2", "off resid_mid.2"}) {
    INFO(change);
    const auto gpt = changed_model(change, three_layers());
    const double own = difference_of(*gpt, kTask);
    for (const Choice<AttributionBy>& by : kChoices<AttributionBy>) {
      const AttributionResult result = attribute_logit(*gpt, kTask, by.value);
      CHECK(result.logit == Approx(own).margin(1e-9));
      const bool is_stream = by.value == AttributionBy::stream;
      CHECK((is_stream ? result.parts.back().logit : total_logit(result.parts)) ==
            Approx(own).margin(1e-9));
    }
  }
}

TEST_CASE("a head whose output is replaced has no source tokens") {
  const auto gpt = changed_model("scale 0.1 0.5", three_layers());
  const AttributionResult result = attribute_logit(*gpt, kTask, AttributionBy::source);
  const double whole = part_of(attribute_logit(*gpt, kTask), "0.1").logit;
  CHECK(std::abs(whole) > 1e-4);
  CHECK(part_of(result, "0.1 @2").logit == 0);
  CHECK(part_of(result, "0.1.intervention").logit == Approx(whole));
  CHECK(part_of(result, "0.0 @2").logit != 0);
  CHECK(part_of(result, "0.0.intervention").logit == 0);
}

TEST_CASE("means over prompts equal the averages of single prompts") {
  const auto gpt = random_gpt(three_layers());
  const std::vector<AttributionTask> tasks{
      kTask, {.text = {7, 1, 2}, .target = 3, .against = 8}, {.text = {5, 5}, .target = 2}};
  for (const AttributionBy by :
       {AttributionBy::layer, AttributionBy::head, AttributionBy::neuron, AttributionBy::stream}) {
    double share = 0;
    const AttributionStudy study =
        attribute_prompts(*gpt, tasks, {.by = by, .progress = [&](double done) { share = done; }});
    CHECK(share == 1);
    REQUIRE(study.logits.size() == 3);
    Index clear = 0;
    double total = 0;
    std::vector<double> sums(study.parts.size());
    for (std::size_t p = 0; p < tasks.size(); ++p) {
      const AttributionResult one = attribute_logit(*gpt, tasks[p], by);
      clear += one.is_clear() ? 1 : 0;
      total += one.logit;
      CHECK(study.prompts[p].logit == one.logit);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += one.parts[i].logit;
        CHECK(study.logits[p][i] == one.parts[i].logit);
        CHECK(study.parts[i].part.name == one.parts[i].name);
      }
    }
    CHECK(study.clear == clear);
    CHECK(study.logit.mean == Approx(total / 3));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      CHECK(study.parts[i].part.logit == Approx(sums[i] / 3).margin(1e-12));
      CHECK(study.parts[i].logit.low <= study.parts[i].part.logit);
      CHECK(study.parts[i].logit.high >= study.parts[i].part.logit);
    }
    CHECK(study.sources.empty());
  }
}

TEST_CASE("source tokens are summed over heads for prompts of one length") {
  const auto gpt = random_gpt(three_layers());
  const AttributionTask other{.text = {5, 4, 3, 2, 1}, .target = 4, .against = 6};
  const AttributionStudy study =
      attribute_prompts(*gpt, {kTask, other}, {.by = AttributionBy::source});
  REQUIRE(study.sources.size() == 5);
  const double sum = sum_of<double>(study.parts, [&](const MeanLogitPart& mean) {
    return mean.part.source == 3 ? mean.part.logit : 0;
  });
  CHECK(study.sources[3].mean == Approx(sum));
  const AttributionTask shorter{.text = {5, 4}, .target = 4};
  check_error(
      [&] {
        attribute_prompts(*gpt, {kTask, shorter}, {.by = AttributionBy::source});
      },
      {"pairs", "5 tokens in prompt 1 and 2 in prompt 2"});
  const AttributionTask there{.text = kText, .target = 4, .position = 1};
  CHECK(attribute_prompts(*gpt, {there, shorter}, {.by = AttributionBy::source}).sources.size() ==
        2);
}

TEST_CASE("source tokens of texts of different lengths are summed by groups") {
  const auto gpt = random_gpt(three_layers());
  const AttributionTask first{.text = {5, 4, 3, 2, 1},
                              .target = 4,
                              .against = 6,
                              .groups = {{"thing", {1, 2}}, {"end", {4}}}};
  const AttributionTask second{
      .text = {5, 4, 9}, .target = 4, .groups = {{"end", {2}}, {"thing", {0}}}};
  const AttributionStudy study =
      attribute_prompts(*gpt, {first, second}, {.by = AttributionBy::source});
  CHECK(study.groups == std::vector<std::string>{"thing", "end", "(others)"});
  REQUIRE(study.sources.size() == 3);
  // Tokens of each group, by text.
  const std::vector<std::vector<std::vector<Index>>> tokens{{{1, 2}, {4}, {0, 3}}, {{0}, {2}, {1}}};
  double whole = 0;
  for (std::size_t group = 0; group < 3; ++group) {
    double sum = 0;
    for (std::size_t text = 0; text < 2; ++text) {
      const AttributionResult one =
          attribute_logit(*gpt, text == 0 ? first : second, AttributionBy::source);
      whole += group == 0 ? one.logit : 0;
      for (const LogitPart& part : one.parts) {
        const auto& members = tokens[text][group];
        const bool is_member =
            part.source && std::find(members.begin(), members.end(), *part.source) != members.end();
        sum += is_member ? part.logit : 0;
      }
    }
    CHECK(study.sources[group].mean == Approx(sum / 2));
  }
  const double parts =
      sum_of<double>(study.parts, [&](const MeanLogitPart& mean) { return mean.part.logit; });
  CHECK(parts == Approx(whole / 2));
  CHECK(study.logit.mean == Approx(whole / 2));

  const auto refused = [&](const std::vector<TokenGroup>& groups) {
    AttributionTask other = second;
    other.groups = groups;
    return error_of([&] {
      attribute_prompts(*gpt, {first, other}, {.by = AttributionBy::source});
    });
  };
  CHECK(mentions(refused({}), {"prompt 2", "groups of pair 1, thing, end, got none"}));
  CHECK(mentions(refused({{"thing", {0, 2}}, {"end", {2}}}), {"token 2 in 'thing' and 'end'"}));
  CHECK(mentions(refused({{"thing", {0}}, {"end", {3}}}), {"'end' from 0 to 2, got 3"}));
}

TEST_CASE(
    "attribution over prompts names an invalid prompt and rates the reliability of its means") {
  const auto gpt = random_gpt(three_layers());
  check_error([&] { attribute_prompts(*gpt, {}); }, {"pairs", "at least one"});
  check_error(
      [&] {
        attribute_prompts(*gpt, {kTask, {.text = kText, .target = 11}});
      },
      {"prompt 2", "0 to 10"});
  check_error(
      [&] {
        attribute_prompts(*gpt, {kTask, {.text = Ids(9, 1)}});
      },
      {"prompt 2", "context length of 8"});
  GptConfig config = three_layers();
  config.mlp = false;
  check_error([&] { attribute_logit(*random_gpt(config), kTask, AttributionBy::neuron); },
              {"by", "no MLP"});
  AttributionStudy study;
  study.prompts.resize(12);
  study.clear = 5;
  CHECK(mentions(attribution_caution(study), {"clearly in 5 of 12 prompts"}));
  study.clear = 6;
  CHECK(attribution_caution(study).empty());
  study.prompts.resize(4);
  CHECK(mentions(attribution_caution(study), {"intervals over 4"}));
}
}  // namespace attribution_test
