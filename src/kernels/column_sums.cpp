#include "kernels/column_sums.h"

#include <algorithm>
#include <vector>

#include "kernels/loops.h"
#include "kernels/threads/parallel.h"

namespace headlight::kernels {
namespace {

constexpr Index kMaximumBlocks = 16;
constexpr Index kMinimumBlockRows = 64;

}  // namespace

template <class T>
void column_sums(const T* x, Index rows, Index columns, T* sums) {
  const Index block = std::max(kMinimumBlockRows, chunk_count(rows, kMaximumBlocks));
  const Index blocks = chunk_count(rows, block);
  std::vector<T> partial(static_cast<std::size_t>(blocks * columns), T{0});  // [blocks, columns]
  parallel_chunks(rows, block, [&](Index, Index chunk, Index begin, Index end) {
    T* sum = partial.data() + chunk * columns;
    for (Index row = begin; row < end; ++row) {
      loops<T>().add(sum, x + row * columns, sum, columns);
    }
  });
  std::fill(sums, sums + columns, T{0});
  for (Index chunk = 0; chunk < blocks; ++chunk) {
    loops<T>().add(sums, partial.data() + chunk * columns, sums, columns);
  }
}

template void column_sums(const float*, Index, Index, float*);
template void column_sums(const double*, Index, Index, double*);

}  // namespace headlight::kernels
