#pragma once

#include <map>
#include <utility>
#include <vector>

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/point.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Hook that records values at points while a text is generated, token by token.
class ActivationRecorder final : public ForwardHook {
 public:
  explicit ActivationRecorder(std::vector<PointRange> points);

  // Throws Error for several sequences, and if a position gets another token: the text then exceeds
  // the context, whose window has moved.
  void begin(const Batch& rows) override;
  bool wants(Point point, Index layer) const override;
  bool in_family_units() const override { return true; }
  Tensor visit(const HookSite& site, const Tensor& value) override;

  // Number of positions that were computed: the last generated token is not read.
  Index length() const { return std::ssize(tokens_); }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }  // at these positions
  // Returns the recorded values by their TransformerLens names, [T, ...]; NaN at positions where a
  // value was not computed: final norm and logits before the last token of the prompt. Maps are
  // NAME/0, [H, T, T].
  NamedTensors arrays() const;

 private:
  // Rows of one pass, from position `first` on.
  struct Rows {
    Index first = 0;
    Tensor values;
  };

  std::vector<PointRange> points_;
  std::vector<std::int32_t> tokens_;
  Index first_ = 0;
  std::map<std::pair<Index, Point>, std::vector<Rows>> rows_;  // by layer and point
};

}  // namespace headlight
