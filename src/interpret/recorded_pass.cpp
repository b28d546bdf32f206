#include "headlight/interpret/recorded_pass.h"

#include <algorithm>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

// Returns the first rows of a pass of one sequence, as the pass of a batch.
std::shared_ptr<const RecordedPass> first_part(const RecordedPass& pass, const Batch& batch) {
  const Index length = batch.token_count();
  auto part = std::make_shared<RecordedPass>(
      RecordedPass{batch, {}, slice(pass.ends, 0, 0, length), pass.caches});
  for (const Tensor& residual : pass.residuals) {
    part->residuals.push_back(slice(residual, 0, 0, length));
  }
  return part;
}

}  // namespace

Index first_computed(const LanguageModel& model, Index position) {
  return model.has_cache() && !model.is_changed() ? position : 0;  // hooks may expect whole texts
}

RecordedPass record_pass(const LanguageModel& model, Batch batch, ForwardContext context,
                         bool keeps_keys) {
  const NoGrad no_grad;
  RecordedPass pass{std::move(batch), {}, {}, {}};
  std::vector<KeyValueCache*> caches;
  if (keeps_keys && first_computed(model, 1) > 0) {
    for (Index b = 0; b < pass.batch.sequence_count(); ++b) {
      caches.push_back(pass.caches.emplace_back(model.new_cache()).get());
    }
  }
  pass.residuals.push_back(model.residual(pass.batch, 0, {.caches = caches}));
  context.caches = caches;
  const Index layers = model.layer_count();
  for (Index layer = 0; layer < layers; ++layer) {
    pass.residuals.push_back(
        model.run_layers(layer, layer + 1, pass.residuals.back(), pass.batch, context));
  }
  context.caches = {};
  pass.ends = model.hidden_from(layers, pass.residuals.back(), pass.batch, context);
  return pass;
}

std::vector<std::int32_t> deciding_tokens(const Gpt& model, std::vector<std::int32_t> text,
                                          Index position) {
  const bool is_cut = model.is_causal() && !model.is_changed() &&
                      !model.changes_keys(position + 1, std::ssize(text));
  text.resize(is_cut ? static_cast<std::size_t>(position + 1) : text.size());
  return text;
}

Index RecordedPasses::rows_kept(const Batch& batch) {
  Index rows = 0;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    rows += rounded_up(batch.offsets[b + 1] - batch.offsets[b], KeyValueCache::kBlock);
  }
  return rows;
}

bool RecordedPasses::keeps(Index rows) const {
  const Index layers = model_.layer_count();
  Index elements = (layers + 2) * model_.config().n_embd;  // of a row: streams, keys, values
  for (Index layer = 0; layer < layers; ++layer) {
    elements += 2 * block_plan(model_.config(), layer).attention.key_width();
  }
  const auto element = static_cast<double>(element_size(model_.dtype()));
  return !model_.is_changed() && element * static_cast<double>(rows * elements) <= most_bytes_;
}

// Returns whether a batch, or as the only sequence its beginning, has the tokens of another one.
bool RecordedPasses::has_tokens(const Batch& batch, const Batch& wanted) const {
  const Index length = wanted.token_count();
  const bool may_be_part = batch.sequence_count() == 1 && wanted.sequence_count() == 1 &&
                           batch.token_count() >= length && model_.is_causal() &&
                           !model_.changes_keys(length, batch.token_count());
  const auto* ids = wanted.tokens.data<std::int32_t>();
  return (batch.offsets == wanted.offsets || may_be_part) &&
         std::equal(ids, ids + length, batch.tokens.data<std::int32_t>());
}

std::shared_ptr<const RecordedPass> RecordedPasses::find(const Batch& batch) {
  const auto found =
      std::ranges::find_if(kept_, [&](const auto& pass) { return has_tokens(pass->batch, batch); });
  if (found == kept_.end() || !keeps(batch)) {
    return nullptr;
  }
  std::rotate(kept_.begin(), found, found + 1);
  const std::shared_ptr<const RecordedPass> pass = kept_.front();
  const bool is_whole = pass->batch.token_count() == batch.token_count();
  return is_whole ? pass : first_part(*pass, batch);
}

std::shared_ptr<const RecordedPass> RecordedPasses::of(const Batch& batch) {
  const std::shared_ptr<const RecordedPass> found = find(batch);
  return found || !keeps(batch) ? found : keep(record_pass(model_, batch));
}

std::shared_ptr<const RecordedPass> RecordedPasses::keep(RecordedPass pass) {
  std::erase_if(kept_, [&](const auto& kept) { return has_tokens(pass.batch, kept->batch); });
  const auto added = std::make_shared<const RecordedPass>(std::move(pass));
  kept_.push_front(added);
  Index rows = 0;
  const auto last = std::ranges::find_if(
      kept_, [&](const auto& kept) { return !keeps(rows += rows_kept(kept->batch)); });
  kept_.erase(last, kept_.end());
  return added;
}

}  // namespace headlight
