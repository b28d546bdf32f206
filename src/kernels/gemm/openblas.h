#pragma once

#include <string>

#include "base/shared_library.h"
#include "kernels/gemm/gemm.h"

// OpenBLAS. It is loaded at its first use: as a part of the program it would start its threads and
// take their memory (128 MiB of addresses each) in commands that multiply nothing, and where that
// memory is not to be had it tries for ever (OpenMathLib/OpenBLAS#5289).
namespace headlight::kernels {

// C = alpha op(A) op(B) + beta C by one BLAS call with as many threads as OpenMP allows. Bias and
// `after` are the caller's. Throws Error when OpenBLAS cannot be loaded.
void call_openblas(const Gemm<float>& product, float beta);
void call_openblas(const Gemm<double>& product, double beta);

// OpenBLAS with other functions, also those of LAPACK. Throws Error when it cannot be loaded.
const SharedLibrary& openblas_library();

struct BlasBuild {
  std::string library;    // "OpenBLAS"
  std::string version;    // "0.3.21"
  std::string core;       // the kernels it chose, "Haswell"
  std::string threading;  // "OpenMP", "pthreads" or "serial"
};

BlasBuild blas_build();

// "OpenBLAS 0.3.21, core Haswell, OpenMP build".
std::string blas_description();

// A hint when the environment variable OPENBLAS_CORETYPE holds BLAS below what the CPU can do, else
// an empty text.
std::string blas_warning();

}  // namespace headlight::kernels
