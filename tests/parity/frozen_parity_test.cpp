#include "parity/parity_support.h"
#include "parity/verdict.h"
#include "support/test.h"

namespace frozen_parity_test {
using namespace headlight::parity;

struct Rung {
  const char* group;  // file of the fixtures
  const char* name;
};

// Every function of ops, and the modules of torch.nn.
constexpr Rung kRungs[] = {{"ops", "elementwise"},
                           {"ops", "matmul, linear, einsum"},
                           {"ops", "sum, mean, var, max"},
                           {"ops", "softmax, log_softmax"},
                           {"ops", "masks"},
                           {"ops", "layout"},
                           {"ops", "layer_norm, batch_norm"},
                           {"ops", "norm_linear, feed_forward"},
                           {"ops", "embedding, cross_entropy"},
                           {"ops", "attention"},
                           {"loss_terms", "label smoothing, z-loss"},
                           {"preference", "preference_loss"},
                           {"llama", "rms_norm, normalize"},
                           {"llama", "other norms and activations in fused layers"},
                           {"llama", "activations"},
                           {"llama", "rope"},
                           {"modules", "MultiHeadAttention"},
                           {"modules", "LayerNorm, BatchNorm1d"},
                           {"modules", "TransformerEncoderLayer"}};

TEST_CASE("values and gradients of every op and module agree with PyTorch, in listed groups") {
  std::map<std::string, std::set<std::string>> listed;  // by file
  for (const Rung& rung : kRungs) {
    for (const char* dtype : {", float64", ", float32"}) {
      listed[rung.group].insert(rung.name + std::string(dtype));
    }
  }
  for (const auto& [group, rungs] : listed) {
    std::set<std::string> found;
    for (const Case& subject : read_cases(fixture(group))) {
      const CaseVerdict verdict = judge(subject);
      INFO(verdict.name << ": " << verdict.trouble);
      CHECK(verdict.passed);
      found.insert(subject.rung);
    }
    CHECK(found == rungs);
  }
}
}  // namespace frozen_parity_test
