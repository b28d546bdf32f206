#pragma once

#include "headlight/base/choices.h"
#include "headlight/kernels/precision.h"

namespace headlight {

// Form of the matrices of a model that only generates, or of frozen matrices under an adapter.
enum class MatrixForm {
  stored,   // the numbers of a GGUF file with blocks, such as Q4_K; else as float32
  float32,  // the parameters of the model; to generate, also a copy for steps
  // Only the panels of steps, rounded as round_weights() rounds.
  bfloat16,
  int8,
};

template <>
inline constexpr auto kChoices<MatrixForm> =
    std::to_array<Choice<MatrixForm>>({{"stored", MatrixForm::stored},
                                       {"float32", MatrixForm::float32},
                                       {"bfloat16", MatrixForm::bfloat16},
                                       {"int8", MatrixForm::int8}});

// Returns the format of the matrices of a form. That of `stored` is float32, for models without
// blocks.
constexpr WeightFormat format_of(MatrixForm form) {
  return form == MatrixForm::bfloat16 ? WeightFormat::bfloat16
         : form == MatrixForm::int8   ? WeightFormat::int8
                                      : WeightFormat::float32;
}

}  // namespace headlight
