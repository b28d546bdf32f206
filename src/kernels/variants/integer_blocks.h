#pragma once

#include "kernels/variants/half_floats.h"
#include "kernels/variants/integer_products.h"

// Included only by integer_panels.cpp and byte_products.h of this folder: the offsets of blocks in
// panels of integers, and their steps and least values.
namespace headlight::kernels {
namespace {

using Bytes = std::int8_t __attribute__((vector_size(kVectorBytes / 4)));

constexpr Index kAhead = 14;  // blocks to prefetch

inline Vector floats_of_bytes(const char* from) {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(__builtin_convertvector(bytes, Integers), Vector);
}

// Steps and least values of a block.
template <int kGroups>
struct Steps {
  Steps() = default;
  Steps(const IntegerLayout& layout, const char* header, const char* block) {
    for (int p = 0; p < kParts; ++p) {
      const Index values = p * kWidth;  // before this part
      const Vector whole_step = layout.steps == StepKind::float32
                                    ? load_vector(header + 4 * values)
                                    : floats_of_halves(header + 2 * values);
      Vector whole_least = {};
      if (layout.has_least) {
        whole_least = floats_of_halves(header + 2 * (kPanelRows + values));
      }
      for (int g = 0; g < kGroups; ++g) {
        step[g].part[p] = whole_step;
        least[g].part[p] = whole_least;
        if (layout.steps == StepKind::bytes) {
          step[g].part[p] *= floats_of_bytes(block + g * kPanelRows + values);
        }
        if (layout.steps == StepKind::bytes && layout.has_least) {
          least[g].part[p] *= floats_of_bytes(block + (kGroups + g) * kPanelRows + values);
        }
      }
    }
  }

  // total += the products of a group. `sums` multiply numbers - offset with x / scale, x_sum is
  // the sum of x.
  void add_to(Lanes& total, const Integers (&sums)[kParts], int group, float scale, float x_sum,
              bool has_least) const {
    for (int p = 0; p < kParts; ++p) {
      total.part[p] += __builtin_convertvector(sums[p], Vector) * (step[group].part[p] * scale);
    }
    if (has_least) {
      add_product(least[group], x_sum, total);
    }
  }

  Lanes step[kGroups];
  Lanes least[kGroups];
};

// The blocks of a stretch in one panel; panel_bytes later is the same stretch of the next panel.
struct Stretch {
  const char* header(Index number) const {
    return first + (number >> layout.span_shift) * layout.span_bytes;
  }
  const char* block(Index number) const {
    const Index in_span = number & ((Index{1} << layout.span_shift) - 1);
    return header(number) + layout.header_bytes + in_span * layout.block_bytes;
  }
  // Prefetches the block kAhead blocks behind one, in each of `panels` adjacent panels. Is always
  // inlined: GCC regards the function as pure and omits calls.
  [[gnu::always_inline]] void prefetch_following(Index number, Index panels) const {
    const bool is_in_panel = number + kAhead < blocks;
    const Index next = is_in_panel ? number + kAhead : number + kAhead - blocks;
    const Index begin = is_in_panel ? 0 : panels * panel_bytes;
    for (Index panel = 0; panel < panels; ++panel) {
      const Index start = begin + panel * panel_bytes;
      __builtin_prefetch(header(next) + start);
      for (Index offset = start; offset < start + layout.block_bytes; offset += 64) {
        __builtin_prefetch(block(next) + offset);
      }
    }
  }

  // Prefetches part `part` of `parts` of this stretch in the `panels` panels that follow as many.
  [[gnu::always_inline]] void prefetch_next(Index part, Index parts, Index panels) const {
    const Index bytes = (((blocks - 1) >> layout.span_shift) + 1) * layout.span_bytes;
    const Index begin = bytes * part / parts;
    const Index end = bytes * (part + 1) / parts;
    for (Index panel = panels; panel < 2 * panels; ++panel) {
      for (Index offset = begin; offset < end; offset += 64) {
        __builtin_prefetch(first + panel * panel_bytes + offset);
      }
    }
  }

  const IntegerLayout& layout;
  const char* first;
  Index blocks;
  Index panel_bytes;
};

}  // namespace
}  // namespace headlight::kernels
