#include "headlight/interpret/circuit/circuit.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "interpret/head_experiments_support.h"
#include "interpret/planted_models.h"
#include "support/test.h"

// Two-layer circuits with weights set by hand, next to heads and neurons that write noise:
// induction (Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021), an MLP as a
// memory of facts (Geva et al., arXiv 2012.14913), and copy suppression (McDougall et al., arXiv
// 2310.04625).

constexpr Index kTokens = 8;
constexpr Index kWidth = 32;
// The residual stream has one number for each token or position in four blocks: current token,
// previous token, position, next token.
constexpr Index kHere = 0;
constexpr Index kBefore = 8;
constexpr Index kPlace = 16;
constexpr Index kNext = 24;

// A neuron that fires if all `keys` are in the stream, and then writes `values`.
struct Fact {
  std::vector<Index> keys;
  std::vector<std::pair<Index, double>> values;
};

// Stores fact n in neuron n of a layer; the other neurons write noise.
void memorize(const Gpt& gpt, Index layer, const std::vector<Fact>& facts) {
  constexpr Index kNeurons = 4 * kWidth;
  constexpr double kSharp = 4;
  constexpr double kPresent = 3;  // approximate value of a present number after the norm
  SparseRows in(kNeurons, kWidth, 0.01);
  SparseRows out(kWidth, kNeurons, 0.01);
  std::vector<double> bias(kNeurons, 0.0);
  for (Index n = 0; n < std::ssize(facts); ++n) {
    const Fact& fact = facts[static_cast<std::size_t>(n)];
    for (Index c = 0; c < kWidth; ++c) {
      in.set(n, c, 0);
      out.set(c, n, 0);
    }
    for (const Index key : fact.keys) {
      in.set(n, key, kSharp);
    }
    bias[static_cast<std::size_t>(n)] =
        -kSharp * kPresent * (static_cast<double>(fact.keys.size()) - 0.5);
    for (const auto& [place, value] : fact.values) {
      out.set(place, n, value);
    }
  }
  const std::string name = concat_text("h.", layer, ".mlp.");
  set_parameter(gpt, name + "c_fc.weight", in.values());
  set_parameter(gpt, name + "c_fc.bias", bias);
  set_parameter(gpt, name + "c_proj.weight", out.values());
}

std::unique_ptr<Gpt> two_layers(bool mlp) {
  GptConfig config{.vocab_size = kTokens, .block_size = kTokens, .n_layer = 2, .n_head = 2};
  config.n_embd = kWidth;
  config.head_width = 8;
  config.mlp = mlp;
  config.tie_weights = false;
  return std::make_unique<Gpt>(config, 1, DType::float64);
}

// A model without planted heads.
std::unique_ptr<Gpt> embedded_model(bool mlp) {
  auto gpt = two_layers(mlp);
  embed_in_parts(*gpt, kHere, kPlace, kNext, 0.001);
  return gpt;
}
// A head without a planted pattern.
void wire_noise(const Gpt& gpt, Index layer) { wire_head(gpt, layer, {.sharpness = 0, .gain = 0}); }

const HeadWiring kLookBack{.query = kPlace,
                           .query_shift = 1,
                           .key = kPlace,
                           .value = kHere,
                           .output = kBefore,
                           .sharpness = 2,
                           .gain = 0.25};

std::unique_ptr<Gpt> induction_model() {
  auto gpt = embedded_model(false);
  wire_head(*gpt, 0, kLookBack);
  wire_head(
      *gpt, 1,
      {.query = kHere, .key = kBefore, .value = kHere, .output = kNext, .sharpness = 4, .gain = 1});
  return gpt;
}

// "3 1" is followed by 2, and "4 1" by 5. Head 0.0 copies the previous token to the 1; neurons of
// the second layer map it to the answer.
std::unique_ptr<Gpt> memory_model() {
  auto gpt = embedded_model(true);
  wire_head(*gpt, 0, kLookBack);
  memorize(*gpt, 0, {});
  wire_noise(*gpt, 1);
  memorize(*gpt, 1,
           {{{kBefore + 3, kHere + 1}, {{kNext + 2, 0.3}}},
            {{kBefore + 4, kHere + 1}, {{kNext + 5, 0.3}}}});
  return gpt;
}

