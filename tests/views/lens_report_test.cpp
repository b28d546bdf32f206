#include "views/report/lens_report.h"

#include <cmath>

#include "headlight/text/byte_tokenizer.h"
#include "support/tensors.h"

namespace lens_report_test {

using namespace headlight;
using namespace headlight::test;

namespace {

LensReading reading(double probability, std::int32_t likeliest) {
  return {.log_probability = std::log(probability), .likeliest = {{likeliest, 0}}};
}

// Readings of the bytes of "a말b": EB A7 90 between 'a' and 'b'. The likeliest token is right after
// 'a' (the first byte of the syllable) and within it, and 'x' after it.
LensResult syllable_lens() {
  return {.positions = {0, 1, 2, 3, 4},
          .tokens = {'a', 0xEB, 0xA7, 0x90, 'b'},
          .targets = {0xEB, 0xA7, 0x90, 'b', 'c'},
          .rows = {{{0, "0"},
                    {reading(0.5, 0xEB), reading(0.125, 0xA7), reading(0.25, 0x90),
                     reading(0.75, 'x'), reading(1, 'c')}}}};
}

}  // namespace

TEST_CASE("a syllable of several tokens has one column, read at its last token", "[views]") {
  const MatrixPlot plot = lens_plot(syllable_lens(), {}, ByteTokenizer());
  CHECK(plot.columns == std::vector<std::string>{"a", "말", "b"});
  CHECK_THAT(plot.values, Catch::Matchers::Approx(std::vector<double>{0.5, 0.75, 1}));
  CHECK(plot.texts == std::vector<std::string>{"말", "x", "c"});
  for (const ResultGrid& grid : lens_grids(syllable_lens(), {}, ByteTokenizer())) {
    CHECK(grid.plot.columns == plot.columns);
    CHECK(grid.plot.values.size() == 3);
  }
  CHECK(lens_arrays(syllable_lens(), ByteTokenizer()).tensors.front().second.shape() ==
        Shape{1, 5});
}

TEST_CASE("a prediction that is right only for its own token stays a token", "[views]") {
  LensResult result = syllable_lens();  // of a bidirectional model, whose targets are the tokens
  result.targets = result.tokens;
  result.rows[0].readings[0].likeliest = {{'a', 0}};
  CHECK(lens_plot(result, {}, ByteTokenizer()).texts.front() == "a");
}

}  // namespace lens_report_test
