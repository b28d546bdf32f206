#pragma once

#include <string>

#include "kernels/gemm/gemm.h"
#include "kernels/machine/shared_library.h"

// OpenBLAS, loaded at first use. Linked directly, it would start threads and reserve 128 MiB of
// addresses per thread even in commands that multiply nothing. It also retries forever if that
// memory is not available (OpenMathLib/OpenBLAS#5289).
namespace headlight::kernels {

// Computes C = alpha op(A) op(B) + beta C by one BLAS call with as many threads as OpenMP allows.
// Ignores bias and `after`. Throws Error if OpenBLAS cannot be loaded.
void call_openblas(const Gemm<float>& product, float beta);
void call_openblas(const Gemm<double>& product, double beta);

// Returns the library, for other functions such as LAPACK's. Throws Error if it cannot be loaded.
const SharedLibrary& openblas_library();
// Returns whether it can be loaded.
bool has_openblas();

struct BlasBuild {
  std::string library;    // "OpenBLAS"
  std::string version;    // "0.3.21"
  std::string core;       // CPU type of its kernels, "Haswell"
  std::string threading;  // "OpenMP", "pthreads" or "serial"
};

BlasBuild blas_build();

// "OpenBLAS 0.3.21, core Haswell, OpenMP build".
std::string blas_description();

// Returns a hint if the environment variable OPENBLAS_CORETYPE limits BLAS to slower kernels than
// the CPU supports, else an empty text.
std::string blas_warning();

}  // namespace headlight::kernels
