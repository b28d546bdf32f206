#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "interpret/head_experiments_support.h"
#include "interpret/point_values.h"
#include "support/test.h"

namespace patch_grid_test {
const PatchingTask kTask = kTwoChanges;
const PatchingTask kLong = kLongAnswers;
using MakeHook = std::function<std::unique_ptr<ForwardHook>(const Ids& answer)>;

// The measured difference, with a new hook for the pass of each answer.
double difference_with(const Gpt& gpt, const PatchingTask& task, const Ids& text,
                       const MakeHook& hook) {
  return log_probability(gpt, text, task.answer, hook(task.answer).get()) -
         log_probability(gpt, text, task.wrong, hook(task.wrong).get());
}

// A text followed by all but the last token of an answer.
Ids followed(Ids text, const Ids& answer) {
  text.insert(text.end(), answer.begin(), answer.end() - 1);
  return text;
}

// Replaces one position, one item or all of a value by another value's.
Tensor with_part(const Tensor& value, const Tensor& other, Point point, std::optional<Index> item,
                 const std::vector<Index>& positions) {
  Tensor changed = to_contiguous(value).clone();
  const ValueLayout layout(point, value.shape());
  for (const Index position : positions) {
    for (Index i = item.value_or(0); i < (item ? *item + 1 : layout.items); ++i) {
      const Index begin = position * layout.row_stride + i * layout.item_stride;
      changed.strided_view({layout.width}, {1}, begin)
          .copy_from(other.strided_view({layout.width}, {1}, begin));
    }
  }
  return changed;
}

Tensor value_of(const Gpt& gpt, const Ids& text, Point point, Index layer) {
  return values_of(gpt, make_batch({text}),
                   [&](Point p, Index l) { return p == point && l == layer; })
      .at({point, layer});
}

TEST_CASE("a cell of any point equals a run with its values replaced") {
  const auto gpt = random_gpt(three_layers());
  struct Case {
    Point point;
    bool by_item;
  };
  for (const Case& shape :
       {Case{Point::resid_mid, false}, Case{Point::k, true}, Case{Point::pattern, true},
        Case{Point::mlp_post, true}, Case{Point::mlp_out, false}}) {
    for (const PatchingTask& task : {kTask, kLong}) {
      for (const bool noising : {false, true}) {
        INFO(name_of(shape.point) << (noising ? ", noising" : "") << task.answer.size());
        const PatchGrid grid = patch_grid(*gpt, task,
                                          {.point = shape.point,
                                           .by_item = shape.by_item,
                                           .by_position = true,
                                           .noising = noising});
        const PatchCell& cell = grid.cells[grid.cells.size() / 2];
        const auto hook = [&](const Ids& answer) {
          const Tensor other = value_of(*gpt, followed(noising ? task.corrupt : task.clean, answer),
                                        shape.point, cell.layer);
          return std::make_unique<HookAt>(shape.point, cell.layer, [=](const Tensor& value) {
            return with_part(value, other, shape.point, cell.item, {*cell.position});
          });
        };
        const Ids& read = noising ? task.clean : task.corrupt;
        CHECK(cell.difference == Approx(difference_with(*gpt, task, read, hook)).margin(1e-9));
      }
    }
  }
}

TEST_CASE("a cell of a group equals a run with the values of all its tokens replaced") {
  const auto gpt = random_gpt(three_layers());
  PatchingTask task = kLong;
  task.groups = {{"names", {1, 3}}, {"end", {4}}};
  const PatchGrid grid =
      patch_grid(*gpt, task, {.point = Point::v, .by_item = true, .by_group = true});
  REQUIRE(grid.cells.size() == 3 * 3 * 2);
  const PatchCell& cell = grid.cells[8];  // layer 1, head 1, names
  CHECK(cell.group == "names");
  CHECK_FALSE(cell.position.has_value());
  const auto hook = [&](const Ids& answer) {
    const Tensor other = value_of(*gpt, followed(task.clean, answer), Point::v, 1);
    return std::make_unique<HookAt>(Point::v, 1, [=](const Tensor& value) {
      return with_part(value, other, Point::v, 1, {1, 3});
    });
  };
  CHECK(cell.difference == Approx(difference_with(*gpt, task, task.corrupt, hook)).margin(1e-9));
}

TEST_CASE("pairs of different lengths are compared by their groups") {
  const auto gpt = random_gpt(three_layers());
  PatchingTask first = kTask;
  first.groups = {{"names", {1, 3}}, {"end", {4}}};
  PatchingTask second{{1, 2, 4}, {1, 7, 4}, {3, 1}, {8}};
  second.groups = {{"end", {2}}, {"names", {1}}};
  const PatchGridOptions options{.point = Point::resid_pre, .by_item = false, .by_group = true};
  const PatchStudy study = patch_pairs(*gpt, {first, second}, options);
  const PatchGrid alone = patch_grid(*gpt, second, options);
  REQUIRE(study.cells.size() == 3 * 2);
  CHECK(study.cells[0].cell.group == "names");
  CHECK(study.cells[1].cell.group == "end");
  CHECK(study.pairs[1].cells[0].recovered == Approx(alone.cells[1].recovered));
  CHECK(study.cells[0].cell.recovered ==
        Approx((study.pairs[0].cells[0].recovered + alone.cells[1].recovered) / 2));
  const auto refused = [&](const std::vector<TokenGroup>& groups) {
    PatchingTask other = second;
    other.groups = groups;
    return error_of([&] { patch_pairs(*gpt, {first, other}, options); });
  };
  CHECK(mentions(refused({{"end", {2}}}), {"pairs: ", "names, end", "got end in pair 2"}));
  CHECK(mentions(refused({}), {"pairs: ", "got none in pair 2"}));
  CHECK(mentions(refused({{"end", {3}}, {"names", {1}}}), {"pair 2: group: ", "'end'", "0 to 2"}));
  CHECK(mentions(refused({{"end", {}}, {"names", {1}}}), {"group: ", "'end'", "got none"}));
  check_error([&] { patch_grid(*gpt, kTask, options); }, {"group: ", "got none"});
  first.groups = {{"a", {1}}, {"a", {2}}};
  check_error([&] { patch_grid(*gpt, first, options); }, {"group: ", "'a' twice"});
}

TEST_CASE("patching the residual stream at all positions recovers the clean answer completely") {
  const auto gpt = random_gpt(three_layers());
  for (const PatchingTask& task : {kTask, kLong}) {
    for (const bool noising : {false, true}) {
      const PatchGrid grid = patch_grid(
          *gpt, task, {.point = Point::resid_post, .by_item = false, .noising = noising});
      REQUIRE(grid.cells.size() == 3);
      for (const PatchCell& cell : grid.cells) {
        CHECK(cell.recovered == Approx(1));
      }
    }
  }
}

TEST_CASE("attribution patching equals the derivative of patching at its start") {
  const auto gpt = random_gpt(three_layers());
  for (const Point point : {Point::z, Point::resid_pre, Point::pattern}) {
    for (const PatchingTask& task : {kTask, kLong}) {
      INFO(name_of(point) << task.answer.size());
      const PatchGrid grid =
          patch_grid(*gpt, task, {.point = point, .by_item = false, .attribution = true});
      constexpr double kStep = 1e-5;
      const auto at = [&](double step) {
        const auto hook = [&](const Ids& answer) {
          const Tensor clean = value_of(*gpt, followed(task.clean, answer), point, 1);
          return std::make_unique<HookAt>(
              point, 1, [=](const Tensor& value) { return value + (clean - value) * step; });
        };
        return difference_with(*gpt, task, task.corrupt, hook);
      };
      const double slope = (at(kStep) - at(-kStep)) / (2 * kStep);
      CHECK(grid.cells[1].attribution ==
            Approx(slope / (grid.clean_difference - grid.corrupt_difference)).margin(1e-7));
    }
  }
}

TEST_CASE("pairs give means with intervals and the agreement of attribution with patching") {
  const auto gpt = random_gpt(three_layers());
  const PatchingTask other{{2, 2, 3, 4, 6}, {2, 7, 3, 4, 6}, {5}, {9}};
  const PatchStudy study = patch_pairs(*gpt, {kTask, other}, {.attribution = true});
  REQUIRE(study.pairs.size() == 2);
  for (std::size_t i = 0; i < study.cells.size(); ++i) {
    const double a = study.pairs[0].cells[i].recovered;
    const double b = study.pairs[1].cells[i].recovered;
    CHECK(study.cells[i].cell.recovered == Approx((a + b) / 2).margin(1e-12));
    CHECK(study.cells[i].recovered.low == Approx(std::min(a, b)).margin(1e-12));
    CHECK(study.cells[i].recovered.high == Approx(std::max(a, b)).margin(1e-12));
  }
  CHECK(std::abs(study.correlation) <= 1);
  CHECK(std::isnan(patch_pairs(*gpt, {kTask}, {}).correlation));
  const PatchingTask longer{{1, 2, 3, 4, 5, 6}, {1, 7, 3, 4, 5, 6}, {3}, {8}};
  const auto refused = [&](const std::vector<PatchingTask>& tasks,
                           const PatchGridOptions& options) {
    return error_of([&] { patch_pairs(*gpt, tasks, options); });
  };
  CHECK(mentions(refused({kTask, longer}, {.by_position = true}), {"pairs: ", "5", "6", "pair 2"}));
  CHECK(mentions(refused({kTask, {{}, {}, {3}, {8}}}, {}), {"pair 2: clean"}));
}

TEST_CASE("path patching changes only the sender's contribution to the receiver's input") {
  const auto gpt = random_gpt(three_layers());
  for (const Point into : {Point::q, Point::k, Point::v}) {
    for (const PatchingTask& task : {kTask, kLong}) {
      const PathEffect cell = patch_path(*gpt, task, head_path({0, 1}, {2, 0}, into));
      const auto hook = [&](const Ids& answer) {
        const Ids corrupt = followed(task.corrupt, answer);
        const Tensor change = value_of(*gpt, followed(task.clean, answer), Point::result, 0) -
                              value_of(*gpt, corrupt, Point::result, 0);
        const Tensor written =  // of head 1
            reshape(slice(change, 1, 1, 2), {change.size(0), change.size(2)});
        HookAt stream(Point::resid_pre, 2, [&](const Tensor& x) { return x + written; });
        KeepValues keep([&](Point point, Index layer) { return point == into && layer == 2; });
        HookPair both(&stream, &keep);
        gpt->hidden(make_batch({corrupt}), {.hook = &both});
        const Tensor read = keep.values.at({into, 2});
        return std::make_unique<HookAt>(into, 2, [=](const Tensor& value) {
          return concat({slice(read, 1, 0, 1), slice(value, 1, 1, value.size(1))}, 1);
        });
      };
      CHECK(cell.difference ==
            Approx(difference_with(*gpt, task, task.corrupt, hook)).margin(1e-9));
      CHECK(std::abs(cell.recovered) > 1e-6);
    }
  }
  const auto refused = [&](const PatchPath& path) {
    return error_of([&] { patch_path(*gpt, kTask, path); });
  };
  CHECK(mentions(refused(head_path({1, 0}, {1, 1})), {"receiver: ", "after 1.0", "1.1"}));
  CHECK(mentions(refused(head_path({0, 0}, {1, 1}, Point::z)), {"receiver: ", "q, k or v", "z"}));
  CHECK(mentions(refused(head_path({0, 7}, {1, 1})), {"0.7"}));
}

TEST_CASE("grids refuse points and layers and positions that do not exist") {
  const auto gpt = random_gpt(three_layers());
  const auto refused = [&](const PatchGridOptions& options) {
    return error_of([&] { patch_grid(*gpt, kTask, options); });
  };
  CHECK(refused({.point = Point::embed}) == "point: expected a point of layers, got embed");
  CHECK(refused({.point = Point::rot_q}) == "point: this model does not compute rot_q");
  CHECK(refused({.layers = {3, 4}}) == "layers: expected layers 0 to 2, got none of them");
  CHECK(refused({.by_position = true, .positions = {5}}) ==
        "layers: expected layers 0 to 2 and positions 0 to 4, got none of them");
}
}  // namespace patch_grid_test
