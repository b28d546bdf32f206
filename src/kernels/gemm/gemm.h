#pragma once

#include <functional>
#include <string_view>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/shape.h"
#include "kernels/gemm/products.h"

// Matrix products. The only caller of BLAS.
namespace headlight::kernels {

// A block of rows and columns of C.
struct GemmRegion {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
};

// C = alpha * op(A) * op(B) + beta * C, or with a bias: C = alpha * op(A) * op(B) + bias. op(A) is
// [m, k], op(B) [k, n], C [m, n], all row-major. A stride is the distance between stored rows
// (before op).
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
  const T* bias = nullptr;                   // [n], added to every row; requires beta = 0
  Precision precision = Precision::float32;  // of A and B; bfloat16 for gemm() of float only
  // Called for each finished part of C while the part is in the cache; the parts cover C. Runs on
  // all threads and must not throw.
  std::function<void(const GemmRegion&)> after = {};
};

// Multiplies on all threads by the chosen products; the bits do not depend on the number of
// threads.
template <class T>
void gemm(const Gemm<T>& product);

// Multiplies operands rounded to bfloat16. Requires that bfloat16_instructions() is not empty.
void bfloat16_gemm(const Gemm<float>& product);

// Returns "AMX" or "AVX512-BF16", or an empty text if the machine has neither.
std::string_view bfloat16_instructions();

// Computes the whole product as one BLAS call with BLAS's own threads: the benchmark for gemm().
void gemm_with_threads_of_blas(const Gemm<float>& product);

}  // namespace headlight::kernels
