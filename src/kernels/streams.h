#pragma once

#include "headlight/tensor/shape.h"

// Plain passes over memory on all threads, to measure what it can deliver.
namespace headlight::kernels {

// Reads x [n], n even, and gives a sum of products of all elements, so that none may be skipped.
double read_pass(const float* x, Index n);

// y = x, both [n].
void copy_pass(const float* x, float* y, Index n);

// y = y + 3 x, both [n]: two streams are read and one is written.
void update_pass(const float* x, float* y, Index n);

}  // namespace headlight::kernels
