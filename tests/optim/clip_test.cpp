#include "optim/array_loop.h"
#include "optim/optim_support.h"
#include "support/test.h"

// Gradients (3, 0), (0, 4) and 12, whose norm is 13, and a parameter without a gradient.
NamedTensors thirteen(DType dtype) {
  NamedTensors parameters{{"a", leaf(Tensor::ones({2}, dtype))},
                          {"none", leaf(Tensor::ones({3}, dtype))},
                          {"b", leaf(Tensor::ones({2, 1}, dtype))},
                          {"c", leaf(Tensor::ones({}, dtype))}};
  set_gradient(parameters[0].second, convert(doubles({3, 0}, {2}), dtype));
  set_gradient(parameters[2].second, convert(doubles({0, 4}, {2, 1}), dtype));
  set_gradient(parameters[3].second, convert(doubles({12}, {}), dtype));
  return parameters;
}

TEST_CASE("the gradient norm is that of all gradients together") {
  CHECK(gradient_norm(thirteen(DType::float32)) == 13);
  CHECK(gradient_norm(thirteen(DType::float64)) == 13);
}

TEST_CASE("a loop over several arrays visits every element once") {
  const std::vector<Index> sizes{5, 0, 3 * kernels::kElementGrain + 1, 0, kernels::kElementGrain};
  ArrayLoop loop;
  std::vector<std::vector<int>> visits;
  for (const Index size : sizes) {
    loop.add(size);
    visits.emplace_back(static_cast<std::size_t>(size));
  }
  REQUIRE(loop.chunks() == 1 + 4 + 1);
  CHECK(loop.end(2) == 5);
  std::vector<Index> begins(6, -1);
  loop.run([&](std::size_t array, Index chunk, Index begin, Index end) {
    begins[static_cast<std::size_t>(chunk)] = begin;
    for (Index i = begin; i < end; ++i) {
      ++visits[array][static_cast<std::size_t>(i)];
    }
  });
  const Index grain = kernels::kElementGrain;
  CHECK(begins == std::vector<Index>{0, 0, grain, 2 * grain, 3 * grain, 0});
  for (std::size_t array = 0; array < sizes.size(); ++array) {
    CHECK(visits[array] == std::vector<int>(visits[array].size(), 1));
  }
}

TEST_CASE("without any gradient the norm is 0") {
  CHECK(gradient_norm({}) == 0);
  CHECK(gradient_norm({{"x", leaf(Tensor::ones({5}))}}) == 0);
}

TEST_CASE("the gradient norm sums in float64, so that float32 neither overflows nor loses") {
  Tensor huge = leaf(Tensor::ones({4}));
  set_gradient(huge, Tensor::full({4}, 1e30));
  CHECK(gradient_norm({{"x", huge}}) == Approx(2e30).epsilon(1e-7));
  Tensor many = leaf(Tensor::ones({1 << 20}));
  set_gradient(many, Tensor::ones({1 << 20}));
  CHECK(gradient_norm({{"x", many}}) == 1024);
}

TEST_CASE("the gradient norm has the same bits for any number of threads") {
  const auto run = [](int threads) {
    const ThreadScope scope(threads);
    Tensor x = leaf(Tensor::ones({100000}));
    set_gradient(x, noise({100000}, 1, DType::float32));
    return gradient_norm({{"x", x}});
  };
  const double one = run(1);
  CHECK(one > 100);
  CHECK(run(2) == one);
  CHECK(run(3) == one);
}

TEST_CASE("the gradient norm is NaN or infinite if a gradient is") {
  Tensor x = leaf(Tensor::ones({3}));
  set_gradient(x, Tensor::full({3}, std::numeric_limits<double>::quiet_NaN()));
  CHECK(std::isnan(gradient_norm({{"x", x}})));
  set_gradient(x, Tensor::full({3}, std::numeric_limits<double>::infinity()));
  CHECK(std::isinf(gradient_norm({{"x", x}})));
}

TEST_CASE("the clip scale shortens only gradients above the limit") {
  CHECK(clip_scale(13, 6.5) == Approx(0.5).epsilon(1e-6));
  CHECK(clip_scale(13, 6.5) == 6.5 / (13 + 1e-6));
  CHECK(clip_scale(1, 6.5) == 1);
  CHECK(clip_scale(0, 1) == 1);
  CHECK(clip_scale(1e9, 0) == 1);
  CHECK_THROWS_WITH(clip_scale(1, -1), "[clip_scale] expected a norm of at least 0, got -1");
  CHECK_THROWS_AS(clip_scale(1, std::nan("")), Error);
}
