#include "headlight/interpret/activations/activation_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headlight/kernels/machine/memory.h"
#include "interpret/activations/activation_rows.h"

namespace headlight {
namespace {

std::vector<std::vector<std::int32_t>> encoded(const Tokenizer& tokenizer,
                                               const std::vector<std::string>& texts) {
  std::vector<std::vector<std::int32_t>> ids;
  for (const std::string& text : texts) {
    ids.push_back(tokenizer.encode_prompt(text));
  }
  return ids;
}

// Throws Error if the arrays of a span exceed free memory.
void require_memory(const ActivationPlan& plan, const ActivationContexts& contexts,
                    const ContextSpan& span, const TokenPositions& positions) {
  double bytes = static_cast<double>(span.rows) * static_cast<double>(plan.row_bytes());
  for (Index i = span.begin; plan.map_heads() > 0 && i < span.end; ++i) {
    const Index length = contexts.length(i);
    bytes += static_cast<double>(sizeof(float) * static_cast<std::size_t>(plan.map_heads())) *
             static_cast<double>(length) * static_cast<double>(positions.of(length).size());
  }
  const std::string missing = missing_memory(bytes);
  require(missing.empty(), "activations of ", span.rows, " tokens need ", missing,
          "; take fewer points or tokens");
}

}  // namespace

std::vector<Index> TokenPositions::of(Index length) const {
  const Index first = last ? length - 1 : std::min(range.first, length);
  const Index end = last ? length : std::min(range.last.value_or(length - 1) + 1, length);
  std::vector<Index> positions(static_cast<std::size_t>(std::max<Index>(end - first, 0)));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

TokenPositions parse_positions(std::string_view about, std::string_view text) {
  if (text == "all" || text == "last") {
    return {.last = text == "last"};
  }
  return {.range = parse_range(about, text)};
}

ActivationContexts::ActivationContexts(const Tokenizer& tokenizer,
                                       const std::vector<std::string>& texts, Index block_size)
    : ActivationContexts(encoded(tokenizer, texts), block_size) {}

ActivationContexts::ActivationContexts(std::vector<std::vector<std::int32_t>> texts,
                                       Index block_size)
    : texts_(std::move(texts)) {
  require(!texts_.empty(), "[activations] expected a text or more, got none");
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto length = static_cast<Index>(texts_[i].size());
    const std::string name = texts_.size() == 1 ? "the text" : concat_text("document ", i + 1);
    require(length > 0, name, " is empty, expected at least one token");
    require(length <= block_size, name, " has ", length, " tokens, more than the ", block_size,
            " tokens of the context length");
  }
}

ActivationContexts::ActivationContexts(const TokenDataset& dataset, Index block_size)
    : pieces_(SequencePieces(dataset, block_size)) {}

Index ActivationContexts::count() const { return pieces_ ? pieces_->count() : std::ssize(texts_); }

Index ActivationContexts::length(Index index) const {
  return pieces_ ? pieces_->length(index) - 1 : std::ssize(texts_[static_cast<std::size_t>(index)]);
}

ActivationContext ActivationContexts::context(Index index) const {
  if (!pieces_) {
    return {texts_[static_cast<std::size_t>(index)], index, 0};
  }
  const SequencePieces::Piece piece = pieces_->at(index);
  ActivationContext context{pieces_->tokens(index), static_cast<Index>(piece.sequence),
                            piece.begin};
  context.tokens.pop_back();  // the target of the last input
  return context;
}

NamedTensors cache_activations(const LanguageModel& model, const ActivationContexts& contexts,
                               const ActivationOptions& options) {
  const ActivationPlan plan(model, options.points);
  const std::vector<ContextSpan> spans = context_spans(plan, contexts, options, 0);
  require_memory(plan, contexts, spans.front(), options.positions);
  ArraysInMemory memory(model.dtype() == DType::float64 ? DType::float64 : DType::float32);
  NamedTensors tensors;
  const auto ignore = [](Index) {};
  for (const KeptArray& array :
       gather_activations(plan, contexts, spans.front(), options, ignore, memory)) {
    tensors.emplace_back(array.name, array.stored ? memory.tensor(*array.stored) : array.numbers);
  }
  return tensors;
}

}  // namespace headlight
