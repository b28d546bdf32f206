#pragma once

#include "kernels/loops.h"

namespace headlight::kernels {
namespace baseline {
extern const Loops<float> kFloatLoops;
extern const Loops<double> kDoubleLoops;
}  // namespace baseline
namespace v3 {
extern const Loops<float> kFloatLoops;
}  // namespace v3
namespace v4 {
extern const Loops<float> kFloatLoops;
}  // namespace v4
}  // namespace headlight::kernels
