#include "interpret/circuit/edge_cut.h"

#include <algorithm>

#include "headlight/ops/layout.h"
#include "interpret/circuit/stream_reader.h"
#include "kernels/loops.h"
#include "kernels/threads/parallel.h"

namespace headlight {

EdgeCut::EdgeCut(const Gpt& model, const CircuitGraph& graph, std::span<const KeptEdges> sets,
                 const SenderRows& other)
    : model_(model), graph_(graph), sets_(sets), change_(model, graph, other, std::ssize(sets)) {}

bool EdgeCut::wants(Point point, Index layer) const {
  switch (point) {
    case Point::resid_pre:
    case Point::resid_mid:
    case Point::result:
    case Point::mlp_out:
      return true;
    case Point::ln1_scale:
    case Point::ln2_scale:
      return model_.config().norm == NormPosition::post;
    case Point::q:
    case Point::k:
    case Point::v:
    case Point::ln2:
      return cuts_any(point, layer);
    case Point::resid_post:
      return layer + 1 == model_.config().n_layer;
    default:
      return false;
  }
}

Tensor EdgeCut::visit(const HookSite& site, const Tensor& value) {
  switch (site.point) {
    case Point::resid_pre:
      if (site.layer == 0) {
        change_.write(0, value);
      }
      [[fallthrough]];
    case Point::resid_mid:
      stream_ = to_contiguous(value);
      return value;
    case Point::result:
      change_.write(graph_.head_sender(site.layer), head_rows(model_, site.layer, value));
      return value;
    case Point::ln1_scale:
      change_.pass_norm(Branch::attention, site.layer, value);
      summed_ = 0;
      return value;
    case Point::ln2_scale:
      change_.pass_norm(Branch::mlp, site.layer, value);
      summed_ = 0;
      return value;
    case Point::mlp_out: {
      const Tensor written = cuts_any(Point::mlp_out, site.layer)
                                 ? read_port(model_, Point::mlp_out, site.layer,
                                             streams_of(Point::mlp_out, site.layer))
                                 : value;
      change_.write(graph_.mlp_sender(site.layer), written);
      return written;
    }
    case Point::resid_post:
      stream_ = to_contiguous(value);
      return reshape(streams_of(Point::logits, site.layer), value.shape());
    default:
      return read_port(model_, site.point, site.layer, streams_of(site.point, site.layer));
  }
}

void EdgeCut::sum_changes(Index senders) {
  if (summed_ == 0) {
    sum_ = Tensor::zeros({stream_.numel()}, stream_.dtype());
  }
  dispatch_floating(sum_.dtype(), "sum_changes", [&](auto zero) {
    using T = decltype(zero);
    const T* changes = change_.values().data<T>();
    kernels::parallel_for(sum_.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
      for (Index sender = summed_; sender < senders; ++sender) {
        kernels::loops<T>().add_scaled(T{1}, changes + sender * sum_.numel() + begin,
                                       sum_.data<T>() + begin, end - begin);
      }
    });
  });
  summed_ = senders;
}

// Streams of the readers, [R, K N, C], with cut senders as on the other text: the stream without
// the changes of cut senders, or that of the other text with the changes of kept ones, whichever
// has fewer terms.
Tensor EdgeCut::streams_of(Point port, Index layer) {
  constexpr Index kColumns = 2048;  // the changes of all senders fit into a core's cache
  const CircuitGraph::Port readers = graph_.port(port, layer);
  sum_changes(readers.senders);
  const Index all = stream_.numel();
  const Index length = all / std::ssize(sets_);
  const Index blocks = (length + kColumns - 1) / kColumns;
  Tensor streams =
      Tensor::empty({readers.count, stream_.size(0), stream_.size(1)}, stream_.dtype());
  dispatch_floating(stream_.dtype(), "streams_of", [&](auto zero) {
    using T = decltype(zero);
    const T* changes = change_.values().data<T>();
    // Columns `at` to `at + columns` of one reader.
    const auto write = [&](const std::vector<bool>& kept, Index at, Index columns, T* row) {
      const auto add = [&](T factor, const T* values) {
        kernels::loops<T>().add_scaled(factor, values + at, row, columns);
      };
      const bool few_kept = 2 * std::ranges::count(kept, true) < readers.senders;
      std::copy_n(stream_.data<T>() + at, columns, row);
      if (few_kept) {
        add(T{-1}, sum_.data<T>());
      }
      for (Index sender = 0; sender < readers.senders; ++sender) {
        if (kept[static_cast<std::size_t>(sender)] == few_kept) {
          add(few_kept ? T{1} : T{-1}, changes + sender * all);
        }
      }
    };
    kernels::parallel_for(std::ssize(sets_) * blocks, 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const KeptEdges& set = sets_[static_cast<std::size_t>(i / blocks)];
        const Index column = i % blocks * kColumns;
        const Index at = i / blocks * length + column;
        for (Index reader = 0; reader < readers.count; ++reader) {
          write(set[static_cast<std::size_t>(readers.first + reader)], at,
                std::min(kColumns, length - column), streams.data<T>() + reader * all + at);
        }
      }
    });
  });
  return streams;
}

bool EdgeCut::cuts_any(Point port, Index layer) const {
  const CircuitGraph::Port receivers = graph_.port(port, layer);
  return std::ranges::any_of(sets_, [&](const KeptEdges& kept) {
    const auto first = kept.begin() + receivers.first;
    return std::any_of(first, first + receivers.count, [](const std::vector<bool>& senders) {
      return std::ranges::find(senders, false) != senders.end();
    });
  });
}

}  // namespace headlight
