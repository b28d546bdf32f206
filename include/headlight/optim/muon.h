#pragma once

#include "headlight/base/choices.h"
#include "headlight/optim/newton_schulz.h"
#include "headlight/optim/optimizer.h"

namespace headlight {

// What a matrix [outputs, inputs] multiplies the learning rate with, under torch.optim.Muon's
// names.
enum class LearningRateAdjustment {
  original,         // sqrt(max(1, outputs / inputs)), Jordan's; rates are about 0.02
  match_rms_adamw,  // 0.2 sqrt(max(outputs, inputs)), so that elements move as far as AdamW's and
                    // its rates and decays serve (Liu et al., arXiv 2502.16982, equation 4)
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

// A parameter [rows, columns] of Muon. Blocks of its rows are matrices of their own: query, key and
// value in one weight are three.
struct MuonMatrix {
  std::string name;
  Tensor parameter;
  std::vector<Index> blocks = {};  // their rows, one below the other; empty: it is one matrix
};

// Momentum, orthogonalised: the singular values of every update are about 1 (Jordan et al., "Muon:
// An optimizer for hidden layers in neural networks", 2024), as torch.optim.Muon does it, but in
// the parameters' own type. For the matrices inside a network; embeddings, head, norms and biases
// are another optimizer's. State: "momentum_buffer.NAME".
class Muon : public Optimizer {
 public:
  // Throws Error for what is no contiguous matrix, or whose blocks do not have its rows. A matrix
  // is not divided: `parts` (see Optimizer) have all of it or nothing.
  explicit Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options = {},
                const std::optional<TensorParts>& parts = {});

  void step(double learning_rate, double gradient_scale = 1.0) override;
  NamedTensors state() const override;

 private:
  struct Slot {
    MuonMatrix matrix;
    Tensor velocity;  // the gradient's running mean, shape of the parameter; [0]: another's
  };
  template <class T>
  void update(Slot& slot, double learning_rate, double gradient_scale) const;

  MuonOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace headlight
