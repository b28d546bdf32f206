#include "headlight/interpret/circuit/circuit.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/head_set.h"
#include "interpret/circuit/circuit_texts.h"
#include "interpret/circuit/edge_cut.h"
#include "interpret/head_experiments_support.h"
#include "interpret/point_values.h"
#include "support/test.h"

namespace circuit_test {
const PatchingTask kTask = kTwoChanges;

double difference_with(const Gpt& gpt, const Ids& text, ForwardHook* hook) {
  const NoGrad no_grad;
  const std::vector<double> logits =
      gpt.next_logits(make_batch({text}), {.hook = hook}).to_vector();
  return logits[3] - logits[8];
}

// Keeps all edges, or none.
KeptEdges kept_edges(const CircuitGraph& graph, bool is_kept) {
  KeptEdges kept;
  for (const CircuitGraph::Receiver& receiver : graph.receivers()) {
    kept.emplace_back(static_cast<std::size_t>(receiver.senders), is_kept);
  }
  return kept;
}

// Keeps the edges that a result keeps.
KeptEdges kept_edges(const CircuitGraph& graph, const CircuitResult& result) {
  KeptEdges kept = kept_edges(graph, false);
  for (const CircuitEdge& edge : result.edges) {
    const auto sender = std::find(graph.senders().begin(), graph.senders().end(), edge.from);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const CircuitGraph::Receiver& to = graph.receivers()[i];
      if (to.node == edge.to && to.into == edge.into) {
        kept[i][static_cast<std::size_t>(sender - graph.senders().begin())] = edge.is_kept;
      }
    }
  }
  return kept;
}

// Models of all kinds whose layers have all heads, and two more orders of a layer.
std::vector<GptConfig> kinds() {
  std::vector<GptConfig> configs = configs_of_all_kinds();
  std::erase_if(configs, [](const GptConfig& config) { return !config.heads_per_layer.empty(); });
  configs.push_back(configs[1]);
  configs.back().mlp = false;
  configs.push_back(configs[5]);
  configs.back().output_norms = true;
  return configs;
}

TEST_CASE(
    "a circuit of all edges gives the clean logits and one of no edges those of the corrupt text") {
  for (const GptConfig& config : kinds()) {
    const auto gpt = random_gpt(config);
    const CircuitGraph graph(*gpt);
    const SenderRows other = sender_rows(*gpt, graph, make_batch({kTask.corrupt}));
    const auto all = kept_edges(graph, true);
    const auto none = kept_edges(graph, false);
    EdgeCut whole(*gpt, graph, {&all, 1}, other);
    EdgeCut nothing(*gpt, graph, {&none, 1}, other);
    CHECK(difference_with(*gpt, kTask.clean, &whole) ==
          Approx(difference_with(*gpt, kTask.clean, nullptr)));
    CHECK(difference_with(*gpt, kTask.clean, &nothing) ==
          Approx(difference_with(*gpt, kTask.corrupt, nullptr)));
  }
}

TEST_CASE("a circuit of answers of several tokens is measured at every answer token") {
  const PatchingTask& task = kLongAnswers;
  const auto gpt = random_gpt(kinds()[4]);
  const CircuitResult result = find_circuit(*gpt, {task}, {.edges = 40});
  const auto difference = [&](const Ids& text) {
    return log_probability(*gpt, text, task.answer) - log_probability(*gpt, text, task.wrong);
  };
  CHECK(result.clean_difference == Approx(difference(task.clean)));
  CHECK(result.corrupt_difference == Approx(difference(task.corrupt)));
  CHECK(result.curve.back().faithfulness == Approx(1));
}

