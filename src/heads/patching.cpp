#include "headlight/heads/patching.h"

#include <algorithm>
#include <cmath>

#include "heads/forward_replay.h"
#include "heads/head_substitutes.h"

namespace headlight {
namespace {

void require_token(std::int32_t id, const Gpt& model, const char* name) {
  require(id >= 0 && id < model.config().vocab_size, name, ": expected a token from 0 to ",
          model.config().vocab_size - 1, ", got ", id);
}

void check(const PatchingTask& task, const Gpt& model) {
  require(!task.clean.empty(), "clean: expected at least one token");
  require(task.clean.size() == task.corrupt.size(),
          "corrupt: expected as many tokens as the clean text has, ", task.clean.size(), ", got ",
          task.corrupt.size());
  require_token(task.answer, model, "answer");
  require_token(task.wrong, model, "wrong");
  require(task.answer != task.wrong, "wrong: expected another token than the answer, got ",
          task.wrong, " for both");
}

}  // namespace

PatchingResult patch_heads(const Gpt& model, const PatchingTask& task) {
  check(task, model);
  const ForwardReplay clean(model, make_batch({task.clean}));
  const ForwardReplay corrupt(model, make_batch({task.corrupt}));
  const auto difference = [&](const Tensor& logits) {
    const std::vector<double> values = logits.to_vector();
    return values[static_cast<std::size_t>(task.answer)] -
           values[static_cast<std::size_t>(task.wrong)];
  };
  PatchingResult result{difference(clean.last_logits(0)), difference(corrupt.last_logits(0)), {}};
  const double whole = result.clean_difference - result.corrupt_difference;
  require(whole != 0 && std::isfinite(whole),
          "corrupt: expected texts after which answer and wrong differ in their logits, got ",
          result.clean_difference, " for both");
  std::vector<Tensor> substitutes;  // [L] of [T, H D]
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    substitutes.push_back(to_contiguous(clean.outputs(layer)));
  }
  for (const HeadId& id : all_heads(model.config())) {
    ReplaceHeads hook(model, {id}, substitutes);
    const double patched = difference(corrupt.last_logits(0, id.layer, hook));
    result.heads.push_back({id, patched, (patched - result.corrupt_difference) / whole});
  }
  return result;
}

std::int32_t likeliest_next(const Gpt& model, const std::vector<std::int32_t>& text) {
  require(!text.empty(), "text: expected at least one token");
  const std::vector<double> logits =
      ForwardReplay(model, make_batch({text})).last_logits(0).to_vector();
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace headlight
