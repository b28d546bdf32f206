#pragma once

// The tables of kernels of each instruction set, for kernels/chosen_tables.cpp, which knows by
// HEADLIGHT_KERNELS_V3, _V4 and _DOT which ones are compiled. Their types are complete in the
// headers of their users: kernels/loops.h, kernels/gemm/gemm_tile.h and so on.
namespace headlight::kernels {

template <class T>
struct Loops;
template <class T>
struct Activations;
template <class T>
struct GemmTiles;
struct DecodeLoops;
struct AttentionSteps;
struct IntegerPanels;
struct StepSearch;
struct WeightRowLoops;

namespace baseline {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const Loops<double> kDoubleLoops;
extern const Activations<double> kDoubleActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const IntegerPanels kIntegerPanels;
extern const StepSearch kStepSearch;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace baseline
#if defined(HEADLIGHT_KERNELS_V3)
namespace v3 {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const IntegerPanels kIntegerPanels;
extern const StepSearch kStepSearch;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace v3
#else  // not compiled
namespace v3 = baseline;
#endif
#if defined(HEADLIGHT_KERNELS_V4)
namespace v4 {
extern const Loops<float> kFloatLoops;
extern const Activations<float> kFloatActivations;
extern const GemmTiles<float> kFloatTiles;
extern const GemmTiles<double> kDoubleTiles;
extern const DecodeLoops kDecodeLoops;
extern const AttentionSteps kAttentionSteps;
extern const IntegerPanels kIntegerPanels;
extern const StepSearch kStepSearch;
extern const WeightRowLoops kWeightRowLoops;
}  // namespace v4
#else
namespace v4 = baseline;
#endif
// Instructions that add up products of integers: see has_dot_products().
#if defined(HEADLIGHT_KERNELS_DOT)
namespace dot {
extern const IntegerPanels kIntegerPanels;
}  // namespace dot
#else
namespace dot = baseline;
#endif
}  // namespace headlight::kernels
