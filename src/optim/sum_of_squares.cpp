#include "optim/sum_of_squares.h"

#include <vector>

#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {

double sum_of_squares(const Tensor& x) {
  return dispatch_floating(x.dtype(), "sum_of_squares", [&](auto zero) {
    using T = decltype(zero);
    const T* values = x.data<T>();
    const Index chunks = kernels::chunk_count(x.numel(), kernels::kElementGrain);
    std::vector<double> partial(static_cast<std::size_t>(chunks));
    kernels::parallel_chunks(x.numel(), kernels::kElementGrain,
                             [&](Index, Index chunk, Index begin, Index end) {
                               partial[static_cast<std::size_t>(chunk)] =
                                   kernels::loops<T>().sum_of_squares(values + begin, end - begin);
                             });
    double sum = 0;
    for (const double part : partial) {
      sum += part;
    }
    return sum;
  });
}

}  // namespace headlight