// Neurons of the first layer predict 2 after a 1 and 4 after a 6, and the other token with half the
// strength. Head 1.0 looks for the predicted token in the earlier text and lowers its logit.
std::unique_ptr<Gpt> suppression_model() {
  auto gpt = embedded_model(true);
  wire_noise(*gpt, 0);
  memorize(*gpt, 0,
           {{{kHere + 1}, {{kNext + 2, 0.4}, {kNext + 4, 0.2}}},
            {{kHere + 6}, {{kNext + 4, 0.4}, {kNext + 2, 0.2}}}});
  wire_head(*gpt, 1,
            {.query = kNext,
             .key = kHere,
             .value = kHere,
             .output = kNext,
             .sharpness = 2,
             .gain = -0.1});
  memorize(*gpt, 1, {});
  return gpt;
}

// Token 1 was followed by 2 (clean) or by 4 (corrupt).
const PatchingTask kInduction{{5, 1, 2, 3, 4, 1}, {5, 3, 2, 1, 4, 1}, {2}, {4}};
// The facts of memory_model() about "3 1" and "4 1".
const PatchingTask kRecall{{5, 6, 7, 6, 3, 1}, {5, 6, 7, 6, 4, 1}, {2}, {5}};
// The last token is 1 or 6; both predicted tokens, 2 and 4, occur earlier.
const PatchingTask kSaidBefore{{5, 2, 7, 4, 3, 1}, {5, 2, 7, 4, 3, 6}, {2}, {4}};

// Smallest planted score divided by the largest other score; above 1 if planted scores lead.
double margin_of(const std::vector<std::pair<std::string, double>>& scores,
                 const std::set<std::string>& planted) {
  double weakest = std::numeric_limits<double>::infinity();
  double strongest = 0;
  for (const auto& [name, score] : scores) {
    if (planted.count(name) > 0) {
      weakest = std::min(weakest, std::abs(score));
    } else {
      strongest = std::max(strongest, std::abs(score));
    }
  }
  return weakest / strongest;
}

double edges_margin(const Gpt& gpt, const PatchingTask& task,
                    const std::set<std::string>& planted) {
  std::vector<std::pair<std::string, double>> scores;
  for (const CircuitEdge& edge : find_circuit(gpt, {task}, {.steps = 20, .edges = 1}).edges) {
    scores.emplace_back(edge_name(edge), edge.score);
  }
  return margin_of(scores, planted);
}

// Margin over the cells of a point: "1.0" is item 0 of layer 1, "1" the whole layer.
double cells_margin(const Gpt& gpt, const PatchingTask& task, Point point, bool by_item,
                    const std::set<std::string>& planted) {
  std::vector<std::pair<std::string, double>> scores;
  for (const PatchCell& cell : patch_grid(gpt, task, {.point = point, .by_item = by_item}).cells) {
    scores.emplace_back(
        cell.item ? concat_text(cell.layer, ".", *cell.item) : std::to_string(cell.layer),
        cell.recovered);
  }
  return margin_of(scores, planted);
}

// Margin of planted edges over others, each patched alone. Leaves out edges from the embedding.
double paths_margin(const Gpt& gpt, const PatchingTask& task,
                    const std::set<std::string>& planted) {
  std::vector<std::pair<std::string, double>> scores;
  for (const CircuitEdge& edge : find_circuit(gpt, {task}, {.steps = 1, .edges = 1}).edges) {
    if (edge.from.part != CircuitPart::embed) {
      scores.emplace_back(edge_name(edge), recovered_by_edge(gpt, task, edge));
    }
  }
  return margin_of(scores, planted);
}

TEST_CASE("the planted circuit solves its task") {
  const auto gpt = induction_model();
  const PatchGrid result = patch_grid(*gpt, kInduction, {});
  CHECK(task_strength(result.clean_difference, result.corrupt_difference) == TaskStrength::clear);
  CHECK(result.clean_next.id == 2);
  CHECK(result.corrupt_next.id == 4);
}

TEST_CASE("patching finds the planted heads, and no others") {
  const auto gpt = induction_model();
  const PatchGrid grid = patch_grid(*gpt, kInduction, {.attribution = true});
  REQUIRE(grid.cells.size() == 4);
  CHECK(grid.cells[0].recovered > 0.95);  // 0.0
  CHECK(grid.cells[2].recovered > 0.95);  // 1.0
  CHECK(std::abs(grid.cells[1].recovered) < 0.02);
  CHECK(std::abs(grid.cells[3].recovered) < 0.02);
  CHECK(patch_path(*gpt, kInduction, head_path({0, 0}, {1, 0}, Point::k)).recovered > 0.95);
  CHECK(std::abs(patch_path(*gpt, kInduction, head_path({0, 0}, {1, 0}, Point::q)).recovered) <
        0.02);
  CHECK(std::abs(patch_path(*gpt, kInduction, head_path({0, 1}, {1, 0}, Point::k)).recovered) <
        0.02);
}

