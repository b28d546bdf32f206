#include "interpret/effects/forward_replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/ops/layout.h"
#include "interpret/point_values.h"

namespace headlight {

ForwardReplay::ForwardReplay(const LanguageModel& model, Batch batch,
                             std::shared_ptr<const RecordedPass> pass, Index memory)
    : model_(model),
      batch_(std::move(batch)),
      memory_(memory > 0 ? static_cast<double>(memory) : available_memory() / 4),
      pass_(std::move(pass)) {}

ForwardReplay::ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* hook,
                             Index memory, Runs runs)
    : ForwardReplay(model, batch,
                    std::make_shared<const RecordedPass>(
                        record_pass(model, batch, {.hook = hook}, runs == Runs::in_texts)),
                    memory) {}

std::optional<Index> ForwardReplay::first_difference(const Tensor& a, const Tensor& b) const {
  const std::int32_t* positions = batch_.positions.data<std::int32_t>();
  const Index width = a.numel() / a.size(0);
  std::optional<Index> first;
  dispatch_floating(a.dtype(), "first_difference", [&](auto zero) {
    using T = decltype(zero);
    for (Index row = 0; row < a.size(0); ++row) {
      const T* begin = a.data<T>() + row * width;
      if (!std::equal(begin, begin + width, b.data<T>() + row * width)) {
        first = std::min<Index>(first.value_or(positions[row]), positions[row]);
      }
    }
  });
  return first ? std::optional(first_computed(model_, *first)) : std::nullopt;
}

Index ForwardReplay::first_in(std::size_t sequence, Index first) const {
  return std::min(first, batch_.offsets[sequence + 1] - batch_.offsets[sequence] - 1);
}

Tensor ForwardReplay::rows_from(const Tensor& values, Index first) const {
  if (first == 0) {
    return values;
  }
  std::vector<Tensor> parts;
  for (std::size_t b = 0; b + 1 < batch_.offsets.size(); ++b) {
    parts.push_back(
        slice(values, 0, batch_.offsets[b] + first_in(b, first), batch_.offsets[b + 1]));
  }
  return parts.size() == 1 ? parts.front() : concat(parts, 0);
}

// Runs that go through the layers together, and their hooks as one.
class ForwardReplay::Together final : public ForwardHook {
 public:
  Together(const ForwardReplay& replay, std::span<const ChangedRun> runs)
      : replay_(replay), order_(runs.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return runs[i].layer; });
    batch_.offsets = {0};
    for (const std::size_t i : order_) {
      runs_.push_back(runs[i]);
      runs_.back().layer = std::min(runs[i].layer, replay.model_.layer_count());
    }
  }

  // Runs the layers below `last`. `all` sees all runs and may be null. Returns the stream of all
  // runs at layer `last`.
  Tensor run(Index last, ForwardHook* all);
  // Returns the ends [runs N, F] in the order of the constructor, from the computed rows [..., F].
  // Rows before a run's first position are the replay's.
  Tensor completed(const Tensor& rows) const;
  // Adds the next run, and tells its hook its tokens.
  void add();

  const Batch& batch() const { return batch_; }  // of the runs added
  bool wants(Point point, Index layer) const override;
  bool in_family_units() const override { return runs_.front().hook->in_family_units(); }
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  struct Added {
    ForwardHook* hook = nullptr;
    Index begin = 0;  // rows of the batch
    Index end = 0;
  };

  const ForwardReplay& replay_;
  std::vector<std::size_t> order_;  // by layer
  std::vector<ChangedRun> runs_;    // in this order
  std::vector<Added> added_;
  std::vector<KnownPrefix> prefixes_;
  Batch batch_;  // of the runs added
};

void ForwardReplay::Together::add() {
  const ChangedRun& run = runs_[added_.size()];
  const Batch& whole = replay_.batch_;
  Batch own;
  own.tokens = replay_.rows_from(whole.tokens, run.first);
  own.positions = replay_.rows_from(whole.positions, run.first);
  own.offsets = {0};
  const Index begin = batch_.token_count();
  for (std::size_t b = 0; b + 1 < whole.offsets.size(); ++b) {
    const Index first = replay_.first_in(b, run.first);
    own.offsets.push_back(own.token_count() + whole.offsets[b + 1] - whole.offsets[b] - first);
    batch_.offsets.push_back(begin + own.token_count());
    prefixes_.push_back({first > 0 ? replay_.pass_->caches[b].get() : nullptr, first});
  }
  const auto with = [&](const Tensor& before, const Tensor& rows) {
    return before.defined() ? concat({before, rows}, 0) : rows;
  };
  batch_.tokens = with(batch_.tokens, own.tokens);
  batch_.positions = with(batch_.positions, own.positions);
  added_.push_back({run.hook, begin, batch_.token_count()});
  run.hook->begin(own);
}

