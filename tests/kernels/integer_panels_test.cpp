#include "kernels/panels/integer_panels.h"
#include "kernels/panels/panels.h"
#include "kernels/panels/rounded_rows.h"
#include "kernels/product_error.h"
#include "support/cpu_variants.h"
#include "support/test.h"
#include "tensor/float16.h"

namespace integer_panels_test {
using kernels::IntegerBlock;
using kernels::IntegerLayout;
using kernels::kPanelRows;
using kernels::StepKind;

// The layouts of all types of GGUF files.
std::vector<IntegerLayout> all_layouts() {
  const StepKind half = StepKind::float16;
  const StepKind bytes = StepKind::bytes;
  std::vector<IntegerLayout> layouts{
      {.steps = half, .offset = 128},                                              // Q8_0
      {.low_bits = 4, .steps = half, .offset = 8},                                 // Q4_0
      {.low_bits = 4, .steps = half, .has_least = true},                           // Q4_1
      {.low_bits = 4, .high_bits = 1, .steps = half, .offset = 16},                // Q5_0
      {.low_bits = 4, .high_bits = 1, .steps = half, .has_least = true},           // Q5_1
      {.low_bits = 4, .uneven = true, .steps = half, .offset = 127},               // IQ4_NL
      {.low_bits = 2, .groups = 2, .steps = bytes, .has_least = true},             // Q2_K
      {.low_bits = 2, .high_bits = 1, .groups = 2, .steps = bytes, .offset = 4},   // Q3_K
      {.low_bits = 4, .steps = bytes, .has_least = true},                          // Q4_K
      {.low_bits = 4, .high_bits = 1, .steps = bytes, .has_least = true},          // Q5_K
      {.low_bits = 4, .high_bits = 2, .groups = 2, .steps = bytes, .offset = 32},  // Q6_K
      {.low_bits = 4, .uneven = true, .steps = bytes, .offset = 127}};             // IQ4_XS
  for (IntegerLayout& layout : layouts) {
    layout = kernels::sized(layout);
  }
  layouts.push_back(kernels::int8_layout());
  return layouts;
}

std::string name_of(const IntegerLayout& layout) {
  return concat_text(layout.low_bits, "+", layout.high_bits, " bits, ", layout.groups,
                     " groups, offset ", layout.offset);
}

IntegerBlock random_block(const IntegerLayout& layout, std::mt19937& random) {
  const auto draw = [&](int from, int to) {
    return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
  };
  IntegerBlock block;
  const float step = 0.001F * static_cast<float>(draw(1, 50));
  block.step = layout.steps == StepKind::float32 ? std::bit_cast<std::uint32_t>(step)
                                                 : std::uint32_t{float_to_half(step)};
  if (layout.has_least) {
    block.least = float_to_half(-0.01F * static_cast<float>(draw(1, 50)));
  }
  for (int group = 0; layout.steps == StepKind::bytes && group < 8 * layout.groups; ++group) {
    block.steps[group] = static_cast<std::int8_t>(draw(-128, 127));
    block.leasts[group] = static_cast<std::int8_t>(layout.has_least ? draw(0, 63) : 0);
  }
  const Index columns = kernels::span_columns(layout);
  for (Index i = 0; i < columns; ++i) {
    block.numbers[i] =
        static_cast<std::uint8_t>(draw(0, (1 << (layout.low_bits + layout.high_bits)) - 1));
  }
  return block;
}

// Random panels and their weights.
struct Panels {
  Panels(const IntegerLayout& its_layout, Index rows, Index its_columns)
      : layout(its_layout),
        columns(its_columns),
        bytes(kernels::panel_bytes(layout, columns)),
        memory(Tensor::zeros({kernels::panel_count(rows) * bytes / 4}, DType::int32)),
        weights(static_cast<std::size_t>(kernels::panel_count(rows) * kPanelRows * columns)) {
    std::mt19937 random(5);
    const Index span = kernels::span_columns(layout.integers);
    for (Index row = 0; row < rows; ++row) {
      for (Index i = 0; i < columns / span; ++i) {
        const IntegerBlock block = random_block(layout.integers, random);
        kernels::pack_block(layout.integers, block, i, row % kPanelRows, panel(row / kPanelRows));
        kernels::block_values(layout.integers, block, weights.data() + row * columns + i * span);
      }
    }
  }

