#include "interpret/circuit/edge_masks.h"

#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/circuit/stream_reader.h"

namespace headlight {

bool MaskedEdges::wants(Point point, Index layer) const {
  return point == Point::resid_pre || point == Point::resid_mid || point == Point::result ||
         point == Point::mlp_out ||
         (point == Point::resid_post && masks_.contains({Point::logits, layer})) ||
         masks_.contains({point, layer});
}

Tensor MaskedEdges::visit(const HookSite& site, const Tensor& value) {
  switch (site.point) {
    case Point::resid_pre:
      if (site.layer == 0) {
        write(value);
      }
      [[fallthrough]];
    case Point::resid_mid:
      stream_ = value;
      return value;
    case Point::result:
      write(head_rows(model_, site.layer, value));
      return value;
    case Point::mlp_out: {
      const Tensor written = graph_.mlp_port() == Point::mlp_out
                                 ? read_port(model_, Point::mlp_out, site.layer,
                                             streams_of(Point::mlp_out, site.layer))
                                 : value;
      write(written);
      return written;
    }
    case Point::resid_post:
      stream_ = value;
      return reshape(streams_of(Point::logits, site.layer), value.shape());
    default:
      return read_port(model_, site.point, site.layer, streams_of(site.point, site.layer));
  }
}

Tensor MaskedEdges::streams_of(Point port, Index layer) const {
  const Tensor& mask = masks_.at({port, layer});
  const Index rows = stream_.size(0);
  const Index width = stream_.size(1);
  const Tensor lost = matmul(1 - mask, slice(changes_, 0, 0, mask.size(1)));  // [R, N C]
  return reshape(reshape(stream_, {1, rows * width}) - lost, {mask.size(0), rows, width});
}

void MaskedEdges::write(const Tensor& rows) {
  const Index first = changes_.defined() ? changes_.size(0) : 0;
  const Index count = rows.numel() / other_.size(1);
  const Tensor change =
      reshape(rows, {count, other_.size(1)}) - slice(other_, 0, first, first + count);
  changes_ = changes_.defined() ? concat({changes_, change}, 0) : change;
}

}  // namespace headlight