TEST_CASE("the planted edges rank first in a circuit") {
  const auto gpt = induction_model();
  const CircuitResult result = find_circuit(*gpt, {kInduction}, {.steps = 20, .edges = 3});
  std::set<std::string> first;
  for (std::size_t i = 0; i < 3; ++i) {
    first.insert(edge_name(result.edges[i]));
    CHECK(result.edges[i].is_kept);
  }
  CHECK(first == std::set<std::string>{"embed>0.0.v", "0.0>1.0.k", "1.0>logits"});
  CHECK(result.faithfulness > 0.95);
}

TEST_CASE("the neurons that store a planted fact and the head that feeds them rank first") {
  const auto gpt = memory_model();
  const PatchGrid result = patch_grid(*gpt, kRecall, {});
  CHECK(task_strength(result.clean_difference, result.corrupt_difference) == TaskStrength::clear);
  CHECK(result.clean_next.id == 2);
  CHECK(result.corrupt_next.id == 5);
  CHECK(cells_margin(*gpt, kRecall, Point::z, true, {"0.0"}) > 10);
  CHECK(cells_margin(*gpt, kRecall, Point::mlp_out, false, {"1"}) > 10);
  CHECK(cells_margin(*gpt, kRecall, Point::mlp_post, true, {"1.0", "1.1"}) > 10);
  CHECK(paths_margin(*gpt, kRecall, {"0.0>mlp.1", "mlp.1>logits"}) > 10);
  CHECK(edges_margin(*gpt, kRecall, {"embed>0.0.v", "0.0>mlp.1", "mlp.1>logits"}) > 10);
}

TEST_CASE("a head that suppresses earlier tokens ranks first") {
  const auto gpt = suppression_model();
  const PatchGrid result = patch_grid(*gpt, kSaidBefore, {});
  CHECK(task_strength(result.clean_difference, result.corrupt_difference) == TaskStrength::clear);
  REQUIRE(result.cells.size() == 4);
  CHECK(result.cells[2].recovered < -0.2);  // 1.0 works against the answer
  CHECK(cells_margin(*gpt, kSaidBefore, Point::z, true, {"1.0"}) > 10);
  const std::set<std::string> planted{"mlp.0>1.0.q", "1.0>logits", "mlp.0>logits"};
  CHECK(paths_margin(*gpt, kSaidBefore, planted) > 10);
  std::set<std::string> edges = planted;
  edges.insert("embed>mlp.0");
  CHECK(edges_margin(*gpt, kSaidBefore, edges) > 10);
  const CircuitResult circuit = find_circuit(*gpt, {kSaidBefore}, {.steps = 20, .edges = 4});
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_against = edge_name(circuit.edges[i]).find("1.0") != std::string::npos;
    CHECK((circuit.edges[i].score < 0) == is_against);
  }
}

// In the tests above, planted scores are 10 times the largest other score.
TEST_CASE("in random models of these shapes other parts rank first", "[long]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    INFO(seed);
    const auto attention = two_layers(false);
    const auto whole = two_layers(true);
    randomize(*attention, seed);
    randomize(*whole, seed);
    CHECK(edges_margin(*attention, kInduction, {"embed>0.0.v", "0.0>1.0.k", "1.0>logits"}) < 0.5);
    CHECK(edges_margin(*whole, kRecall, {"embed>0.0.v", "0.0>mlp.1", "mlp.1>logits"}) < 0.5);
    CHECK(cells_margin(*whole, kRecall, Point::mlp_post, true, {"1.0", "1.1"}) < 0.5);
    CHECK(paths_margin(*whole, kRecall, {"0.0>mlp.1", "mlp.1>logits"}) < 0.5);
    CHECK(edges_margin(*whole, kSaidBefore,
                       {"embed>mlp.0", "mlp.0>1.0.q", "1.0>logits", "mlp.0>logits"}) < 0.5);
    CHECK(paths_margin(*whole, kSaidBefore, {"mlp.0>1.0.q", "1.0>logits", "mlp.0>logits"}) < 0.5);
  }
}
