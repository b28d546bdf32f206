#include "support/test.h"

TEST_CASE("gradcheck covers every differentiable op and a whole model") {
  const json report = report_of({"gradcheck"});
  CHECK(report.at("passed") == true);
  std::set<std::string> ops;
  for (const json& op : report.at("ops")) {
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
