#include "kernels/machine/streams.h"

#include <cstring>
#include <vector>

#include "kernels/loops.h"
#include "kernels/threads/parallel.h"

namespace headlight::kernels {
namespace {

constexpr Index kChunk = Index{1} << 18;  // elements: 1 MiB

}  // namespace

double read_pass(const float* x, Index n) {
  std::vector<double> sums(static_cast<std::size_t>(chunk_count(n, kChunk)));
  parallel_for(n, kChunk, [&](Index begin, Index end) {
    // Multiplies two halves, so that each element is read exactly once.
    const Index half = (end - begin) / 2;
    sums[static_cast<std::size_t>(begin / kChunk)] =
        static_cast<double>(loops<float>().dot(x + begin, x + begin + half, half));
  });
  double total = 0;
  for (const double sum : sums) {
    total += sum;
  }
  return total;
}

void copy_pass(const float* x, float* y, Index n) {
  parallel_for(n, kChunk, [&](Index begin, Index end) {
    std::memcpy(y + begin, x + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
}

void update_pass(const float* x, float* y, Index n) {
  parallel_for(n, kChunk, [&](Index begin, Index end) {
    loops<float>().add_scaled(3.0F, x + begin, y + begin, end - begin);
  });
}

}  // namespace headlight::kernels
