#include "headlight/ops/layout.h"

#include "course/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/indexing.h"

namespace headlight::cli {
namespace {

void reshape_cases(GradientCases& to) {
  const auto reshaped = [](const Shape& shape) { return [=](In x) { return reshape(x, shape); }; };
  add(to, "reshape", reshaped({3, 4}),
      {{"a view", {{2, 6}}},
       {"a size to be worked out", {{2, 6}}, reshaped({2, -1, 2})},
       {"a copy of a transposed input", {transposed({2, 6})}, reshaped({4, 3})},
       {"to a scalar", {{1, 1}}, reshaped({})},
       {"no elements", {{0, 3}}, reshaped({3, 0, 2})},
       {"an input used twice", {{6}}, [](In x) {
          return reshape(x, {2, 3}) * reshape(x, {2, 3});
        }}});
}

void permute_cases(GradientCases& to) {
  const auto permuted = [](const std::vector<Index>& axes) {
    return [axes](In x) { return permute(x, axes); };
  };
  add(to, "transpose", [](In x) { return transpose(x); },
      {{"a matrix", {{2, 3}}},
       {"the outer axes", {{2, 3, 4}}, [](In x) { return transpose(x, 0, -1); }},
       {"an axis with itself", {{2, 3}}, [](In x) { return transpose(x, 1, 1); }},
       {"an input used twice", {{3, 3}}, [](In x) { return x * transpose(x); }}});
  add(to, "permute", permuted({}),
      {{"four axes", {{2, 3, 1, 4}}, permuted({2, 0, 3, 1})},
       {"axes counted from the end", {{2, 3, 4}}, permuted({-1, 0, -2})},
       {"no elements", {{2, 0, 3}}, permuted({1, 2, 0})},
       {"a scalar", {{}}}});
}

void slice_cases(GradientCases& to) {
  const auto sliced = [](Index axis, Index start, Index end, Index step = 1) {
    return [=](In x) { return slice(x, axis, start, end, step); };
  };
  add(to, "slice", {},
      {{"a range of rows", {{5, 2}}, sliced(0, 1, 4)},
       {"every third column", {{2, 8}}, sliced(1, 1, 8, 3)},
       {"bounds counted from the end", {{6}}, sliced(0, -4, -1, 2)},
       {"bounds beyond the end", {{3, 2}}, sliced(0, 2, 100)},
       {"nothing", {{3, 2}}, sliced(0, 2, 1)},
       {"a transposed input", {transposed({4, 3})}, sliced(0, 0, 4, 2)},
       {"overlapping parts", {{5}}, [](In x) { return slice(x, 0, 0, 4) * slice(x, 0, 1, 5); }}});
}

void axis_cases(GradientCases& to) {
  const auto selected = [](Index axis, Index index) {
    return [=](In x) { return select(x, axis, index); };
  };
  add(to, "select", selected(0, 1),
      {{"a row", {{3, 4}}},
       {"the last column", {{3, 4}}, selected(-1, -1)},
       {"a vector to a scalar", {{3}}},
       {"no elements", {{2, 0}}},
       {"a transposed input", {transposed({3, 4})}},
       {"an input used twice", {{3, 4}}, [](In x) { return select(x, 0, 0) * select(x, 0, 2); }}});
  const auto widened = [](Index axis) { return [=](In x) { return unsqueeze(x, axis); }; };
  add(to, "unsqueeze", widened(0),
      {{"in front", {{2, 3}}},
       {"at the end", {{2, 3}}, widened(-1)},
       {"in the middle of a transposed input", {transposed({2, 3})}, widened(1)},
       {"a scalar", {{}}},
       {"no elements", {{0, 3}}}});
  add(to, "squeeze", [](In x) { return squeeze(x); },
      {{"all axes of size 1", {{1, 3, 1, 2}}},
       {"one axis", {{1, 3, 1}}, [](In x) { return squeeze(x, 0); }},
       {"an axis that stays", {{2, 3}}, [](In x) { return squeeze(x, -1); }},
       {"one element to a scalar", {{1, 1}}},
       {"no elements", {{0, 1}}}});
}

void indexing_cases(GradientCases& to) {
  const auto gathered = [](Index axis, const Tensor& indices) {
    return [=](In x) { return gather(x, axis, indices); };
  };
  const Tensor rows = Tensor::from({0, 2, 2, 1, 0, 0}, {2, 3});
  add(to, "gather", gathered(0, rows),
      {{"rows, some of them twice", {{3, 4}}},
       {"columns", {{2, 3}}, gathered(1, rows)},
       {"a transposed input", {transposed({3, 3})}, gathered(-1, rows)},
       {"transposed indices", {{3, 3}}, gathered(1, transpose(rows))},
       {"no indices", {{2, 3}}, gathered(0, Tensor::zeros({0, 3}, DType::int32))}});
  const auto largest = [](Index k, Index axis) {
    return [=](In x) { return topk(x, k, axis).values; };
  };
  add(to, "topk", largest(2, -1),
      {{"of each row", {distinct({3, 5})}},
       {"of each column", {distinct({4, 2, 3})}, largest(3, 0)},
       {"all", {distinct({4})}, largest(4, 0)},
       {"none", {distinct({2, 3})}, largest(0, 1)}});
}

void expand_cases(GradientCases& to) {
  const auto expanded = [](const Shape& shape) { return [=](In x) { return expand(x, shape); }; };
  add(to, "expand", {},
      {{"an axis of size 1", {{3, 1}}, expanded({3, 4})},
       {"new axes in front", {{3}}, expanded({2, 1, 3})},
       {"a scalar", {{}}, expanded({2, 3})},
       {"to no elements", {{1, 3}}, expanded({0, 3})},
       {"to its own shape", {{2, 3}}, expanded({2, 3})}});
  add(to, "contiguous", contiguous,
      {{"a transposed input", {transposed({2, 3})}},
       {"an expanded input",
        {{1, 3}},
        [=](In x) {
          return contiguous(expanded({2, 3})(x));
        }},
       {"an input in order", {{2, 3}}}});
}

void join_cases(GradientCases& to) {
  const auto joined = [](Index axis) { return [=](const Inputs& in) { return concat(in, axis); }; };
  const auto stacked = [](Index axis) { return [=](const Inputs& in) { return stack(in, axis); }; };
  add(to, "concat", joined(0),
      {{"rows", {{2, 3}, {1, 3}}},
       {"columns, with an empty part", {{2, 1}, {2, 0}, {2, 3}}, joined(-1)},
       {"a transposed part", {transposed({2, 3}), {2, 3}}, joined(1)},
       {"one tensor twice", {{2, 2}}, [](In x) {
          return concat({x, x}, 0);
        }}});
  add(to, "stack", stacked(0),
      {{"a new first axis", {{2, 3}, {2, 3}}},
       {"a new last axis", {{2, 3}, transposed({2, 3})}, stacked(-1)},
       {"scalars", {{}, {}}},
       {"one tensor twice", {{3}}, [](In x) {
          return stack({x, x});
        }}});
  const auto shuffled = [](In x) {
    const std::vector<Tensor> pieces = split(x, 2, 1);
    return concat({pieces[2], pieces[1], pieces[0] * pieces[1]}, 1);
  };
  const auto outer = [](In x) {
    const std::vector<Tensor> pieces = split(x, 2, 0);
    return pieces[0] * pieces[2];
  };
  add(to, "split", shuffled,
      {{"a smaller last piece", {{2, 5}}}, {"a piece that is not used", {{6}}, outer}});
}

}  // namespace

void layout_cases(GradientCases& to) {
  reshape_cases(to);
  permute_cases(to);
  slice_cases(to);
  axis_cases(to);
  indexing_cases(to);
  expand_cases(to);
  join_cases(to);
}

}  // namespace headlight::cli
