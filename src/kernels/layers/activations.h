#pragma once

#include "headlight/kernels/activation.h"
#include "headlight/tensor/shape.h"

// Loops of the MLP activations over contiguous memory, on one thread; compiled once per instruction
// set, like kernels/loops.h.
namespace headlight::kernels {

// Operands of the gradient of a gated activation y = f(gate) * up.
template <class T>
struct GateGradient {
  const T* gate;
  const T* up;
  T* gate_grad;  // input: the gradient of y; overwritten with the gradient of gate
  T* up_grad;    // overwritten
  T* y;          // overwritten with f(gate) * up
};

// Loops of one activation f.
template <class T>
struct ActivationLoops {
  // y = f(x); y may be x
  void (*value)(const T* x, T* y, Index n);
  // x_grad = y_grad * f'(x)
  void (*backward)(const T* x, const T* y_grad, T* x_grad, Index n);
  // y = f(x) and grad *= f'(x)
  void (*with_backward)(const T* x, T* grad, T* y, Index n);
  // y = f(gate) * up
  void (*gated)(const T* gate, const T* up, T* y, Index n);
  void (*gated_with_backward)(const GateGradient<T>& of, Index n);
};

template <class T>
struct Activations {
  ActivationLoops<T> loops[5];  // in the order of Activation
};

template <class T>
const ActivationLoops<T>& activation_loops(Activation activation);

}  // namespace headlight::kernels