TEST_CASE("pairs and sets that are read together give the numbers of each alone") {
  const std::vector<PatchingTask> tasks{kTask, kLongAnswers};
  for (const GptConfig& config : kinds()) {
    const auto gpt = random_gpt(config);
    const CircuitGraph graph(*gpt);
    const CircuitResult result = find_circuit(*gpt, tasks, {.edges = 40});
    const KeptEdges kept = kept_edges(graph, result);
    const std::vector<KeptEdges> sets{kept_edges(graph, true), kept, kept_edges(graph, false)};
    double kept_part = 0;
    std::map<std::string, double> scores;
    for (const PatchingTask& task : tasks) {
      for (const CircuitEdge& edge : find_circuit(*gpt, {task}, {.edges = 40}).edges) {
        scores[edge_name(edge)] += edge.score / 2;
      }
      const AnswerContrast contrast(*gpt, task);
      const SenderRows other = sender_rows(*gpt, graph, contrast.batch(task.corrupt));
      EdgeCut hook(*gpt, graph, {&kept, 1}, other);
      kept_part += contrast.difference(*gpt, task.clean, &hook) / 2;
    }
    const double whole = result.clean_difference - result.corrupt_difference;
    CHECK(result.faithfulness ==
          Approx((kept_part - result.corrupt_difference) / whole).margin(1e-9));
    for (const CircuitEdge& edge : result.edges) {
      CHECK(edge.score == Approx(scores.at(edge_name(edge))).margin(1e-9));
    }
    const NoGrad no_grad;
    const SenderRows other = sender_rows(*gpt, graph, make_batch({kTask.corrupt}));
    EdgeCut together(*gpt, graph, sets, other);
    const Batch copies = make_batch({kTask.clean, kTask.clean, kTask.clean});
    const std::vector<double> logits = gpt->next_logits(copies, {.hook = &together}).to_vector();
    for (std::size_t i = 0; i < sets.size(); ++i) {
      EdgeCut alone(*gpt, graph, {&sets[i], 1}, other);
      const std::size_t row = i * static_cast<std::size_t>(gpt->vocab_size());
      CHECK(logits[row + 3] - logits[row + 8] ==
            Approx(difference_with(*gpt, kTask.clean, &alone)).margin(1e-9));
    }
  }
}

TEST_CASE("between nearly equal texts the score of an edge equals the effect of cutting it") {
  for (const GptConfig& config : kinds()) {
    const auto gpt = random_gpt(config);
    // Embeddings of tokens 7 and 9 nearly equal the embeddings of 2 and 4.
    Tensor embedding = parameter_of(*gpt, "wte.weight").detach();
    const Index width = embedding.size(1);
    for (const auto& [near, from] : {std::pair<Index, Index>{7, 2}, {9, 4}}) {
      for (Index c = 0; c < width; ++c) {
        const double value = embedding.data<double>()[from * width + c];
        embedding.data<double>()[near * width + c] =
            value + 1e-5 * std::sin(static_cast<double>(near + 3 * c));
      }
    }
    const CircuitGraph graph(*gpt);
    const SenderRows other = sender_rows(*gpt, graph, make_batch({kTask.corrupt}));
    const double clean = difference_with(*gpt, kTask.clean, nullptr);
    const double corrupt = difference_with(*gpt, kTask.corrupt, nullptr);
    const CircuitResult result = find_circuit(*gpt, {kTask}, {.steps = 1});
    const double largest = std::abs(result.edges.front().score);
    std::size_t edges = 0;
    for (std::size_t r = 0; r < graph.receivers().size(); ++r) {
      const CircuitGraph::Receiver& receiver = graph.receivers()[r];
      for (Index sender = 0; sender < receiver.senders; ++sender) {
        auto kept = kept_edges(graph, true);
        kept[r][static_cast<std::size_t>(sender)] = false;
        EdgeCut cut(*gpt, graph, {&kept, 1}, other);
        const double cost = (clean - difference_with(*gpt, kTask.clean, &cut)) / (clean - corrupt);
        const auto found =
            std::find_if(result.edges.begin(), result.edges.end(), [&](const CircuitEdge& edge) {
              return edge.to == receiver.node && edge.into == receiver.into &&
                     edge.from == graph.senders()[static_cast<std::size_t>(sender)];
            });
        REQUIRE(found != result.edges.end());
        INFO(edge_name(*found));
        CHECK(found->score == Approx(cost).margin(2e-3 * largest));
        ++edges;
      }
    }
    CHECK(edges == result.edges.size());
  }
}

