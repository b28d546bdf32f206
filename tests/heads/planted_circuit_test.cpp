#include <cmath>
#include <set>

#include "headlight/heads/circuit.h"
#include "headlight/heads/patch_grid.h"
#include "heads/head_experiments_support.h"

// A two-layer induction circuit whose weights are set by hand (Elhage et al., "A Mathematical
// Framework for Transformer Circuits", 2021), beside heads that write noise.
using namespace headlight;
using namespace headlight::test;

namespace {

constexpr Index kTokens = 8;
constexpr Index kWidth = 32;
// The residual stream holds one number for each token or position: what stands here, what stood
// before, where this is, and what comes next.
constexpr Index kHere = 0;
constexpr Index kBefore = 8;
constexpr Index kPlace = 16;
constexpr Index kNext = 24;

// Rows of zeros, or of noise that is too small to matter.
class Matrix {
 public:
  Matrix(Index rows, Index columns, double noise = 0) : columns_(columns) {
    for (Index i = 0; i < rows * columns; ++i) {
      values_.push_back(noise * std::sin(1.7 * static_cast<double>(i) + 0.3));
    }
  }
  // The row reads one number of the stream, or writes it.
  void set(Index row, Index column, double value) {
    values_[static_cast<std::size_t>(row * columns_ + column)] = value;
  }
  const std::vector<double>& values() const { return values_; }

 private:
  Index columns_;
  std::vector<double> values_;
};

// What head 0 of a layer compares, moves and writes.
struct Wiring {
  Index query = 0;
  Index query_shift = 0;  // the query of number n looks for n - shift
  Index key = 0;
  Index value = 0;
  Index output = 0;
  double sharpness = 1;
  double gain = 1;
};

void wire(const Gpt& gpt, Index layer, const Wiring& wiring) {
  constexpr Index kHead = 8;  // D; two heads: queries from row 0, keys from 16, values from 32
  Matrix read(6 * kHead, kWidth, 0.01);
  Matrix write(kWidth, 2 * kHead, 0.01);
  for (Index d = 0; d < kHead; ++d) {
    for (Index c = 0; c < kWidth; ++c) {
      for (const Index row : {d, 2 * kHead + d, 4 * kHead + d}) {
        read.set(row, c, 0);
      }
      write.set(c, d, 0);
    }
  }
  for (Index d = 0; d < kHead; ++d) {
    const Index from = d + wiring.query_shift;
    if (from < kTokens) {
      read.set(d, wiring.query + from, wiring.sharpness);
    }
    read.set(2 * kHead + d, wiring.key + d, 1);
    read.set(4 * kHead + d, wiring.value + d, 1);
    write.set(wiring.output + d, d, wiring.gain);
  }
  const std::string name = concat_text("h.", layer, ".attn.");
  set_parameter(gpt, name + "c_attn.weight", read.values());
  set_parameter(gpt, name + "c_proj.weight", write.values());
}

std::unique_ptr<Gpt> induction_model() {
  GptConfig config{.vocab_size = kTokens, .block_size = kTokens, .n_layer = 2, .n_head = 2};
  config.n_embd = kWidth;
  config.head_width = 8;
  config.mlp = false;
  config.tie_weights = false;
  auto gpt = std::make_unique<Gpt>(config, 1, DType::float64);
  Matrix tokens(kTokens, kWidth);
  Matrix places(kTokens, kWidth);
  Matrix head(kTokens, kWidth, 0.001);
  for (Index n = 0; n < kTokens; ++n) {
    tokens.set(n, kHere + n, 1);
    places.set(n, kPlace + n, 1);
    head.set(n, kNext + n, 1);
  }
  set_parameter(*gpt, "wte.weight", tokens.values());
  set_parameter(*gpt, "wpe.weight", places.values());
  set_parameter(*gpt, "lm_head.weight", head.values());
  wire(*gpt, 0,
       {.query = kPlace,
        .query_shift = 1,
        .key = kPlace,
        .value = kHere,
        .output = kBefore,
        .sharpness = 2,
        .gain = 0.25});
  wire(
      *gpt, 1,
      {.query = kHere, .key = kBefore, .value = kHere, .output = kNext, .sharpness = 4, .gain = 1});
  return gpt;
}

// Token 1 was followed by 2, or by 4.
const PatchingTask kInduction{{5, 1, 2, 3, 4, 1}, {5, 3, 2, 1, 4, 1}, 2, 4};

}  // namespace

TEST_CASE("the planted circuit does its task", "[heads]") {
  const auto gpt = induction_model();
  const PatchingResult result = patch_heads(*gpt, kInduction);
  CHECK(result.strength() == TaskStrength::clear);
  CHECK(result.clean_next.id == 2);
  CHECK(result.corrupt_next.id == 4);
}

TEST_CASE("patching finds the planted heads, and no others", "[heads]") {
  const auto gpt = induction_model();
  const PatchGrid grid = patch_grid(*gpt, kInduction, {.attribution = true});
  REQUIRE(grid.cells.size() == 4);
  CHECK(grid.cells[0].recovered > 0.95);  // 0.0
  CHECK(grid.cells[2].recovered > 0.95);  // 1.0
  CHECK(std::abs(grid.cells[1].recovered) < 0.02);
  CHECK(std::abs(grid.cells[3].recovered) < 0.02);
  CHECK(patch_path(*gpt, kInduction, {{0, 0}, {1, 0}, Point::k}).recovered > 0.95);
  CHECK(std::abs(patch_path(*gpt, kInduction, {{0, 0}, {1, 0}, Point::q}).recovered) < 0.02);
  CHECK(std::abs(patch_path(*gpt, kInduction, {{0, 1}, {1, 0}, Point::k}).recovered) < 0.02);
}

TEST_CASE("a circuit has the planted edges first", "[heads]") {
  const auto gpt = induction_model();
  const CircuitResult result = find_circuit(*gpt, {kInduction}, {.steps = 20, .edges = 3});
  std::set<std::string> first;
  for (std::size_t i = 0; i < 3; ++i) {
    first.insert(edge_name(result.edges[i]));
    CHECK(result.edges[i].is_kept);
  }
  CHECK(first == std::set<std::string>{"embed>0.0.v", "0.0>1.0.k", "1.0>logits"});
  CHECK(result.faithfulness > 0.95);
}
