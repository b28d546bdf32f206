#include "headlight/interpret/effects/patch_grid.h"
#include "interpret/head_experiments_support.h"
#include "interpret/point_values.h"
#include "support/test.h"

// AtP*: attribution with attention computed again, and with dropped gradients.

const PatchingTask kTask = kTwoChanges;

// A model without MLPs whose queries are so large that attention chooses one key.
std::unique_ptr<Gpt> saturated_gpt() {
  GptConfig config = three_layers();
  config.mlp = false;
  auto gpt = random_gpt(config);
  Tensor qkv = parameter_of(*gpt, "h.2.attn.c_attn.weight").detach();
  Tensor queries = slice(qkv, 0, 0, 12);
  queries.copy_from(queries * 12.0);
  return gpt;
}

struct Errors {
  double of_attribution = 0;
  double of_fixed = 0;
};

// Summed differences from patching, in the last layer.
Errors errors_of(const Gpt& gpt, Point point) {
  PatchGridOptions options{
      .point = point, .layers = {2, 2}, .by_position = true, .attribution = true};
  const PatchGrid plain = patch_grid(gpt, kTask, options);
  options.fix_pattern = true;
  const PatchGrid fixed = patch_grid(gpt, kTask, options);
  Errors errors;
  for (std::size_t i = 0; i < plain.cells.size(); ++i) {
    errors.of_attribution += std::abs(plain.cells[i].attribution - plain.cells[i].recovered);
    errors.of_fixed += std::abs(fixed.cells[i].attribution - fixed.cells[i].recovered);
  }
  return errors;
}

// Hook that holds the outputs of a layer, and moves one cell of z by a share of its change.
class HeldLayer final : public ForwardHook {
 public:
  HeldLayer(const PointValues& own, const PointValues& other, Index held, const PatchCell& cell,
            double share)
      : own_(own), other_(other), held_(held), cell_(cell), share_(share) {}
  bool wants(Point point, Index layer) const override {
    return (layer == held_ && (point == Point::attn_out || point == Point::mlp_out)) ||
           (layer == cell_.layer && point == Point::z);
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    if (site.point != Point::z) {
      return own_.at({site.point, site.layer});
    }
    Tensor changed = to_contiguous(value).clone();
    const Tensor change = (other_.at({Point::z, site.layer}) - own_.at({Point::z, site.layer}));
    Tensor head = slice(changed, 1, *cell_.item, *cell_.item + 1);
    head.copy_from(head + slice(change, 1, *cell_.item, *cell_.item + 1) * share_);
    return changed;
  }

 private:
  const PointValues& own_;
  const PointValues& other_;
  Index held_;
  const PatchCell& cell_;
  double share_;
};

TEST_CASE("attribution with patched attention is nearer to patching where attention saturates") {
  const auto gpt = saturated_gpt();
  for (const Point point : {Point::q, Point::k}) {
    const Errors errors = errors_of(*gpt, point);
    INFO(name_of(point) << " " << errors.of_attribution << " " << errors.of_fixed);
    CHECK(errors.of_fixed < 0.5 * errors.of_attribution);
  }
}

TEST_CASE("patched attention needs queries or keys") {
  const auto gpt = random_gpt(three_layers());
  const PatchGridOptions options{.patch = false, .attribution = true, .fix_pattern = true};
  check_error([&] { patch_grid(*gpt, kTask, options); }, {"qk_fix", "q, k", "z"});
}

TEST_CASE("dropped gradients average absolute effects with each other layer held") {
  const auto gpt = random_gpt(three_layers());
  const auto values = [&](const Ids& text) {
    return values_of(*gpt, make_batch({text}), [](Point point, Index) {
      return point == Point::z || point == Point::attn_out || point == Point::mlp_out;
    });
  };
  const PointValues own = values(kTask.corrupt);
  const PointValues other = values(kTask.clean);
  const AnswerContrast contrast(*gpt, kTask);
  const PatchGrid grid =
      patch_grid(*gpt, kTask, {.patch = false, .attribution = true, .drop_gradients = true});
  const double whole = grid.clean_difference - grid.corrupt_difference;
  REQUIRE(grid.cells.size() == 9);
  for (const PatchCell& cell : grid.cells) {
    double sum = 0;
    for (Index held = 0; held < 3; ++held) {
      if (held == cell.layer) {
        continue;
      }
      constexpr double kShare = 1e-4;
      HeldLayer up(own, other, held, cell, kShare);
      HeldLayer down(own, other, held, cell, -kShare);
      sum += std::abs(contrast.difference(*gpt, kTask.corrupt, &up) -
                      contrast.difference(*gpt, kTask.corrupt, &down)) /
             (2 * kShare);
    }
    INFO(cell.layer << "." << *cell.item);
    CHECK(cell.attribution == Approx(sum / 2 / std::abs(whole)).epsilon(1e-4));
  }
}
