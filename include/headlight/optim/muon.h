#pragma once

#include <optional>

#include "headlight/base/choices.h"
#include "headlight/optim/newton_schulz.h"
#include "headlight/optim/optimizer.h"

namespace headlight {

// Factor of the learning rate for a matrix [outputs, inputs], with torch.optim.Muon's names.
enum class LearningRateAdjustment {
  original,  // sqrt(max(1, outputs / inputs)), Jordan's; for rates about 0.02
  // 0.2 sqrt(max(outputs, inputs)): elements change as much as with AdamW, so that its rates and
  // decays suit (Liu et al., arXiv 2502.16982, equation 4)
  match_rms_adamw,
};

template <>
inline constexpr auto kChoices<LearningRateAdjustment> =
    std::to_array<Choice<LearningRateAdjustment>>({{"original", LearningRateAdjustment::original},
                                                   {"match_rms_adamw",
                                                    LearningRateAdjustment::match_rms_adamw}});

struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;  // decoupled
  LearningRateAdjustment adjust_lr_fn = LearningRateAdjustment::match_rms_adamw;
  NewtonSchulzOptions newton_schulz = {};
};

// A parameter [rows, columns] of Muon. Blocks of rows count as separate matrices: a weight for
// query, key and value has three.
struct MuonMatrix {
  std::string name;
  Tensor parameter;
  std::vector<Index> blocks = {};  // rows of each block, in order; empty: a single matrix
};

// Orthogonalised momentum: the singular values of every step are about 1 (Jordan et al., "Muon: An
// optimizer for hidden layers in neural networks", 2024). Follows torch.optim.Muon, but computes in
// the type of the parameters. For the matrices inside a network; use another optimizer for
// embeddings, head, norms and biases. State: "momentum_buffer.NAME".
class Muon : public Optimizer {
 public:
  // Throws Error for a parameter that is not a contiguous matrix, or whose blocks do not sum to its
  // rows. `parts` (see Optimizer) must contain a matrix completely or not at all.
  explicit Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options = {},
                const std::optional<TensorParts>& parts = {});

  void step(double learning_rate, double gradient_scale = 1.0) override;

 private:
  struct Slot {
    MuonMatrix matrix;
    Tensor velocity;  // gradient mean in the parameter's shape; [0]: another process's
  };
  template <class T>
  void update(Slot& slot, double learning_rate, double gradient_scale) const;

  MuonOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace headlight
