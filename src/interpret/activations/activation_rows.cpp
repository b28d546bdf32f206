#include "interpret/activations/activation_rows.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/nn/batch.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

// Copies elements [outer, inner, width] at some indices of both outer axes; no inner_indices: all.
template <class T>
void copy_chosen(const T* from, Index inner, Index width, const std::vector<Index>& outer_indices,
                 const std::vector<Index>& inner_indices, T* to) {
  for (const Index outer : outer_indices) {
    const T* part = from + outer * inner * width;
    if (inner_indices.empty()) {
      to = std::copy_n(part, inner * width, to);
    }
    for (const Index index : inner_indices) {
      to = std::copy_n(part + index * width, width, to);
    }
  }
}

// Returns `count` elements of a value [outer, inner] or [outer, inner, width], chosen by
// copy_chosen(), in float64 if they are, else in float32.
Tensor chosen_elements(const Tensor& value, const std::vector<Index>& outer_indices,
                       const std::vector<Index>& inner_indices, Index count) {
  const DType dtype = value.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor whole = to_contiguous(convert(value, dtype));
  Tensor chosen = Tensor::empty({count}, dtype);
  dispatch_floating(dtype, "activations", [&](auto zero) {
    using T = decltype(zero);
    copy_chosen(whole.data<T>(), value.size(1), value.rank() == 3 ? value.size(2) : 1,
                outer_indices, inner_indices, chosen.data<T>());
  });
  return chosen;
}

Tensor int32_tensor(const std::vector<std::int32_t>& values) {
  return Tensor::from(values, {static_cast<Index>(values.size())});
}

// Origins of the rows: tokens, positions and documents.
class RowOrigins {
 public:
  void add(const ActivationContext& context, const std::vector<Index>& kept) {
    require(context.begin + std::ssize(context.tokens) <= std::numeric_limits<std::int32_t>::max(),
            "[activations] a document has more tokens than an int32 can count");
    for (const Index position : kept) {
      tokens_.push_back(context.tokens[static_cast<std::size_t>(position)]);
      positions_.push_back(static_cast<std::int32_t>(position));
      documents_.push_back(static_cast<std::int32_t>(context.document));
      document_positions_.push_back(static_cast<std::int32_t>(context.begin + position));
    }
    offsets_.push_back(static_cast<std::int32_t>(tokens_.size()));
  }

  Index rows() const { return std::ssize(tokens_); }
  Index contexts() const { return std::ssize(offsets_) - 1; }

  void append_to(std::vector<KeptArray>& arrays) const {
    arrays.push_back({"tokens", {}, int32_tensor(tokens_)});
    arrays.push_back({"positions", {}, int32_tensor(positions_)});
    arrays.push_back({"documents", {}, int32_tensor(documents_)});
    arrays.push_back({"document_positions", {}, int32_tensor(document_positions_)});
    arrays.push_back({"offsets", {}, int32_tensor(offsets_)});
  }

 private:
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> documents_;
  std::vector<std::int32_t> document_positions_;
  std::vector<std::int32_t> offsets_{0};
};

// Hook that stores values in the arrays of a cache.
class RowKeeper final : public ForwardHook {
 public:
  RowKeeper(const ActivationPlan& plan, const TokenPositions& positions, Index rows,
            ArrayStore& store)
      : plan_(plan), positions_(positions), store_(store) {
    for (const ActivationArray& array : plan.arrays()) {
      Shape shape{rows};
      for (const Index size : array.row) {
        shape.push_back(size);
      }
      stored_.push_back(array.is_map() ? 0 : store.add(shape));
    }
  }

  void run(const std::vector<ActivationContext>& contexts) {
    first_row_ = origins_.rows();
    first_context_ = origins_.contexts();
    kept_.clear();
    std::vector<std::vector<std::int32_t>> sequences;
    Index begin = 0;
    for (const ActivationContext& context : contexts) {
      const auto length = static_cast<Index>(context.tokens.size());
      const std::vector<Index> positions = positions_.of(length);
      origins_.add(context, positions);
      std::transform(positions.begin(), positions.end(), std::back_inserter(kept_),
                     [&](Index position) { return begin + position; });
      sequences.push_back(context.tokens);
      begin += length;
    }
    if (const Tensor hidden = plan_.run(make_batch(sequences), *this); hidden.defined()) {
      keep_logits(hidden);
    }
  }

  bool wants(Point point, Index layer) const override {
    return point != Point::logits && plan_.find(point, layer).has_value();  // see keep_logits()
  }
  bool in_family_units() const override { return true; }

  Tensor visit(const HookSite& site, const Tensor& value) override {
    const std::size_t number = *plan_.find(site.point, site.layer);
    if (plan_.arrays()[number].is_map()) {
      keep_map(number, site.sequence, value);
    } else {
      keep_rows(number, value, kept_, first_row_);
    }
    return value;
  }