TEST_CASE("a planted circuit is found without other edges") {
  GptConfig config = three_layers();
  config.mlp = false;
  const auto gpt = random_gpt(config);
  for (const HeadId& id : HeadSet::all(gpt->heads())) {
    if (id != HeadId{0, 1} && id != HeadId{2, 0}) {
      silence(*gpt, id.layer, id.head);
    }
  }
  const CircuitResult result = find_circuit(*gpt, {kTask}, {.faithfulness = 0.999});
  CHECK(result.faithfulness >= 0.999);
  CHECK(result.curve.back().faithfulness == Approx(1));
  const std::set<std::string> planted{"embed>0.1.q", "embed>0.1.k",  "embed>0.1.v", "0.1>2.0.q",
                                      "0.1>2.0.k",   "0.1>2.0.v",    "embed>2.0.q", "embed>2.0.k",
                                      "embed>2.0.v", "embed>logits", "0.1>logits",  "2.0>logits"};
  Index kept = 0;
  for (const CircuitEdge& edge : result.edges) {
    INFO(edge_name(edge));
    if (planted.count(edge_name(edge)) == 0) {
      CHECK(edge.score == 0);
      CHECK(!edge.is_kept);
    }
    kept += edge.is_kept ? 1 : 0;
  }
  CHECK(kept == result.kept);
  CHECK(result.kept >= 3);
}

TEST_CASE("a circuit keeps no dead-end edges and stays within its budget of edges") {
  const auto gpt = random_gpt(three_layers());
  const CircuitResult result =
      find_circuit(*gpt, {kTask, {{2, 2, 3}, {2, 7, 3}, {5}, {9}}}, {.edges = 30});
  CHECK(result.kept <= 30);
  CHECK(result.edges.size() == 9 * (1 + 5 + 9) + (4 + 8 + 12) + 13);
  std::set<std::string> writers;
  std::set<std::string> readers;
  for (const CircuitEdge& edge : result.edges) {
    if (edge.is_kept) {
      writers.insert(node_name(edge.from));
      readers.insert(node_name(edge.to));
    }
  }
  for (const std::string& writer : writers) {
    CHECK((writer == "embed" || readers.count(writer) == 1));
  }
  for (const std::string& reader : readers) {
    CHECK((reader == "logits" || writers.count(reader) == 1));
  }
}

TEST_CASE("the error of masked edges is that of sets of edges and has gradients") {
  const std::vector<PatchingTask> tasks{kTask, kLongAnswers};
  for (const GptConfig& config : kinds()) {
    if (config.norm == NormPosition::post) {
      continue;
    }
    const auto gpt = random_gpt(config);
    const CircuitGraph graph(*gpt);
    const CircuitTexts texts(*gpt, graph, tasks, 0);
    for (const double value : {0.0, 1.0, 0.5}) {  // no edges, all, and parts of them
      EdgeMasks masks = texts.open_masks();
      std::vector<Tensor> inputs;
      for (auto& [port, mask] : masks) {
        mask = random_uniform(mask.shape(), {7, inputs.size()}, value == 1 ? 1 : 0,
                              value == 0 ? 0 : 1, DType::float64);
        inputs.push_back(mask.set_requires_grad());
      }
      const auto error = [&](const std::vector<Tensor>& values) {
        std::size_t next = 0;
        for (auto& [port, mask] : masks) {
          mask = values[next++];
        }
        return texts.masked_error(masks, 1);
      };
      if (value == 0.5) {
        CHECK(check_gradients(error, inputs, {1e-5, 1e-4, 1e-5, 3}).worst == "");
      } else {
        CHECK(error(inputs).item() == Approx(1 - value).margin(1e-9));
      }
    }
  }
}

TEST_CASE("circuits refuse invalid pairs and options") {
  const auto gpt = random_gpt(three_layers());
  check_error([&] { find_circuit(*gpt, {}); }, {"pairs: "});
  check_error([&] { find_circuit(*gpt, {kTask, {{}, {}, {3}, {8}}}); }, {"pair 2: clean"});
  check_error([&] { find_circuit(*gpt, {kTask}, {.steps = 0}); }, {"steps: "});
}

