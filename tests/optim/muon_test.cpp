#include "optim/optim_support.h"
#include "support/test.h"

TEST_CASE("Muon updates blocks of rows as separate matrices") {
  const std::vector<Index> blocks{2, 1, 3};
  Tensor joined = leaf(noise({6, 5}, 1));
  Muon optimizer({{"joined", joined, blocks}}, {});
  std::vector<MuonMatrix> matrices;
  std::vector<Index> begins{0};
  for (const Index rows : blocks) {
    const Index begin = begins.back();
    begins.push_back(begin + rows);
    matrices.push_back(
        {std::to_string(begin), leaf(slice(joined.detach(), 0, begin, begin + rows).clone())});
  }
  Muon apart(matrices, {});
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Tensor gradient = noise({6, 5}, 10 + step);
    set_gradient(joined, gradient);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      set_gradient(matrices[i].parameter, slice(gradient, 0, begins[i], begins[i + 1]).clone());
    }
    optimizer.step(0.1, 0.5);
    apart.step(0.1, 0.5);
  }
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    CHECK(same_bits(slice(joined.detach(), 0, begins[i], begins[i + 1]).clone(),
                    matrices[i].parameter.detach()));
  }
}
