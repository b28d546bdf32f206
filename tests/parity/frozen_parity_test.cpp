#include "parity/parity_support.h"
#include "parity/verdict.h"
#include "support/test.h"

namespace frozen_parity_test {
using namespace headlight::parity;

const std::set<std::string>& op_rungs() {
  static const std::set<std::string> rungs{"elementwise",
                                           "matmul, linear, einsum",
                                           "sum, mean, var, max",
                                           "softmax, log_softmax",
                                           "masks",
                                           "layout",
                                           "layer_norm, batch_norm",
                                           "norm_linear, feed_forward",
                                           "embedding, cross_entropy",
                                           "label smoothing, z-loss",
                                           "preference_loss",
                                           "attention",
                                           "rms_norm, normalize",
                                           "other norms and activations in fused layers",
                                           "activations",
                                           "rope",
                                           "MultiHeadAttention",
                                           "LayerNorm, BatchNorm1d",
                                           "TransformerEncoderLayer"};
  return rungs;
}

TEST_CASE("functions of single elements agree with PyTorch") { check_rung("ops", "elementwise"); }

TEST_CASE("matrix products agree with PyTorch") { check_rung("ops", "matmul, linear, einsum"); }

TEST_CASE("reductions agree with PyTorch") { check_rung("ops", "sum, mean, var, max"); }

TEST_CASE("softmax and log_softmax agree with PyTorch") {
  check_rung("ops", "softmax, log_softmax");
}

TEST_CASE("masks and masked selections agree with PyTorch") { check_rung("ops", "masks"); }

TEST_CASE("views and rearrangements agree with PyTorch") { check_rung("ops", "layout"); }

TEST_CASE("normalisations agree with PyTorch") { check_rung("ops", "layer_norm, batch_norm"); }

TEST_CASE("the fused layers agree with the layers of PyTorch that they join") {
  check_rung("ops", "norm_linear, feed_forward");
}

TEST_CASE("embedding and cross-entropy agree with PyTorch") {
  check_rung("ops", "embedding, cross_entropy");
}

TEST_CASE("label smoothing and the z-loss agree with PyTorch") {
  check_rung("loss_terms", "label smoothing, z-loss");
}

TEST_CASE("the loss of preference tuning agrees with PyTorch") {
  check_rung("preference", "preference_loss");
}

TEST_CASE("dense, ragged and cached attention agree with PyTorch") {
  check_rung("ops", "attention");
}

TEST_CASE("RMS norms and gains of 1 + w agree with PyTorch") {
  check_rung("llama", "rms_norm, normalize");
}

TEST_CASE("the fused layers agree with PyTorch with every norm, activation and gate") {
  check_rung("llama", "other norms and activations in fused layers");
}

TEST_CASE("activations agree with PyTorch by their names") { check_rung("llama", "activations"); }

TEST_CASE("rotary embeddings agree with transformers") { check_rung("llama", "rope"); }

TEST_CASE("MultiHeadAttention agrees with torch.nn.MultiheadAttention") {
  check_rung("modules", "MultiHeadAttention");
}

TEST_CASE("LayerNorm and BatchNorm1d agree with torch.nn") {
  check_rung("modules", "LayerNorm, BatchNorm1d");
}

TEST_CASE("transformer layers agree with torch.nn.TransformerEncoderLayer") {
  check_rung("modules", "TransformerEncoderLayer");
}

TEST_CASE("every group of frozen cases has a test") {
  std::set<std::string> found;
  for (const std::string group : {"ops", "loss_terms", "preference", "llama", "modules"}) {
    for (const Case& subject : read_cases(fixture(group))) {
      found.insert(subject.rung.substr(0, subject.rung.rfind(", ")));
    }
  }
  CHECK(found == op_rungs());
}
}  // namespace frozen_parity_test
