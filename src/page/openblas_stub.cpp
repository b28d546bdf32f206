#include "headlight/base/error.h"
#include "kernels/gemm/openblas.h"

// Headlight's own products and eigenvalues compute everything.
namespace headlight::kernels {
namespace {

[[noreturn]] void refuse() {
  fail("this needs OpenBLAS, which a page does not have; use the program headlight");
}

}  // namespace

bool has_openblas() { return false; }

void call_openblas(const Gemm<float>&, float) { refuse(); }

void call_openblas(const Gemm<double>&, double) { refuse(); }

const SharedLibrary& openblas_library() { refuse(); }

BlasBuild blas_build() { refuse(); }

std::string blas_description() { refuse(); }

std::string blas_warning() { return ""; }

}  // namespace headlight::kernels
