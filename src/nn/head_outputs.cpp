#include "nn/head_outputs.h"

#include "headlight/nn/forward_hook.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

// Returns each head's contribution to the output, [N, H, C], from the heads' outputs z [N, H, D],
// without the bias of c_proj.
Tensor head_results(const Tensor& z, const Linear& c_proj) {
  const Shape by_head{c_proj.weight.size(0), z.size(1), z.size(2)};
  const Tensor weights = permute(reshape(c_proj.full_weight(), by_head), {1, 2, 0});  // [H, D, C]
  return transpose(matmul(transpose(z, 0, 1), weights), 0, 1);
}

}  // namespace

Tensor projected_heads(const Tensor& joined, Index heads, const Linear& c_proj, Index layer,
                       const ForwardContext& context) {
  if (!wants_any(context.hook, {Point::z, Point::result}, layer)) {
    return c_proj.forward(joined, context);
  }
  const Shape by_head{joined.size(0), heads, joined.size(1) / heads};
  const Tensor z = visited(context.hook, {Point::z, layer}, reshape(joined, by_head));
  if (!context.hook->wants(Point::result, layer)) {
    return c_proj.forward(reshape(z, joined.shape()), context);
  }
  const Tensor all = visited(context.hook, {Point::result, layer}, head_results(z, c_proj));
  const Tensor projected = sum(all, {.axes = {1}});
  return c_proj.bias.defined() ? projected + c_proj.bias : projected;
}

}  // namespace headlight