TEST_CASE("patching an edge of any nodes equals patching their path") {
  for (const GptConfig& config : kinds()) {
    if (config.norm == NormPosition::post || config.has_output_norms()) {
      continue;  // a path also changes the scales of norms after the sender; an edge does not
    }
    const auto gpt = random_gpt(config);
    const CircuitNode embed{CircuitPart::embed};
    const CircuitNode logits{CircuitPart::logits, config.n_layer - 1};
    const CircuitNode head{CircuitPart::head, 1, 1, 1};
    std::vector<std::pair<CircuitNode, PathReceiver>> paths{
        {embed, {logits}}, {head, {logits}}, {embed, {{CircuitPart::head, 2, 0, 0}, Point::q}}};
    for (const Point into : {Point::q, Point::k, Point::v}) {
      const bool is_shared = config.n_kv_head > 0 && into != Point::q;
      const Index last = is_shared ? config.n_head / config.n_kv_head - 1 : 0;
      paths.push_back({{CircuitPart::head, 0, 1, 1}, {{CircuitPart::head, 2, 0, last}, into}});
    }
    if (config.mlp) {
      const CircuitNode first{CircuitPart::mlp, 0};
      const CircuitNode last{CircuitPart::mlp, 2};
      paths.insert(paths.end(), {{first, {last}},
                                 {head, {last}},
                                 {first, {logits}},
                                 {first, {{CircuitPart::head, 2, 0, 0}, Point::q}}});
    }
    for (const auto& [from, to] : paths) {
      INFO(node_name(from) << ">" << node_name(to.node));
      const double share = patch_path(*gpt, kTask, {.from = from, .to = {to}}).recovered;
      CHECK(recovered_by_edge(*gpt, kTask, {from, to.node, to.into}) == Approx(share).margin(1e-9));
    }
  }
}

TEST_CASE("paths through recomputed MLPs add to the direct path") {
  const auto gpt = random_gpt(three_layers());
  PatchPath path{.from = parse_node("path", "0.1"), .to = {parse_receiver("path", "logits")}};
  const double direct = patch_path(*gpt, kTask, path).recovered;
  path.recompute_mlps = true;
  const double through = patch_path(*gpt, kTask, path).recovered;
  CHECK(std::abs(direct - through) > 1e-3);
  // Computes this effect by hooks that hold the outputs of all heads.
  const auto at = [&](const Ids& text, Point wanted) {
    return values_of(*gpt, make_batch({text}), [=](Point point, Index) { return point == wanted; });
  };
  const PointValues heads = at(kTask.corrupt, Point::attn_out);
  const PointInLayer results{Point::result, 0};
  const Tensor change = at(kTask.clean, Point::result).at(results) -
                        at(kTask.corrupt, Point::result).at(results);  // [T, H, C]
  Tensor stream =
      at(kTask.corrupt, Point::resid_pre).at({Point::resid_pre, 0}) + select(change, 1, 1);
  for (Index layer = 0; layer < 3; ++layer) {
    const Tensor middle = stream + heads.at({Point::attn_out, layer});
    const Block& block = gpt->block(layer);
    stream = middle + block.mlp().forward(block.norm(Branch::mlp).forward(middle));
  }
  const Tensor logits = gpt->head_logits(gpt->finished(stream));
  const std::vector<double> values = logits.to_vector();
  const AnswerContrast contrast(*gpt, kTask);
  const double corrupt = contrast.difference(*gpt, kTask.corrupt);
  const auto last = values.end() - gpt->vocab_size();
  const double difference = last[kTask.answer.front()] - last[kTask.wrong.front()];
  CHECK(through ==
        Approx((difference - corrupt) / (contrast.difference(*gpt, kTask.clean) - corrupt)));
}

