#include "kernels/eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headlight/base/error.h"
#include "kernels/gemm/openblas.h"
#include "kernels/hessenberg_qr.h"
#include "kernels/threads/openmp.h"

// Debian's OpenBLAS package contains LAPACK but no header for it.
extern "C" void dgeev_(const char* left, const char* right, const int* n, double* a,
                       const int* a_stride, double* real, double* imaginary, double* left_vectors,
                       const int* left_stride, double* right_vectors, const int* right_stride,
                       double* work, const int* work_size, int* info);

namespace headlight::kernels {

std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix, Index n) {
  require(n >= 1 && n <= 1 << 15 && static_cast<Index>(matrix.size()) == n * n,
          "[eigenvalues] expected a matrix [n, n], got n ", n, " and ", matrix.size(), " values");
  require(std::all_of(matrix.begin(), matrix.end(), [](double x) { return std::isfinite(x); }),
          "[eigenvalues] expected numbers, got a matrix with infinite or undefined values");
  if (!has_openblas()) {
    return eigenvalues_by_qr(std::move(matrix), n);
  }
  auto* const dgeev = openblas_library().find<decltype(::dgeev_)>("dgeev_");
  const OpenMpThreadScope one_thread(1);
  const int size = static_cast<int>(n);
  const int one = 1;
  const int work_size = 4 * size;
  std::vector<double> real(matrix.size() / static_cast<std::size_t>(n));
  std::vector<double> imaginary(real.size());
  std::vector<double> work(static_cast<std::size_t>(work_size));
  int info = 0;
  // LAPACK reads a row-major matrix as its transpose, which has the same eigenvalues.
  dgeev("N", "N", &size, matrix.data(), &size, real.data(), imaginary.data(), nullptr, &one,
        nullptr, &one, work.data(), &work_size, &info);
  require(info == 0, "[eigenvalues] dgeev did not converge: info ", info);
  std::vector<std::complex<double>> values;
  for (std::size_t i = 0; i < real.size(); ++i) {
    values.emplace_back(real[i], imaginary[i]);
  }
  return values;
}

}  // namespace headlight::kernels
