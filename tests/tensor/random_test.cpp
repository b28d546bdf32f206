#include "support/test.h"

using Words = std::array<std::uint32_t, 4>;

double mean_of(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

// Mean of (value - centre)^power.
double moment(const std::vector<double>& values, double centre, int power) {
  const double sum =
      sum_of<double>(values, [&](double value) { return std::pow(value - centre, power); });
  return sum / static_cast<double>(values.size());
}

TEST_CASE("blocks agree with the known answers of Philox4x32-10") {
  // From Random123's kat_vectors: the counter is (block, stream), the key is the seed.
  CHECK(RandomStream{0, 0}.block(0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(RandomStream{ones, ones}.block(ones) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // The third vector: key and counter are digits of pi.
  CHECK(RandomStream{0x299f31d0a4093822, 0x0370734413198a2e}.block(0x85a308d3243f6a88) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("word n of a random stream is word n mod 4 of block n / 4") {
  const RandomStream random{12, 34};
  for (std::uint64_t position = 0; position < 12; ++position) {
    CHECK(random.word(position) == random.block(position / 4)[position % 4]);
  }
}

TEST_CASE("seed, stream and position each change the numbers") {
  std::set<std::uint32_t> words;
  for (std::uint64_t i = 0; i < 10; ++i) {
    words.insert(RandomStream{i, 0}.word(0));
    words.insert(RandomStream{100, i}.word(0));
    words.insert(RandomStream{200, 0}.word(i));
  }
  CHECK(words.size() == 30);
}

TEST_CASE("uniform numbers lie from 0 to below 1, have 24 bits and are spread evenly") {
  const RandomStream random{1, 2};
  constexpr int kBins = 16;
  constexpr int kDraws = 32000;
  std::array<int, kBins> bins{};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double value = random.uniform(i);
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    REQUIRE(static_cast<double>(static_cast<float>(value)) == value);
    ++bins[static_cast<std::size_t>(value * kBins)];
  }
  const double chi_square = sum_of<double>(
      bins, [&](const int count) { return (count - 2000.0) * (count - 2000.0) / 2000.0; });
  CHECK(chi_square < 37.7);  // 15 degrees of freedom: exceeded once in a thousand seeds
}

TEST_CASE("RandomStream::below stays under its bound and reaches every value") {
  const RandomStream random{3, 4};
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 200; ++i) {
    CHECK(random.below(i, 1) == 0);
    const std::uint64_t value = random.below(i, 7);
    CHECK(value < 7);
    seen.insert(value);
  }
  CHECK(seen.size() == 7);
  std::uint64_t largest = 0;
  const std::uint64_t bound = std::uint64_t{1} << 63;
  for (std::uint64_t i = 0; i < 50; ++i) {
    largest = std::max(largest, random.below(i, bound));
    CHECK(random.below(i, bound) < bound);
  }
  CHECK(largest > bound / 2);
}

TEST_CASE("normal numbers have the moments of a standard normal distribution") {
  const Tensor draws = random_normal({40000}, {8, 0}, 0, 1, DType::float64);
  const std::vector<double> values = draws.to_vector();
  const double mean = mean_of(values);
  // Four standard errors of each sample moment.
  CHECK(mean == Approx(0).margin(4.0 / 200));
  CHECK(moment(values, mean, 2) == Approx(1).margin(4 * std::sqrt(2.0) / 200));
  CHECK(moment(values, mean, 3) == Approx(0).margin(4 * std::sqrt(15.0) / 200));
  CHECK(moment(values, mean, 4) == Approx(3).margin(4 * std::sqrt(96.0) / 200));
}

TEST_CASE("forked streams are unrelated to their parent and to each other") {
  const RandomStream parent{9, 9};
  CHECK(parent.fork(0).seed == 9);
  std::set<std::uint32_t> words;
  for (std::uint64_t label = 0; label < 20; ++label) {
    words.insert(parent.fork(label).word(0));
    words.insert(parent.fork(1000).fork(label).word(0));
    words.insert(parent.word(label));
  }
  CHECK(words.size() == 60);
  CHECK(parent.fork(5).stream == RandomStream{9, 9}.fork(5).stream);
}

TEST_CASE("element i of a random tensor is number i of the stream") {
  const RandomStream random{6, 7};
  const Tensor uniform = random_uniform({2, 3}, random, -2, 4, DType::float64);
  const Tensor normal = random_normal({5}, random, 10, 0.5, DType::float64);
  for (std::uint64_t i = 0; i < 5; ++i) {
    CHECK(uniform.data<double>()[i] == -2 + 6 * random.uniform(i));
    CHECK(normal.data<double>()[i] == 10 + 0.5 * random.normal(i));
  }
  check_close(random_uniform({2, 3}, random), random_uniform({2, 3}, random, 0, 1, DType::float64),
              0);
  CHECK(random_uniform({0, 3}, random).numel() == 0);
}

TEST_CASE("random tensors of other types than floating-point are refused") {
  check_error([] { random_uniform({2}, {}, 0, 1, DType::int32); }, {"[random_uniform]", "int32"});
  check_error([] { random_normal({2}, {}, 0, 1, DType::boolean); }, {"[random_normal]", "bool"});
}
