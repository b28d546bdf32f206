#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/shape.h"
#include "kernels/gemm/products.h"

// Matrix products. The only caller of BLAS.
namespace headlight::kernels {

// Rows and columns of C.
struct GemmRegion {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
};

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
  const T* bias = nullptr;                   // [n], added to every row; beta must be 0 with it
  Precision precision = Precision::float32;  // of A and B; gemm() of float32 only
  // Called for parts of C that are done, while they are in the cache; the parts cover C. Runs on
  // all threads and must not throw.
  std::function<void(const GemmRegion&)> after = {};
};

// By gemm_engine(), on all threads; the bits do not depend on their number.
template <class T>
void gemm(const Gemm<T>& product);

// The product of operands rounded to bfloat16; bfloat16_instructions() must not be empty.
void bfloat16_gemm(const Gemm<float>& product);

// "AMX" or "AVX512-BF16"; empty when the machine has neither.
std::string_view bfloat16_instructions();

// The whole product on the calling thread; for use inside parallel loops.
template <class T>
void gemm_on_this_thread(const Gemm<T>& product);

// The same as one BLAS call, whatever gemm_engine() is; m and n are not 0, and `after` is not
// called.
template <class T>
void openblas_on_this_thread(const Gemm<T>& product);

// The whole product as one BLAS call with BLAS's own threads: what gemm() is measured against.
void gemm_with_threads_of_blas(const Gemm<float>& product);

}  // namespace headlight::kernels
