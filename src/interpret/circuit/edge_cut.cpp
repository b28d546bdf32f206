#include "interpret/circuit/edge_cut.h"

#include <algorithm>

#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/circuit/stream_reader.h"
#include "kernels/loops.h"
#include "kernels/threads/parallel.h"

namespace headlight {

bool ReaderStreams::wants(Point point, Index layer) const {
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
      return changes(point, layer);
    case Point::resid_post:
      return changes(Point::logits, layer);
    default:
      return false;
  }
}

Tensor ReaderStreams::visit(const HookSite& site, const Tensor& value) {
  switch (site.point) {
    case Point::resid_pre:
      if (site.layer == 0) {
        write(0, value);
      }
      [[fallthrough]];
    case Point::resid_mid:
      stream_ = to_contiguous(value);
      return value;
    case Point::result:
      write(graph_.head_sender(site.layer), head_rows(model_, site.layer, value));
      return value;
    case Point::ln1_scale:
      pass_norm(Branch::attention, site.layer, value);
      return value;
    case Point::ln2_scale:
      pass_norm(Branch::mlp, site.layer, value);
      return value;
    case Point::mlp_out: {
      const Tensor written = changes(Point::mlp_out, site.layer)
                                 ? read_port(model_, Point::mlp_out, site.layer,
                                             streams_of(Point::mlp_out, site.layer))
                                 : value;
      write(graph_.mlp_sender(site.layer), written);
      return written;
    }
    case Point::resid_post:
      stream_ = to_contiguous(value);
      return reshape(streams_of(Point::logits, site.layer), value.shape());
    default:
      return read_port(model_, site.point, site.layer, streams_of(site.point, site.layer));
  }
}

EdgeCut::EdgeCut(const Gpt& model, const CircuitGraph& graph, std::span<const KeptEdges> sets,
                 const SenderRows& other)
    : ReaderStreams(model, graph), sets_(sets), change_(model, graph, other, std::ssize(sets)) {}

bool EdgeCut::changes(Point port, Index layer) const {
  const CircuitGraph::Port receivers = graph().port(port, layer);
  return std::ranges::any_of(sets_, [&](const KeptEdges& kept) {
    const auto first = kept.begin() + receivers.first;
    return std::any_of(first, first + receivers.count, [](const std::vector<bool>& senders) {
      return std::ranges::find(senders, false) != senders.end();
    });
  });
}

void EdgeCut::pass_norm(Branch branch, Index layer, const Tensor& scale) {
  change_.pass_norm(branch, layer, scale);
  summed_ = 0;
}

void EdgeCut::sum_changes(Index senders) {
  if (summed_ == 0) {
    sum_ = Tensor::zeros({stream().numel()}, stream().dtype());
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
  const CircuitGraph::Port readers = graph().port(port, layer);
  sum_changes(readers.senders);
  const Index all = stream().numel();
  const Index length = all / std::ssize(sets_);
  const Index blocks = (length + kColumns - 1) / kColumns;
  Tensor streams =
      Tensor::empty({readers.count, stream().size(0), stream().size(1)}, stream().dtype());
  dispatch_floating(stream().dtype(), "streams_of", [&](auto zero) {
    using T = decltype(zero);
    const T* changes = change_.values().data<T>();
    // Columns `at` to `at + columns` of one reader.
    const auto write = [&](const std::vector<bool>& kept, Index at, Index columns, T* row) {
      const auto add = [&](T factor, const T* values) {
        kernels::loops<T>().add_scaled(factor, values + at, row, columns);
      };
      const bool few_kept = 2 * std::ranges::count(kept, true) < readers.senders;
      std::copy_n(stream().data<T>() + at, columns, row);
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

Tensor MaskedEdges::streams_of(Point port, Index layer) {
  const Tensor& mask = masks_.at({port, layer});
  const Index rows = stream().size(0);
  const Index width = stream().size(1);
  const Tensor lost = matmul(1 - mask, slice(changes_, 0, 0, mask.size(1)));  // [R, N C]
  return reshape(reshape(stream(), {1, rows * width}) - lost, {mask.size(0), rows, width});
}

void MaskedEdges::write(Index first, const Tensor& rows) {
  const Index count = rows.numel() / other_.size(1);
  const Tensor change =
      reshape(rows, {count, other_.size(1)}) - slice(other_, 0, first, first + count);
  changes_ = changes_.defined() ? concat({changes_, change}, 0) : change;
}

}  // namespace headlight
