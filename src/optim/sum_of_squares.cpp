#include "optim/sum_of_squares.h"

#include "kernels/loops.h"
#include "optim/array_loop.h"

namespace headlight {

double sum_of_squares(const Tensor& x) { return sums_of_squares({x}).front(); }

std::vector<double> sums_of_squares(const std::vector<Tensor>& tensors) {
  ArrayLoop loop;
  for (const Tensor& tensor : tensors) {
    loop.add(tensor.numel());
  }
  std::vector<double> partial(static_cast<std::size_t>(loop.chunks()));
  loop.run([&](std::size_t array, Index chunk, Index begin, Index end) {
    dispatch_floating(tensors[array].dtype(), "sum_of_squares", [&](auto zero) {
      using T = decltype(zero);
      partial[static_cast<std::size_t>(chunk)] = kernels::loops<T>().sum_of_squares(
          tensors[array].template data<T>() + begin, end - begin);
    });
  });
  std::vector<double> sums;
  auto part = partial.begin();
  for (std::size_t array = 0; array < tensors.size(); ++array) {
    double sum = 0;
    for (; part < partial.begin() + loop.end(array); ++part) {
      sum += *part;
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace headlight