Tensor ForwardReplay::Together::run(Index last, ForwardHook* all) {
  const LanguageModel& model = replay_.model_;
  HookPair hooks(this, all);
  Tensor stream;  // [rows, C]
  for (Index layer = runs_.front().layer; layer <= last; ++layer) {
    std::vector<Tensor> streams;
    if (stream.defined()) {
      streams.push_back(stream);
    }
    while (added_.size() < runs_.size() && runs_[added_.size()].layer == layer) {
      add();
      if (layer >= 0) {
        streams.push_back(
            replay_.rows_from(replay_.pass_->residuals[static_cast<std::size_t>(layer)],
                              runs_[added_.size() - 1].first));
      }
    }
    const bool continues = std::ranges::any_of(prefixes_, &KnownPrefix::is_there);
    const ForwardContext context{
        .hook = hooks.get(), .prefixes = continues ? prefixes_ : std::span<const KnownPrefix>()};
    if (layer < 0) {
      stream = model.residual(batch_, 0, context);
      continue;
    }
    stream = streams.size() == 1 ? streams.front() : concat(streams, 0);
    if (layer < last) {
      stream = model.run_layers(layer, layer + 1, stream, batch_, context);
    }
  }
  return stream;
}

bool ForwardReplay::Together::wants(Point point, Index layer) const {
  return std::ranges::any_of(added_,
                             [&](const Added& run) { return run.hook->wants(point, layer); });
}

Tensor ForwardReplay::Together::visit(const HookSite& site, const Tensor& value) {
  const Index sequences = replay_.batch_.sequence_count();
  if (items_of(site.point) == PointItems::maps) {
    HookSite own = site;
    own.sequence = site.sequence % sequences;
    const Added& run = added_[static_cast<std::size_t>(site.sequence / sequences)];
    return run.hook->wants(site.point, site.layer) ? run.hook->visit(own, value) : value;
  }
  const Tensor shown = to_contiguous(value);
  Tensor changed;
  for (auto run = added_.begin(); run != added_.end();) {
    ForwardHook* hook = run->hook;
    const Index begin = run->begin;
    run = std::find_if(run, added_.end(), [&](const Added& next) { return next.hook != hook; });
    if (hook->wants(site.point, site.layer)) {
      const Index end = std::prev(run)->end;
      const Tensor own = hook->visit(site, slice(shown, 0, begin, end));
      changed = changed.defined() ? changed : shown.clone();
      slice(changed, 0, begin, end).copy_from(own);
    }
  }
  return changed.defined() ? changed : value;
}

Tensor ForwardReplay::Together::completed(const Tensor& rows) const {
  const std::vector<Index>& offsets = replay_.batch_.offsets;
  const Tensor& known = replay_.ends();
  const Index count = known.size(0);
  Tensor all = Tensor::empty({std::ssize(runs_) * count, known.size(1)}, known.dtype());
  const auto copy = [&](const Tensor& from, Index begin, Index length, Index to) {
    slice(all, 0, to, to + length).copy_from(slice(from, 0, begin, begin + length));
  };
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Index at = added_[i].begin;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const Index first = replay_.first_in(b, runs_[i].first);
      const Index after = offsets[b + 1] - offsets[b] - first;
      const Index to = static_cast<Index>(order_[i]) * count + offsets[b];
      copy(known, offsets[b], first, to);
      copy(rows, at, after, to + first);
      at += after;
    }
  }
  return all;
}

void ForwardReplay::run_below(Index last, std::span<const ChangedRun> runs,
                              ForwardHook* all) const {
  const NoGrad no_grad;
  Together(*this, runs).run(last, all);
}

Tensor ForwardReplay::ends_of(std::span<const ChangedRun> runs) const {
  Together together(*this, runs);
  const Index last = model_.layer_count();
  const Tensor stream = together.run(last, nullptr);
  return together.completed(
      model_.hidden_from(last, stream, together.batch(), {.hook = &together}));
}

