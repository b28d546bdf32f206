#pragma once

#include "headlight/tensor/shape.h"

// Passes over memory on all threads, to measure memory bandwidth.
namespace headlight::kernels {

// Reads x [n], n even. Returns a sum of products of all elements, so that no read can be skipped.
double read_pass(const float* x, Index n);

// y = x, both [n].
void copy_pass(const float* x, float* y, Index n);

// y = y + 3 x, both [n]: reads two streams and writes one.
void update_pass(const float* x, float* y, Index n);

}  // namespace headlight::kernels
