#pragma once

#include "kernels/attention/attention_step.h"
#include "kernels/attention/weight_rows.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/layers/activations.h"
#include "kernels/loops.h"
#include "kernels/panels/panels.h"

namespace headlight::kernels {
namespace baseline {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const Loops<double> kDoubleLoops;
extern const Activations<double> kDoubleActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const Int8Panels kInt8Panels;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace baseline
namespace v2 {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const Int8Panels kInt8Panels;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace v2
namespace v3 {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const Int8Panels kInt8Panels;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace v3
namespace v4 {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const Int8Panels kInt8Panels;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace v4
namespace vnni {
extern const Int8Panels kInt8Panels;
}  // namespace vnni
}  // namespace headlight::kernels