std::size_t ForwardReplay::runs_at_once(std::span<const ChangedRun> runs, Index own) const {
  constexpr Index kRows = 1024;           // more do not make products faster
  constexpr Index kElements = 1 << 25;    // nor do more elements that are kept
  constexpr Index kWidths = 16;           // of a row's values within a layer, each of width C
  const Index kept = 4 * ends().numel();  // streams, keys, values and ends
  const auto element = static_cast<double>(element_size(ends().dtype()));
  const bool together = model_.takes_passes_together();
  const auto fit = [&](Index count, Index rows) {
    const Index elements = count * (kept + own) + rows * kWidths * ends().size(1);
    return together && rows <= kRows && count * std::max(kept, own) <= kElements &&
           (memory_ == 0 || element * static_cast<double>(elements) <= memory_);
  };
  Index rows = 0;
  std::size_t count = 0;
  while (count < runs.size()) {
    rows += std::max(batch_.token_count() - batch_.sequence_count() * runs[count].first, Index{1});
    if (count > 0 && !fit(static_cast<Index>(count + 1), rows)) {
      break;
    }
    ++count;
  }
  return count;
}

void ForwardReplay::for_ends(
    std::span<const ChangedRun> runs,
    const std::function<void(std::size_t first, const Tensor& ends)>& take) const {
  const NoGrad no_grad;
  for (std::size_t begin = 0; begin < runs.size();) {
    const std::size_t count = runs_at_once(runs.subspan(begin));
    take(begin, ends_of(runs.subspan(begin, count)));
    begin += count;
  }
}

Tensor ForwardReplay::logits_of(const Tensor& ends) const {
  const NoGrad no_grad;
  return model_.head_logits(ends);
}

Tensor ForwardReplay::logits_of(const Tensor& ends, Index row) const {
  return logits_of(slice(ends, 0, row, row + 1));
}

std::vector<double> ForwardReplay::divergences_of(const Tensor& ends) const {
  constexpr Index kRows = 256;  // all logits may exceed memory
  std::vector<double> divergences;
  for (Index first = 0; first < ends.size(0); first += kRows) {
    const Index last = std::min(first + kRows, ends.size(0));
    const std::vector<double> rows = divergences_of_rows(
        logits_of(slice(pass_->ends, 0, first, last)), logits_of(slice(ends, 0, first, last)),
        slice(batch_.targets, 0, first, last));
    divergences.insert(divergences.end(), rows.begin(), rows.end());
  }
  return divergences;
}

std::vector<double> ForwardReplay::sums_of(const std::vector<double>& rows) const {
  std::vector<double> sums;
  for (std::size_t b = 0; b + 1 < batch_.offsets.size(); ++b) {
    sums.push_back(std::accumulate(rows.begin() + batch_.offsets[b],
                                   rows.begin() + batch_.offsets[b + 1], 0.0));
  }
  return sums;
}

std::vector<double> target_counts(const Batch& batch) {
  const std::int32_t* targets = batch.targets.data<std::int32_t>();
  std::vector<double> counts;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    const auto ignored =
        std::count(targets + batch.offsets[b], targets + batch.offsets[b + 1], kIgnoreTarget);
    counts.push_back(static_cast<double>(batch.offsets[b + 1] - batch.offsets[b] - ignored));
  }
  return counts;
}

PassedText read_from(const LanguageModel& model, const Batch& text, Index position,
                     ForwardHook& hook, RecordedPasses* kept) {
  const NoGrad no_grad;
  const Index layers = model.layer_count();
  if (kept == nullptr || !kept->keeps(text)) {
    const Tensor stream = model.residual(text, layers, {.hook = &hook});
    return {0, stream, model.hidden_from(layers, stream, text, {.hook = &hook})};
  }
  Index first = first_computed(model, position);
  std::shared_ptr<const RecordedPass> pass = first > 0 ? kept->find(text) : nullptr;
  if (pass == nullptr) {
    first = 0;
    pass = kept->keep(record_pass(model, text, {.hook = &hook}));
  } else {
    const ChangedRun run{&hook, 0, first};
    ForwardReplay(model, text, pass).run_below(layers, {&run, 1});
  }
  return {first, pass->residuals.back(), pass->ends};
}

}  // namespace headlight
