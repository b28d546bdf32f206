#pragma once

#include "headlight/nn/gpt.h"

namespace headlight {

// A hook for Gpt::attach() that says whether it can see several changed passes as one, with the
// sequences of each after those of the one before. Other hooks can.
class AttachedHook : public ForwardHook {
 public:
  // Returns false if each changed pass must run alone.
  virtual bool takes_passes_together() const = 0;
};

inline bool takes_passes_together(const ForwardHook* hook) {
  const auto* attached = dynamic_cast<const AttachedHook*>(hook);
  return attached == nullptr || attached->takes_passes_together();
}

inline bool takes_passes_together(const LanguageModel& model) {
  const auto* gpt = dynamic_cast<const Gpt*>(&model);
  return gpt == nullptr || takes_passes_together(gpt->attached());
}

}  // namespace headlight