  void* panel(Index number) {
    return reinterpret_cast<char*>(memory.data<std::int32_t>()) + number * bytes;
  }

  // Returns y [batch, 16 panels].
  std::vector<float> product(const std::vector<float>& x) {
    const Index batch = std::ssize(x) / columns;
    const Index rows = std::ssize(weights) / columns;
    std::vector<float> y(static_cast<std::size_t>(batch * rows), -1);
    kernels::multiply_panels(layout, described(x, y));
    return y;
  }

  // As product(), with the vectors rounded to bytes.
  std::vector<float> rounded_product(const std::vector<float>& x,
                                     kernels::Rounding rounding = kernels::Rounding::one_byte) {
    std::vector<float> y(x.size() / static_cast<std::size_t>(columns) * weights.size() /
                             static_cast<std::size_t>(columns),
                         -1);
    const kernels::PanelProduct all = described(x, y);
    kernels::RoundedRows(WeightFormat::int8, {x.data(), columns, 1}, all.batch, columns, rounding)
        .multiply(layout, all);
    return y;
  }

  kernels::PanelProduct described(const std::vector<float>& x, std::vector<float>& y) {
    const Index rows = std::ssize(weights) / columns;
    return {.panels = panel(0),
            .count = rows / kPanelRows,
            .panel_bytes = bytes,
            .columns = columns,
            .x = x.data(),
            .x_stride = columns,
            .y = y.data(),
            .y_stride = rows,
            .batch = std::ssize(x) / columns};
  }

  kernels::PanelLayout layout;
  Index columns;
  Index bytes;
  Tensor memory;
  std::vector<float> weights;
};

double error_of(const Panels& panels, const std::vector<float>& x, const std::vector<float>& y) {
  return product_error(panels.weights, panels.columns, x, y);
}

double error_of_product(Panels& panels, Index batch) {
  const std::vector<float> x = gaussians(batch * panels.columns, 2);
  return error_of(panels, x, panels.product(x));
}

// Returns whole numbers from -127 to 127; every 32 contain 127, so that bytes hold them exactly.
std::vector<float> whole_numbers(Index count) {
  std::mt19937 random(3);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i % 32 == 9 ? 127.0F : static_cast<float>(random() % 255) - 127.0F;
  }
  return numbers;
}

bool rounds_to_bytes() { return kernels::RoundedRows::supports(WeightFormat::int8, 32); }

TEST_CASE("products with vectors of bytes are the sums of products") {
  for (const IntegerLayout& layout : all_layouts()) {
    for (const Index columns : {256, 1280}) {
      Panels panels(layout, 48, columns);
      for (const Index batch : {1, 12, 35}) {
        if (rounds_to_bytes()) {
          INFO(name_of(layout) << ", " << columns << " columns, " << batch << " vectors");
          const std::vector<float> exact = whole_numbers(batch * columns);
          CHECK(error_of(panels, exact, panels.rounded_product(exact)) < 2e-6);
          const std::vector<float> x = gaussians(batch * columns, 2);
          CHECK(error_of(panels, x, panels.rounded_product(x)) < 0.02);
          const auto finer = panels.rounded_product(x, kernels::Rounding::two_bytes);
          CHECK(error_of(panels, x, finer) < 2e-4);
        }
      }
    }
  }
}

TEST_CASE("the bits of a product with bytes do not depend on its neighbours") {
  constexpr Index kColumns = 768;
  constexpr Index kBatch = 1500;  // several passes
  const std::vector<float> x = gaussians(kBatch * kColumns, 4);
  Panels panels(all_layouts().back(), 48, kColumns);
  for (const Index b : {0, 11, 700, 1499}) {
    if (rounds_to_bytes()) {
      const std::vector<float> one(x.begin() + b * kColumns, x.begin() + (b + 1) * kColumns);
      const std::vector<float> alone = panels.rounded_product(one);
      const std::vector<float> together = panels.rounded_product(x);
      CHECK(std::memcmp(alone.data(), together.data() + b * 48, alone.size() * 4) == 0);
    }
  }
}