  std::vector<KeptArray> arrays() const {
    std::vector<KeptArray> result;
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      const ActivationArray& array = plan_.arrays()[i];
      if (!array.is_map()) {
        result.push_back({array.name(), stored_[i], {}});
      }
      if (!array.numbers.empty()) {
        result.push_back({array.name() + "/items", {}, int32_tensor(array.numbers)});
      }
    }
    result.insert(result.end(), maps_.begin(), maps_.end());
    origins_.append_to(result);
    return result;
  }

 private:
  // Stores `rows` of a value [N, ...] as rows of the array, from `first` on.
  void keep_rows(std::size_t number, const Tensor& value, const std::vector<Index>& rows,
                 Index first) {
    const ActivationArray& array = plan_.arrays()[number];
    const Index length = numel(array.row);
    store_.put(stored_[number], first * length,
               chosen_elements(value, rows, array.indices, std::ssize(rows) * length));
  }

  // Stores the chosen heads and queries of a map [H, T, S].
  void keep_map(std::size_t number, Index sequence, const Tensor& map) {
    const ActivationArray& array = plan_.arrays()[number];
    const std::vector<Index> queries = positions_.of(map.size(1));
    const std::vector<Index> heads =
        array.indices.empty() ? TokenPositions{}.of(map.size(0)) : array.indices;
    const Shape shape{std::ssize(heads), std::ssize(queries), map.size(2)};
    const std::size_t stored = store_.add(shape);
    if (!queries.empty()) {
      store_.put(stored, 0, chosen_elements(map, heads, queries, numel(shape)));
    }
    maps_.push_back({array.name() + "/" + std::to_string(first_context_ + sequence), stored, {}});
  }

  // Stores logits a few rows at a time: all logits of a batch may exceed memory.
  void keep_logits(const Tensor& hidden) {
    constexpr Index kLogits = Index{1} << 23;  // computed at once
    const std::size_t number = *plan_.find(Point::logits, 0);
    const auto count = static_cast<Index>(kept_.size());
    for (Index begin = 0, step = 0; begin < count; begin += step) {
      step = std::min(std::max<Index>(1, kLogits / plan_.vocab_size()), count - begin);
      std::vector<Tensor> rows;
      for (Index i = begin; i < begin + step; ++i) {
        const Index row = kept_[static_cast<std::size_t>(i)];
        rows.push_back(slice(hidden, 0, row, row + 1));
      }
      keep_rows(number, plan_.logits_of(concat(rows, 0)), TokenPositions{}.of(step),
                first_row_ + begin);
    }
  }

  const ActivationPlan& plan_;
  const TokenPositions& positions_;
  ArrayStore& store_;
  std::vector<std::size_t> stored_;  // store indices of the plan's arrays; unused for maps
  std::vector<KeptArray> maps_;
  RowOrigins origins_;
  std::vector<Index> kept_;  // selected rows of the pass
  Index first_row_ = 0;      // row of the cache where the pass begins
  Index first_context_ = 0;
};

}  // namespace

std::vector<KeptArray> gather_activations(const ActivationPlan& plan,
                                          const ActivationContexts& contexts,
                                          const ContextSpan& span, const ActivationOptions& options,
                                          const std::function<void(Index)>& on_batch,
                                          ArrayStore& store) {
  const NoGrad no_grad;
  RowKeeper keeper(plan, options.positions, span.rows, store);
  for (Index begin = span.begin; begin < span.end; begin += options.batch_size) {
    const Index end = std::min(begin + options.batch_size, span.end);
    std::vector<ActivationContext> batch;
    for (Index i = begin; i < end; ++i) {
      batch.push_back(contexts.context(i));
    }
    keeper.run(batch);
    on_batch(end);
  }
  return keeper.arrays();
}

std::vector<ContextSpan> context_spans(const ActivationPlan& plan,
                                       const ActivationContexts& contexts,
                                       const ActivationOptions& options, Index most_rows) {
  require_value(options.batch_size >= 1, "batch_size", "expected at least 1, got ",
                options.batch_size);
  require(plan.map_heads() == 0 || contexts.count() <= kMostMappedContexts,
          "attention maps take an array for each sequence: expected at most ", kMostMappedContexts,
          " sequences, got ", contexts.count());
  std::vector<ContextSpan> spans{{}};
  for (Index i = 0; i < contexts.count(); ++i) {
    const Index rows = std::ssize(options.positions.of(contexts.length(i)));
    ContextSpan* span = &spans.back();
    if (most_rows > 0 && span->rows > 0 && span->rows + rows > most_rows) {
      span = &spans.emplace_back(ContextSpan{i, i, 0});
    }
    span->end = i + 1;
    span->rows += rows;
  }
  require_value(spans.front().rows > 0, "positions", "expected positions inside the texts, got ",
                options.positions.range.first, "-, after the end of the longest text");
  return spans;
}

}  // namespace headlight
