#include "heads/circuit/edge_cut.h"

#include <algorithm>

#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "heads/circuit/stream_reader.h"

namespace headlight {

EdgeCut::EdgeCut(const Gpt& model, const CircuitGraph& graph,
                 const std::vector<std::vector<bool>>& kept, const Tensor& other)
    : model_(model),
      graph_(graph),
      kept_(kept),
      other_(other),
      change_(Tensor::zeros(other.shape(), other.dtype())) {}

bool EdgeCut::wants(Point point, Index layer) const {
  switch (point) {
    case Point::resid_pre:
    case Point::resid_mid:
    case Point::result:
    case Point::mlp_out:
      return true;
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

Tensor EdgeCut::visit(const Place& place, const Tensor& value) {
  switch (place.point) {
    case Point::resid_pre:
      stream_ = value;
      if (place.layer == 0) {
        write(0, value);
      }
      return value;
    case Point::resid_mid:
      stream_ = value;
      return value;
    case Point::result:
      write(graph_.head_sender(place.layer), to_contiguous(transpose(value, 0, 1)));
      return value;
    case Point::mlp_out:
      write(graph_.mlp_sender(place.layer), value);
      return value;
    case Point::ln2:
      return model_.block(place.layer)
          .norm(Branch::mlp)
          .forward(reshape(streams_of(Point::ln2, place.layer), value.shape()));
    case Point::resid_post:
      stream_ = value;
      return reshape(streams_of(Point::logits, place.layer), value.shape());
    default:
      break;
  }
  const Index part = place.point == Point::q ? 0 : place.point == Point::k ? 1 : 2;
  return to_contiguous(
      read_by_heads(model_, place.layer, part, streams_of(place.point, place.layer)));
}

// Rows [R, N, C] of senders in a row.
void EdgeCut::write(Index sender, const Tensor& rows) {
  const Index length = other_.size(1);
  const Index count = rows.numel() / length;
  change_.strided_view({count, length}, {length, 1}, sender * length)
      .copy_from(reshape(rows, {count, length}) - slice(other_, 0, sender, sender + count));
}

// [R, N, C]: the stream of each reader, with what it is cut from as it was on the other text.
Tensor EdgeCut::streams_of(Point port, Index layer) const {
  const Index first = graph_.first_receiver(port, layer);
  const Index count = graph_.receiver_count(port, layer);
  const Index senders = graph_.receivers()[static_cast<std::size_t>(first)].senders;
  std::vector<double> cut;
  for (Index receiver = first; receiver < first + count; ++receiver) {
    for (const bool is_kept : kept_[static_cast<std::size_t>(receiver)]) {
      cut.push_back(is_kept ? 0 : -1);
    }
  }
  const Tensor factors = convert(Tensor::from(cut, {count, senders}), other_.dtype());
  const Tensor taken = matmul(factors, slice(change_, 0, 0, senders));  // [R, N C]
  return reshape(taken, {count, stream_.size(0), stream_.size(1)}) +
         reshape(stream_, {1, stream_.size(0), stream_.size(1)});
}

bool EdgeCut::cuts_any(Point port, Index layer) const {
  const auto first = kept_.begin() + graph_.first_receiver(port, layer);
  return std::any_of(first, first + graph_.receiver_count(port, layer),
                     [](const std::vector<bool>& kept) {
                       return std::find(kept.begin(), kept.end(), false) != kept.end();
                     });
}

}  // namespace headlight
