#include "interpret/effects/forward_replay.h"

#include <deque>

#include "interpret/point_values.h"
#include "support/test.h"

namespace forward_replay_test {

// Adds a number to the values of a point in one layer, from a position on.
class Shift final : public ForwardHook {
 public:
  Shift(Point point, Index layer, Index first) : point_(point), layer_(layer), first_(first) {}

  void begin(const Batch& rows) override {
    positions_ = rows.positions.to_vector();
    offsets_ = rows.offsets;
  }
  bool wants(Point point, Index layer) const override { return point == point_ && layer == layer_; }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    Tensor changed = to_contiguous(value).clone();
    const ValueLayout layout(site.point, value.shape());
    const bool is_map = items_of(site.point) == PointItems::maps;
    const Index begin = is_map ? offsets_[static_cast<std::size_t>(site.sequence)] : 0;
    for (Index row = 0; row < layout.rows; ++row) {
      const double position = positions_[static_cast<std::size_t>(begin + row)];
      for (Index item = 0; item < layout.items && position >= static_cast<double>(first_); ++item) {
        const Index at = row * layout.row_stride + item * layout.item_stride;
        const Index width = is_map ? static_cast<Index>(position) + 1 : layout.width;
        changed.strided_view({width}, {1}, at)
            .copy_from(changed.strided_view({width}, {1}, at).clone() + 0.1 * (position + 1));
      }
    }
    return changed;
  }

 private:
  Point point_;
  Index layer_;
  Index first_;
  std::vector<double> positions_;
  std::vector<Index> offsets_;
};

std::vector<GptConfig> all_kinds() {
  std::vector<GptConfig> configs = configs_of_all_kinds();
  for (const Index window : {2, 3}) {
    configs.push_back(configs[5]);
    configs.back().windows = {window, 0, window};
  }
  configs.push_back(configs[0]);
  configs.back().causal = false;
  return configs;
}

std::unique_ptr<Gpt> random_model(const GptConfig& config) {
  auto gpt = std::make_unique<Gpt>(config, 1, DType::float64);
  draw_normal(gpt->parameters(), 5, 0.1, 0.4);
  return gpt;
}

TEST_CASE("runs that are computed together equal passes on their own, in models of all kinds") {
  const Batch batch = make_batch({{1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12}});
  for (const GptConfig& config : all_kinds()) {
    const auto gpt = random_model(config);
    const NoGrad no_grad;
    std::deque<Shift> hooks;
    std::vector<ChangedRun> runs;
    std::vector<Tensor> expected;
    const auto add = [&](Point point, Index layer, Index first) {
      Shift alone(point, layer, first);
      expected.push_back(gpt->hidden(batch, {.hook = &alone}));
      runs.push_back({&hooks.emplace_back(point, layer, first),
                      is_in_layer(point)      ? layer
                      : point == Point::embed ? -1
                                              : config.n_layer,
                      first_computed(*gpt, first)});
    };
    for (const Index first : {4, 0, 6}) {
      add(Point::embed, 0, first);
      add(Point::ln_final, 0, first);
      for (const Point point : {Point::z, Point::resid_pre, Point::mlp_out, Point::q, Point::k,
                                Point::v, Point::pattern, Point::resid_post}) {
        for (Index layer = 0; layer < config.n_layer; ++layer) {
          add(point, layer, first);
        }
      }
    }
    for (const Index memory : {0, 1}) {  // bytes; 1: each alone
      const ForwardReplay replay(*gpt, batch, nullptr, memory);
      CHECK((replay.runs_at_once(runs) == 1) == (memory == 1));
      std::size_t done = 0;
      replay.for_ends(runs, [&](std::size_t first, const Tensor& ends) {
        REQUIRE(first == done);
        for (Index row = 0; row < ends.size(0); row += batch.token_count()) {
          CAPTURE(name_of(config.norm), config.windows, config.causal, memory, done);
          const Tensor own = slice(ends, 0, row, row + batch.token_count());
          CHECK(largest_difference(own, expected[done++]) < 1e-12);
        }
      });
      CHECK(done == runs.size());
    }
  }
}

TEST_CASE("an attached hook sees whole texts in every run") {
  const auto gpt = random_model(configs_of_all_kinds()[0]);
  const Batch batch = make_batch({{1, 2, 3, 4, 5}});
  gpt->attach(std::make_shared<Shift>(Point::mlp_out, 0, 2));
  const ForwardReplay replay(*gpt, batch);
  CHECK(first_computed(*gpt, 3) == 0);
  Shift alone(Point::z, 1, 3);
  Shift hook(Point::z, 1, 3);
  const Tensor expected = gpt->hidden(batch, {.hook = &alone});
  const std::vector<ChangedRun> runs{{&hook, 1, first_computed(*gpt, 3)}};
  replay.for_ends(runs, [&](std::size_t, const Tensor& ends) {
    CHECK(largest_difference(ends, expected) < 1e-12);
  });
}

}  // namespace forward_replay_test
