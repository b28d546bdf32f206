#include "course/lookup_task.h"

#include <algorithm>
#include <numeric>

#include "headlight/autograd/autograd.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/clip.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kNumbers = Index{1} << kReads;  // tokens of numbers; questions follow
constexpr Index kHeldOutSequences = 64;
constexpr Index kShown = 8;
constexpr Index kBatch = 16;
constexpr double kRate = 3e-3;
constexpr float kSpread = 10;  // factor of the embeddings at the start

std::vector<std::size_t> permutation(const RandomStream& random) {
  std::vector<std::size_t> order(kFacts);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left, left))]);
  }
  return order;
}

}  // namespace

LookupTask::LookupTask(std::uint64_t seed) {
  const RandomStream random{seed, 0};
  for (std::uint64_t read = 0; read < kReads; ++read) {
    positions_.push_back(permutation(random.fork(0).fork(read)));
  }
  held_out_ = batch(kHeldOutSequences, random.fork(1));
}

Batch LookupTask::batch(Index count, const RandomStream& random) const {
  std::vector<std::vector<std::int32_t>> sequences;
  std::vector<std::int32_t> targets;  // [N]
  for (Index s = 0; s < count; ++s) {
    const RandomStream draws = random.fork(static_cast<std::uint64_t>(s));
    std::vector<std::int32_t> tokens;
    for (std::uint64_t fact = 0; fact < kFacts; ++fact) {
      tokens.push_back(static_cast<std::int32_t>(draws.below(fact, kNumbers)));
      targets.push_back(kIgnoreTarget);
    }
    for (std::uint64_t i = 0; i < kQuestions; ++i) {
      const auto question = static_cast<std::size_t>(draws.below(kFacts + i, kFacts));
      std::int32_t answer = 0;
      for (std::size_t read = 0; read < kReads; ++read) {
        answer |= tokens[positions_[read][question]] & (1 << read);
      }
      tokens.push_back(static_cast<std::int32_t>(kNumbers + static_cast<Index>(question)));
      targets.push_back(answer);
    }
    sequences.push_back(std::move(tokens));
  }
  Batch result = make_batch(sequences);
  std::ranges::copy(targets, result.targets.data<std::int32_t>());
  result.target_count = count * kQuestions;
  return result;
}

std::unique_ptr<Gpt> LookupTask::make_model(Index width, Index heads, std::uint64_t seed) const {
  auto model = std::make_unique<Gpt>(GptConfig{.vocab_size = kNumbers + kFacts,
                                               .block_size = kFacts + kQuestions,
                                               .n_layer = 1,
                                               .n_head = heads,
                                               .n_embd = width,
                                               .mlp = false},
                                     seed);
  for (const Part part : {Part::token_embedding, Part::position_embedding}) {
    Tensor embedding = model->weight(part);
    for (float& element :
         std::span(embedding.data<float>(), static_cast<std::size_t>(embedding.numel()))) {
      element *= kSpread;
    }
  }
  return model;
}

double LookupTask::train(Gpt& model, Index steps, std::uint64_t seed) const {
  const NamedTensors parameters = model.parameters();
  AdamW adamw(parameters, {.beta2 = 0.99, .weight_decay = 0});
  const RandomStream random{seed, 1};
  for (Index step = 0; step < steps; ++step) {
    model.zero_grad();
    backward(model.loss(batch(kBatch, random.fork(static_cast<std::uint64_t>(step)))));
    adamw.step(kRate, clip_scale(gradient_norm(parameters), 1.0));
  }
  const NoGrad no_grad;
  return model.loss(held_out_).item();
}

std::vector<std::vector<std::int32_t>> LookupTask::sample() const {
  const std::int32_t* tokens = held_out_.tokens.data<std::int32_t>();
  std::vector<std::vector<std::int32_t>> sequences;
  for (std::size_t s = 0; s < kShown; ++s) {
    sequences.emplace_back(tokens + held_out_.offsets[s], tokens + held_out_.offsets[s + 1]);
  }
  return sequences;
}

}  // namespace headlight::cli::lab
