#pragma once

#include "headlight/interpret/circuit/path_patching.h"
#include "interpret/circuit/edge_cut.h"
#include "interpret/effects/answer_contrast.h"
#include "support/hooks.h"
#include "support/test.h"

namespace headlight::test {

inline GptConfig three_layers() {
  return {.vocab_size = 11, .block_size = 8, .n_layer = 3, .n_head = 3, .n_embd = 12};
}

// A model with weights so large that every head matters.
inline std::unique_ptr<Gpt> random_gpt(const GptConfig& config, DType dtype = DType::float64) {
  auto gpt = std::make_unique<Gpt>(config, 1, dtype);
  randomize(*gpt, 23);
  return gpt;
}

// Two texts that differ in two tokens, with answers of one token.
inline const PatchingTask kTwoChanges{{1, 2, 3, 4, 5}, {1, 7, 3, 9, 5}, {3}, {8}};
// The same texts, with answers of several tokens and different lengths.
inline const PatchingTask kLongAnswers{{1, 2, 3, 4, 5}, {1, 7, 3, 9, 5}, {3, 6, 1}, {8, 2}};

// The path from a head to one input of another.
inline PatchPath head_path(const HeadId& from, const HeadId& to, Point into = Point::q) {
  return {.from = {CircuitPart::head, from.layer, from.head, from.head},
          .to = {{{CircuitPart::head, to.layer, to.head, to.head}, into}}};
}

// Seven documents of 2 to 9 tokens; some exceed the context length of 8.
inline TokenDataset small_documents() {
  std::vector<std::vector<std::int32_t>> documents;
  for (std::int32_t d = 0; d < 7; ++d) {
    documents.emplace_back();
    for (std::int32_t i = 0; i < 1 + (d * 5) % 8; ++i) {
      documents.back().push_back((d * 7 + i * i * 3 + 1) % 10);
    }
  }
  return document_dataset(documents, 10);
}

// Mean loss over all targets, from single passes.
inline double mean_loss(const Gpt& gpt, const TokenDataset& data, ForwardHook* hook = nullptr) {
  const SequentialBatches batches(data, {.batch_size = 2, .block_size = gpt.config().block_size});
  double sum = 0;
  double targets = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    sum += gpt.loss(batch, {.hook = hook}, {.normalizer = 1}).item();
    targets += static_cast<double>(batch.target_count);
  }
  return sum / targets;
}

// Sets a head's columns of c_proj to zero, which is equivalent to zero ablation.
inline void silence(const Gpt& gpt, Index layer, Index head) {
  const Index width = gpt.block(layer).attention().plan().head_width;
  for (auto [name, parameter] : gpt.parameters()) {
    if (name == concat_text("h.", layer, ".attn.c_proj.weight")) {
      Tensor weight = parameter.detach();
      weight.strided_view({weight.size(0), width}, {weight.size(1), 1}, head * width).fill(0);
    }
  }
}

// log p(answer | text), summed over tokens, from the logits of one pass.
inline double log_probability(const Gpt& gpt, const Ids& text, const Ids& answer,
                              ForwardHook* hook = nullptr) {
  Ids read = text;
  read.insert(read.end(), answer.begin(), answer.end() - 1);
  const Tensor all = log_probabilities(gpt, read, hook);
  double sum = 0;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    sum += element(all, static_cast<Index>(text.size() - 1 + i), answer[i]);
  }
  return sum;
}

inline SenderRows sender_rows(const Gpt& gpt, const CircuitGraph& graph, const Batch& text) {
  const NoGrad no_grad;
  KeepSenders keep(gpt, graph);
  gpt.hidden(text, {.hook = &keep});
  return keep.written;
}

// Share of the difference between the texts that one edge recovers: the model reads the corrupt
// text while the edge carries its clean value.
inline double recovered_by_edge(const Gpt& gpt, const PatchingTask& task, const CircuitEdge& edge) {
  const CircuitGraph graph(gpt);
  KeptEdges kept;
  for (const CircuitGraph::Receiver& receiver : graph.receivers()) {
    kept.emplace_back();
    for (Index sender = 0; sender < receiver.senders; ++sender) {
      const CircuitNode& from = graph.senders()[static_cast<std::size_t>(sender)];
      kept.back().push_back(edge_name({from, receiver.node, receiver.into}) != edge_name(edge));
    }
  }
  const AnswerContrast contrast(gpt, task);
  const SenderRows clean = sender_rows(gpt, graph, contrast.batch(task.clean));
  EdgeCut hook(gpt, graph, {&kept, 1}, clean);
  const double corrupt = contrast.difference(gpt, task.corrupt);
  return (contrast.difference(gpt, task.corrupt, &hook) - corrupt) /
         (contrast.difference(gpt, task.clean) - corrupt);
}
}  // namespace headlight::test
