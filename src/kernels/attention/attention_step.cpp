#include "kernels/attention/attention_step.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {

const AttentionSteps& attention_steps() {
  return pick(cpu_variant(), baseline::kAttentionSteps, v2::kAttentionSteps, v3::kAttentionSteps,
              v4::kAttentionSteps);
}

}  // namespace headlight::kernels
