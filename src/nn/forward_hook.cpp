#include "headlight/nn/forward_hook.h"

#include "headlight/base/error.h"

namespace headlight {
namespace {

const char* name_of(Point point) {
  switch (point) {
    case Point::resid_pre:
      return "hook_resid_pre";
    case Point::q:
      return "attn.hook_q";
    case Point::k:
      return "attn.hook_k";
    case Point::v:
      return "attn.hook_v";
    case Point::pattern:
      return "attn.hook_pattern";
    case Point::z:
      return "attn.hook_z";
    case Point::attn_out:
      return "hook_attn_out";
    case Point::resid_mid:
      return "hook_resid_mid";
    case Point::mlp_pre:
      return "mlp.hook_pre";
    case Point::mlp_post:
      return "mlp.hook_post";
    case Point::mlp_out:
      return "hook_mlp_out";
    case Point::resid_post:
      break;
  }
  return "hook_resid_post";
}

}  // namespace

std::string point_name(Point point, Index layer) {
  return "blocks." + std::to_string(layer) + "." + name_of(point);
}

Tensor visited(ForwardHook* hook, const Place& place, const Tensor& value) {
  if (hook == nullptr || !hook->wants(place.point, place.layer)) {
    return value;
  }
  Tensor result = hook->visit(place, value);
  require(result.defined() && result.shape() == value.shape() && result.dtype() == value.dtype(),
          "[ForwardHook] ", point_name(place.point, place.layer), ": expected ", value.shape(), " ",
          name_of(value.dtype()), " in return, as it was given");
  return result;
}

}  // namespace headlight