TEST_CASE("a path into several receivers changes them together and over several pairs") {
  const auto gpt = random_gpt(three_layers());
  PatchPath path = head_path({0, 1}, {1, 0}, Point::q);
  path.to.push_back(parse_receiver("path", "1.2.k"));
  const double both = patch_path(*gpt, kTask, path).recovered;
  const double first = patch_path(*gpt, kTask, {.from = path.from, .to = {path.to[0]}}).recovered;
  CHECK(both != Approx(first));
  PatchingTask other = kTask;
  std::swap(other.clean, other.corrupt);
  const CircuitNode embed = parse_node("path", "embed");
  const auto studies = patch_paths(*gpt, {kTask, other}, {embed, path.from}, path);
  REQUIRE(studies.size() == 2);
  CHECK(studies[0].pairs[0].recovered ==
        Approx(patch_path(*gpt, kTask, {.from = embed, .to = path.to}).recovered));
  const PathStudy& study = studies[1];
  REQUIRE(study.pairs.size() == 2);
  CHECK(study.pairs[0].recovered == Approx(both));
  CHECK(study.recovered.mean == Approx((study.pairs[0].recovered + study.pairs[1].recovered) / 2));
  const auto refused = [&](const std::string& from, const std::string& to) {
    return error_of([&] {
      patch_path(*gpt, kTask,
                 {.from = parse_node("path", from), .to = {parse_receiver("path", to)}});
    });
  };
  CHECK(mentions(refused("mlp.1", "1.0.q"), {"receiver", "after mlp.1"}));
  CHECK(mentions(refused("logits", "1.0.q"), {"sender", "logits"}));
  CHECK(mentions(refused("0.1", "1.0"), {"path", "q, k or v"}));
  CHECK(mentions(refused("0.1", "mlp.7"), {"receiver", "3 layers", "mlp.7"}));
  CHECK(mentions(refused("resid_pre.0", "mlp.1"), {"path", "embed", "resid_pre.0"}));
}

TEST_CASE("cut edges carry mean values or those of the next pair") {
  const auto gpt = random_gpt(three_layers());
  const std::vector<PatchingTask> tasks{kTask, {{1, 6, 3, 4, 5}, {1, 8, 2, 9, 5}, {3}, {8}}};
  const CircuitGraph graph(*gpt);
  const KeptEdges none = kept_edges(graph, false);
  const auto rows = mapped<SenderRows>(tasks, [&](const PatchingTask& task) {
    return sender_rows(*gpt, graph, make_batch({task.corrupt}));
  });
  const SenderRows mean{(rows[0].rows + rows[1].rows) / 2.0, {}};
  for (const CircuitAblation ablation : {CircuitAblation::mean, CircuitAblation::resample}) {
    const CircuitOptions options{.edges = 12, .ablation = ablation, .random_sets = 3};
    const CircuitResult result = find_circuit(*gpt, tasks, options);
    const KeptEdges kept = kept_edges(graph, result);
    double reached = 0;
    double whole = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const SenderRows& other = ablation == CircuitAblation::mean ? mean : rows[1 - i];
      const AnswerContrast contrast(*gpt, tasks[i]);
      EdgeCut empty_hook(*gpt, graph, {&none, 1}, other);
      EdgeCut hook(*gpt, graph, {&kept, 1}, other);
      const double empty = contrast.difference(*gpt, tasks[i].clean, &empty_hook);
      reached += contrast.difference(*gpt, tasks[i].clean, &hook) - empty;
      whole += contrast.difference(*gpt, tasks[i].clean) - empty;
    }
    CHECK(result.faithfulness == Approx(reached / whole).margin(1e-9));
    CHECK(result.curve.back().faithfulness == Approx(1));
    REQUIRE(result.random.has_value());
    CHECK(result.random->low <= result.random->mean);
    CHECK(result.random->mean <= result.random->high);
    CHECK(find_circuit(*gpt, tasks, options).random->mean == result.random->mean);
  }
  const CircuitResult plain = find_circuit(*gpt, tasks, {.edges = 12, .random_sets = 20});
  CHECK(plain.random->mean < plain.faithfulness);
}

TEST_CASE("mean and resample refuse pairs that they cannot combine") {
  const auto gpt = random_gpt(three_layers());
  const auto refused = [&](const std::vector<PatchingTask>& tasks, CircuitAblation ablation) {
    return error_of([&] { find_circuit(*gpt, tasks, {.edges = 5, .ablation = ablation}); });
  };
  const PatchingTask longer{{1, 2, 3, 4, 5, 6}, {1, 7, 3, 9, 5, 6}, {3}, {8}};
  CHECK(mentions(refused({kTask, longer}, CircuitAblation::mean), {"pairs", "mean", "tokens"}));
  CHECK(mentions(refused({kTask}, CircuitAblation::resample), {"pairs", "two pairs"}));
}
}  // namespace circuit_test
