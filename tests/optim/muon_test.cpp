#include "optim/optim_support.h"
#include "support/test.h"

namespace muon_test {
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

TEST_CASE("Muon refuses invalid options and parameters") {
  const Tensor matrix = Tensor::ones({4, 3});
  CHECK_THROWS_WITH(Muon({}, {.momentum = 1}),
                    "[Muon] expected a momentum from 0 to below 1, got 1");
  CHECK_THROWS_WITH(Muon({}, {.weight_decay = -1}),
                    "[Muon] expected a weight_decay of at least 0, got -1");
  CHECK_THROWS_WITH(Muon({}, {.newton_schulz = {.steps = 100}}),
                    "[Muon] expected 0 to 99 steps of Newton-Schulz, got 100");
  CHECK_THROWS_WITH(Muon({{"x", Tensor::ones({3})}}),
                    "[Muon] x: expected a matrix of contiguous elements");
  CHECK_THROWS_WITH(Muon({{"x", matrix, {2, 1}}}),
                    "[Muon] x: expected blocks of its 4 rows, got 3");
  CHECK_THROWS_AS(Muon({{"x", matrix, {4, 0}}}), Error);
  CHECK_THROWS_AS(Muon({{"x", matrix, {5, -1}}}), Error);
}
}  // namespace muon_test
