#include "support/test.h"

namespace gradcheck_test {
nlohmann::json json_of(const ProgramResult& result) { return nlohmann::json::parse(result.out); }

TEST_CASE("gradcheck prints a table", "[cli]") {
  const ProgramResult result = run_headlight({"gradcheck", "--op=exp"});
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  CHECK(result.out.rfind("op ", 0) == 0);
  CHECK_FALSE(contains(result.out, "FAILED"));
  CHECK(contains(result.out, ": all agree\n"));
}

TEST_CASE("gradcheck covers every differentiable op and a whole model", "[cli]") {
  const nlohmann::json report = json_of(run_headlight({"gradcheck", "--json"}));
  CHECK(report.at("passed") == true);
  std::set<std::string> ops;
  for (const nlohmann::json& op : report.at("ops")) {
    INFO(op.dump());
    ops.insert(op.at("op"));
    CHECK(op.at("passed") == true);
    CHECK(op.at("inputs") >= 2);
    CHECK(op.at("elements") > 0);
    CHECK(op.at("largest_error") < 1e-5);
  }
  for (const std::string& op : split_words(
           "add sub mul div += neg clamp pow exp log sqrt tanh relu gelu_tanh gelu_erf sum mean "
           "var stddev max matmul einsum linear transpose reshape permute slice select unsqueeze "
           "squeeze gather topk expand contiguous concat stack split masked_fill where tril triu "
           "softmax log_softmax masked_softmax layer_norm batch_norm norm_linear feed_forward "
           "dropout embedding cross_entropy linear_cross_entropy scaled_dot_product_attention "
           "ragged_attention gpt")) {
    INFO(op);
    CHECK(ops.count(op) == 1);
  }
}

TEST_CASE("gradcheck with a wrong gradient exits with code 1 and names case and element", "[cli]") {
  // Tolerances below the precision of central differences: only exact zeros can pass.
  const ProgramResult result =
      run_headlight({"gradcheck", "--op=exp", "--rtol=1e-15", "--atol=1e-18"});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.out, "FAILED"));
  REQUIRE(!result.messages().empty());
  const std::string message = result.messages().front();
  INFO(message);
  CHECK(contains(message, "exp, a matrix: input 0, element "));
  CHECK(contains(message, "backward gives "));
  const ProgramResult json =
      run_headlight({"gradcheck", "--op=exp", "--rtol=1e-15", "--atol=1e-18", "--json"});
  CHECK(json.exit_code == 1);
  CHECK(json_of(json).at("passed") == false);
  REQUIRE(json_of(json).at("ops").size() == 1);
  CHECK(json_of(json).at("ops")[0].at("op") == "exp");
}
}  // namespace gradcheck_test
