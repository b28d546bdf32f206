#include "headlight/interpret/scores/head_scores.h"
#include "interpret/head_experiments_support.h"
#include "interpret/planted_models.h"
#include "support/test.h"

double plogp(double p) { return p > 0 ? p * std::log2(p) : 0; }

// The definition with logarithms of ratios instead of entropies.
double js_distance(const std::vector<double>& p, const std::vector<double>& q) {
  double divergence = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double m = (p[i] + q[i]) / 2;
    divergence += m > 0 ? (plogp(p[i]) - p[i] * std::log2(m)) / 2 : 0;
    divergence += m > 0 ? (plogp(q[i]) - q[i] * std::log2(m)) / 2 : 0;
  }
  return std::sqrt(std::max(divergence, 0.0));
}

TEST_CASE("the distance of two heads is the mean Jensen-Shannon distance of their rows") {
  const auto model = random_gpt(three_layers());
  const Ids tokens{3, 5, 3, 1};
  const HeadDistances distances = head_distances(*model, {tokens});
  Recorder recorder({1});
  const NoGrad no_grad;
  model->hidden(make_batch({tokens}), {.recorder = &recorder});
  const std::vector<double> maps = recorder.sequences(1)[0].to_vector();  // [3, 4, 4]
  double expected = 0;
  for (std::ptrdiff_t query = 1; query < 4; ++query) {
    const auto row = [&](std::ptrdiff_t head) {
      const auto begin = maps.begin() + head * 16 + query * 4;
      return std::vector<double>(begin, begin + 4);
    };
    expected += js_distance(row(0), row(2)) / 3;
  }
  CHECK(distances.queries == 3);
  CHECK(distances.between(3, 5) == Approx(expected).margin(1e-4));
  CHECK(distances.between(5, 3) == distances.between(3, 5));
  CHECK(distances.between(4, 4) == 0);
}

TEST_CASE("heads with equal attention form a cluster and others do not") {
  const PlantedModel planted;
  Gpt twin(planted.model().config());
  copy_parameters(planted.model(), twin);
  // Head 0.3 becomes a second previous-token head, with the queries and keys of 0.0.
  Tensor weight = parameter_of(twin, "h.0.attn.c_attn.weight");
  const Index width = PlantedModel::kHeadWidth * PlantedModel::kWidth;
  for (const Index part : {0, 1}) {
    for (Index i = 0; i < width; ++i) {
      weight.data<float>()[(part * 4 + 3) * width + i] = weight.data<float>()[part * 4 * width + i];
    }
  }
  const auto documents = random_documents(4, 40, PlantedModel::kVocabulary);
  const HeadDistances distances = head_distances(twin, documents, {.documents = 3});
  REQUIRE(distances.clusters.size() == 1);
  CHECK(distances.clusters[0] == HeadSet{{0, 0}, {0, 3}});
  CHECK(distances.between(0, 3) == Approx(0).margin(1e-3));
  CHECK(distances.between(0, 1) > 0.9);
  CHECK(distances.queries == 3 * 39);
  CHECK(head_distances(planted.model(), documents).clusters.empty());
  // The passes of score_heads() are of whole documents.
  const RedundancyOptions begins{.documents = 3, .max_tokens = 20};
  const auto scored = score_heads(twin, documents, {.redundancy = begins}).distances;
  CHECK(scored->distance == head_distances(twin, documents, begins).distance);
}

TEST_CASE("average linkage joins by the mean distance between clusters") {
  // 0 and 1 are near; 2 is 0.3 from 0 but 0.5 from 1, so 0.4 from both; 3 is far from all.
  const std::vector<double> distance{0,   0.1, 0.3, 0.9,  //
                                     0.1, 0,   0.5, 0.9,  //
                                     0.3, 0.5, 0,   0.9,  //
                                     0.9, 0.9, 0.9, 0};
  using Clusters = std::vector<std::vector<std::size_t>>;
  CHECK(average_linkage(distance, 4, 0.35) == Clusters{{0, 1}});
  CHECK(average_linkage(distance, 4, 0.45) == Clusters{{0, 1, 2}});
  CHECK(average_linkage(distance, 4, 0.05).empty());
  CHECK(average_linkage(distance, 4, 1) == Clusters{{0, 1, 2, 3}});
  const std::vector<double> pairs{0, 1, 1, .1, 1, 0, .2, 1, 1, .2, 0, 1, .1, 1, 1, 0};
  CHECK(average_linkage(pairs, 4, 0.5) == Clusters{{0, 3}, {1, 2}});
}

TEST_CASE("distances without queries to compare are refused") {
  const auto model = random_gpt(three_layers());
  check_error([&] { head_distances(*model, {{1}}); }, {"at least 2 tokens"});
  check_error([&] { head_distances(*model, {{1, 2}}, {.documents = 0}); }, {"at least 1 document"});
  check_error([&] { average_linkage({1, 2}, 2, 1); }, {"[n, n]"});
}
