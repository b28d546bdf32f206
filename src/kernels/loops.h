#pragma once

#include <cstdint>

#include "headlight/tensor/shape.h"

// The innermost loops over contiguous memory, on one thread. src/kernels/variants is compiled once
// per instruction set; kernels/cpu_variant.h chooses the copy.
namespace headlight::kernels {

// Constants of one optimizer step; see AdamW in optim/.
struct AdamWStep {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  double bias_correction1 = 1;  // 1 - beta1^t
  double bias_correction2 = 1;  // 1 - beta2^t
  double gradient_scale = 1;    // factor of the gradients, for clipping
};

template <class T>
struct AdamWArrays {
  T* parameter;       // [n]
  const T* gradient;  // [n]
  T* mean;            // [n]
  T* variance;        // [n]
};

// One row of a norm's backward pass, with C = n elements.
template <class T>
struct NormRowGradient {
  const T* x;       // [C]
  const T* gain;    // [C]
  const T* y_grad;  // [C]
  T* x_grad;        // [C], overwritten
  T* gain_grad;     // [C], added to
  T* shift_grad;    // [C], added to
  T mean;
  T inverse_deviation;
};

template <class T>
struct Rotation {
  const T* cosine;  // [n]
  const T* sine;    // [n]
};

template <class T>
struct NormLoops {
  // Normalises one row and returns the row's mean (0 for RMS norm) and inverse_deviation.
  void (*value)(const T* x, const T* gain, const T* shift, T* y, Index n, T epsilon, T* mean,
                T* inverse_deviation);
  void (*backward)(const NormRowGradient<T>& row, Index n);
};

// Position in a random stream of the numbers that drop a row's elements.
struct DropoutRow {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t position = 0;  // of the row's first number; a multiple of 4
  double probability = 0;      // of dropping an element
};

template <class T>
struct Loops {
  // y[i] = a[i] + b[i]
  void (*add)(const T* a, const T* b, T* y, Index n);
  // y[i] += scale * x[i]
  void (*add_scaled)(T scale, const T* x, T* y, Index n);
  // y[i] *= scale
  void (*scale)(T scale, T* y, Index n);
  T (*dot)(const T* a, const T* b, Index n);
  double (*sum_of_squares)(const T* x, Index n);
  T (*maximum)(const T* x, Index n);  // -infinity for n = 0
  // x[i] = exp(x[i] - shift), for x[i] <= shift. In float, results that would be denormal become 0.
  // Returns the sum.
  T (*exp_shifted)(T* x, T shift, Index n);
  // Elementary functions of every element, for all floats within 2 units in the last place. y may
  // be x.
  void (*exp)(const T* x, T* y, Index n);
  void (*tanh)(const T* x, T* y, Index n);
  void (*log)(const T* x, T* y, Index n);
  // x[i] = cap tanh(x[i] / cap); slope[i] = the derivative, 1 - tanh(x[i] / cap)^2. slope may be
  // null.
  void (*soft_cap)(T cap, T* x, T* slope, Index n);
  // y[i] *= x[i]
  void (*multiply)(const T* x, T* y, Index n);
  // Softmax gradient of one row, in place: s[i] = probability[i] * (s[i] - delta) * scale
  void (*softmax_backward)(const T* probability, T* s, T delta, T scale, Index n);
  // Rotates pairs by angles: (a, b) becomes (a cos - b sin, b cos + a sin); in place if y is x.
  // rotate_halves takes the pairs from two halves, rotate_pairs takes adjacent elements.
  void (*rotate_halves)(const T* a, const T* b, const Rotation<T>& by, T* y_a, T* y_b, Index n);
  void (*rotate_pairs)(const T* x, const Rotation<T>& by, T* y, Index n);
  NormLoops<T> layer_norm;
  NormLoops<T> rms_norm;
  // Rounds to bfloat16, to nearest with ties to even, and back; y and x hold bits.
  void (*to_bfloat16)(const T* x, std::uint16_t* y, Index n);
  void (*from_bfloat16)(const std::uint16_t* x, T* y, Index n);
  // y[i] = keep ? x[i] / (1 - probability) : 0
  void (*dropout)(const T* x, T* y, const DropoutRow& row, Index n);
  void (*adamw)(const AdamWArrays<T>& arrays, const AdamWStep& step, Index n);
};

template <class T>
const Loops<T>& loops();
template <>
const Loops<float>& loops();
template <>
const Loops<double>& loops();

}  // namespace headlight::kernels
