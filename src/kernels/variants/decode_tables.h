#pragma once

#include "kernels/decode.h"

namespace headlight::kernels {
namespace baseline {
extern const DecodeLoops kDecodeLoops;
}  // namespace baseline
namespace v3 {
extern const DecodeLoops kDecodeLoops;
}  // namespace v3
namespace v4 {
extern const DecodeLoops kDecodeLoops;
}  // namespace v4
}  // namespace headlight::kernels
