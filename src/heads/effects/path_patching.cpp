#include "headlight/base/error.h"
#include "headlight/heads/effects/patch_grid.h"
#include "headlight/ops/layout.h"
#include "heads/effects/answer_contrast.h"
#include "heads/point_values.h"

namespace headlight {
namespace {

// Hook that replaces values at some points.
class PutValues final : public ForwardHook {
 public:
  bool wants(Point point, Index layer) const override { return values.contains({point, layer}); }
  Tensor visit(const Place& place, const Tensor& /*value*/) override {
    return values.at({place.point, place.layer});
  }

  PointValues values;
};

// Copies one head of a value [N, H, D].
void copy_head(const Tensor& from, Index head, Tensor& to) {
  slice(to, 1, head, head + 1).copy_from(slice(from, 1, head, head + 1));
}

// Input of the receiver when only the sender has its clean output. All other heads and MLPs keep
// their corrupt outputs, so the change travels only along the direct path.
Tensor received(const Gpt& model, const AnswerContrast& contrast, const PatchingTask& task,
                const PatchPath& path) {
  const auto is_written = [](Point point, Index) {
    return point == Point::z || point == Point::mlp_out;
  };
  PutValues held;
  held.values = values_of(model, contrast.batch(task.corrupt), is_written);
  const PointValues clean = values_of(model, contrast.batch(task.clean), is_written);
  const Spot sender{Point::z, path.from.layer};
  copy_head(clean.at(sender), place_of(path.from, model.heads()), held.values.at(sender));
  KeepValues receiver(
      [&](Point point, Index layer) { return point == path.into && layer == path.to.layer; });
  HookPair both(&held, &receiver);
  contrast.difference(model, task.corrupt, &both);
  return receiver.values.at({path.into, path.to.layer});
}

}  // namespace

PatchCell patch_path(const Gpt& model, const PatchingTask& task, const PatchPath& path) {
  const AnswerContrast contrast(model, task);
  require_value(path.into == Point::q || path.into == Point::k || path.into == Point::v, "path",
                "expected q, k or v of the receiver, got ", name_of(path.into));
  const Index place = place_of(path.to, model.heads());
  place_of(path.from, model.heads());
  require_value(path.from.layer < path.to.layer, "path", "expected a receiver after layer ",
                path.from.layer, ", got ", head_name(path.to));
  const double clean = contrast.difference(model, task.clean);
  const double corrupt = contrast.difference(model, task.corrupt);
  contrast.require_different(clean, corrupt);
  const Spot receiver{path.into, path.to.layer};
  PutValues changed;
  changed.values = values_of(model, contrast.batch(task.corrupt), [&](Point point, Index layer) {
    return Spot{point, layer} == receiver;
  });
  const Index head = path.into == Point::q
                         ? place
                         : block_plan(model.config(), path.to.layer).attention.key_head(place);
  copy_head(received(model, contrast, task, path), head, changed.values.at(receiver));
  const double difference = contrast.difference(model, task.corrupt, &changed);
  return {.layer = path.to.layer,
          .item = path.to.head,
          .difference = difference,
          .recovered = (difference - corrupt) / (clean - corrupt)};
}

}  // namespace headlight
