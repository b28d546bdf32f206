#pragma once

#include "headlight/kernels/precision.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Form of the matrices of a model that only generates.
enum class MatrixForm {
  stored,   // the numbers of a GGUF file with blocks, such as Q4_K; else as float32
  float32,  // the parameters of the model, and a copy for steps
  // Only the panels of steps, packed matrix by matrix while the file is read. Rounded as
  // round_weights() rounds.
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

// Throws Error when a model for generation exceeds the free memory. Counts float32 matrices twice:
// as parameters and for steps. The one-line message has the needed and free memory and the formats
// that would fit.
void require_decoder_memory(const GptConfig& config, WeightFormat format);

// Rounds the matrices of a float32 model to the values that a Decoder of this format uses. The
// model then shows the loss of quality. With tied weights this includes the token embedding.
void round_weights(Gpt& model, WeightFormat format);

}  // namespace headlight
