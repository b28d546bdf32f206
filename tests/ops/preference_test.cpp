#include "support/test.h"

namespace preference_test {
// Two pairs with the log-probabilities -3, -1 and -2, -6.
const std::vector<Index> kOffsets{0, 2, 3, 4, 6};
Tensor two_pairs() { return doubles({1, 2, 1, 2, 3.5, 2.5}, {6}); }

TEST_CASE("the loss before training is log 2 and needs no overflow later") {
  const std::vector<PreferredPair> own = pair_log_probabilities(two_pairs(), kOffsets);
  CHECK(preference_loss(two_pairs(), kOffsets, own).item() == Approx(std::log(2.0)));
  const auto loss = [&](double margin) {
    return preference_loss(two_pairs(), kOffsets, {{-3 - margin, -1}, {-2 - margin, -6}},
                           {.beta = 1})
        .item();
  };
  CHECK(loss(-1e6) == 1e6);
  CHECK(loss(1e6) == 0);
  CHECK(loss(40) == Approx(std::exp(-40.0)).epsilon(1e-12));
}

TEST_CASE("pairs that do not fit are refused") {
  const auto refuse = [](const std::vector<Index>& offsets, std::size_t references, double beta) {
    return error_of([&] {
      preference_loss(two_pairs(), offsets, std::vector<PreferredPair>(references), {.beta = beta});
    });
  };
  CHECK(mentions(refuse({0, 2, 3, 6}, 1, 1), {"[preference_loss]", "got 3 sequences"}));
  CHECK(mentions(refuse({0}, 0, 1), {"got 0 sequences"}));
  CHECK(mentions(refuse({1, 3, 6}, 1, 1), {"[preference_loss]"}));
  CHECK(mentions(refuse({0, 9, 6}, 1, 1), {"[preference_loss]"}));
  CHECK(mentions(refuse({0, 2, 5}, 1, 1), {"[5]", "[6]"}));
  CHECK(mentions(refuse(kOffsets, 1, 1), {"expected 2 pairs of the reference, got 1"}));
  CHECK(mentions(refuse(kOffsets, 2, 0), {"beta: expected a positive number, got 0"}));
  const std::vector<PreferredPair> references(2);
  check_error([&] { preference_loss(Tensor::zeros({6}), kOffsets, references); },
              {"float64", "float32"});
}
}  // namespace preference_test