TEST_CASE("NaN and infinity in a vector of bytes stay in their own products") {
  Panels panels(all_layouts().front(), 16, 96);
  for (const float bad : {std::nanf(""), HUGE_VALF}) {
    std::vector<float> x = gaussians(3 * 96, 4);
    x[100] = bad;
    if (rounds_to_bytes()) {
      const std::vector<float> y = panels.rounded_product(x);
      for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK(std::isnan(y[i]) == (i / 16 == 1));
      }
    }
  }
}

TEST_CASE("products with integers of every layout are the sums of products", "[long]") {
  constexpr double kLimit = 2e-4;  // x is rounded to 2^-15 of the largest of 32
  with_each_variant([&] {
    for (const IntegerLayout& layout : all_layouts()) {
      for (const Index columns : {256, 512, 1280}) {
        Panels panels(layout, 21, columns);
        for (const Index batch : {1, 2, 3, 5, 16, 19}) {
          INFO(name_of(layout) << ", " << columns << " columns, " << batch << " vectors");
          CHECK(error_of_product(panels, batch) < kLimit);
        }
      }
    }
  });
}

TEST_CASE("spans of 32 columns need no multiple of 256") {
  for (const IntegerLayout& layout : all_layouts()) {
    if (layout.steps != StepKind::bytes) {
      Panels panels(layout, 16, 96);
      CHECK(error_of_product(panels, 3) < 2e-4);
    }
  }
}

TEST_CASE(
    "the bits of a product with integers depend neither on its neighbours nor on the "
    "instructions") {
  constexpr Index kColumns = 1280;
  constexpr Index kBatch = 19;
  const std::vector<float> x = gaussians(kBatch * kColumns, 4);
  for (const IntegerLayout& layout : all_layouts()) {
    INFO(name_of(layout));
    Panels panels(layout, 32, kColumns);
    with_each_variant([&] {
      const std::vector<float> together = panels.product(x);
      for (Index b = 0; b < kBatch; ++b) {
        const std::vector<float> one(x.begin() + b * kColumns, x.begin() + (b + 1) * kColumns);
        const std::vector<float> alone = panels.product(one);
        CHECK(std::memcmp(alone.data(), together.data() + b * 32, alone.size() * 4) == 0);
      }
    });
    if (kernels::has_dot_products()) {
      std::vector<float> with(static_cast<std::size_t>(32 * kBatch));
      std::vector<float> without(with.size());
      kernels::integer_panels(true).multiply(layout, panels.described(x, with));
      kernels::integer_panels(false).multiply(layout, panels.described(x, without));
      CHECK(with == without);
    }
  }
}

TEST_CASE("panels keep the integers that they are given") {
  std::mt19937 random(9);
  for (const IntegerLayout& layout : all_layouts()) {
    INFO(name_of(layout));
    std::vector<IntegerBlock> blocks;
    const kernels::PanelLayout whole(layout);
    Tensor memory = Tensor::zeros({kernels::panel_bytes(whole, 512) / 4}, DType::int32);
    const Index spans = 512 / kernels::span_columns(layout);
    for (Index i = 0; i < spans * kPanelRows; ++i) {
      blocks.push_back(random_block(layout, random));
      kernels::pack_block(layout, blocks.back(), i / kPanelRows, i % kPanelRows,
                          memory.data<std::int32_t>());
    }
    for (Index i = 0; i < spans * kPanelRows; ++i) {
      IntegerBlock block;
      kernels::unpack_block(layout, memory.data<std::int32_t>(), i / kPanelRows, i % kPanelRows,
                            block);
      CHECK(block == blocks[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_CASE("float16 steps and least values are exact, also the smallest") {
  with_each_variant([] {
    for (const int bits : {0x0001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x8001, 0xBC00}) {
      Panels panels(kernels::sized({.low_bits = 4, .steps = StepKind::float16, .has_least = true}),
                    16, 32);
      const auto step = static_cast<std::uint16_t>(bits);
      IntegerBlock block;
      block.step = step;
      block.least = step;
      block.numbers[0] = 3;
      kernels::pack_block(panels.layout.integers, block, 0, 2, panels.panel(0));
      std::vector<float> x(32);
      x[0] = 1;
      CHECK(panels.product(x)[2] == 4 * half_to_float(step));
    }
  });
}
}  // namespace integer_panels_test
