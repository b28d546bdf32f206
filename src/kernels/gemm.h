#pragma once

#include <string>

#include "headlight/tensor/shape.h"

// Matrix products. The only caller of BLAS.
namespace headlight::kernels {

// C = alpha * op(A) * op(B) + beta * C, or with a bias: C = alpha * op(A) * op(B) + bias.
// op(A) is [m, k], op(B) [k, n], C [m, n], all row-major; a stride is the distance between rows as
// stored (before op).
template <class T>
struct Gemm {
  Index m = 0;
  Index n = 0;
  Index k = 0;
  const T* a = nullptr;
  Index a_stride = 0;
  bool transpose_a = false;
  const T* b = nullptr;
  Index b_stride = 0;
  bool transpose_b = false;
  T* c = nullptr;
  Index c_stride = 0;
  T alpha = 1;
  T beta = 0;
  const T* bias = nullptr;  // [n], added to every row; beta must be 0 with it
};

// Cuts C into fixed tiles and runs them in parallel, one single-threaded BLAS call a tile: as fast
// as a threaded BLAS, and the bits cannot depend on the number of threads.
template <class T>
void gemm(const Gemm<T>& product);

// The whole product as one BLAS call on the calling thread; for use inside parallel loops.
template <class T>
void gemm_on_this_thread(const Gemm<T>& product);

// "OpenBLAS 0.3.21, core Haswell, OpenMP build".
std::string blas_description();

// A hint when the environment variable OPENBLAS_CORETYPE holds BLAS below what the CPU can do, else
// an empty text.
std::string blas_warning();

}  // namespace headlight::kernels
