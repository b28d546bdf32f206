#include "kernels/eigenvalues.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "headlight/base/error.h"
#include "kernels/gemm/openblas.h"
#include "kernels/threads/openmp.h"

// Debian's OpenBLAS package contains LAPACK but no header for it.
// NOLINTNEXTLINE(readability-identifier-naming): Fortran's name
extern "C" void dgeev_(const char* left, const char* right, const int* n, double* a,
                       const int* a_stride, double* real, double* imaginary, double* left_vectors,
                       const int* left_stride, double* right_vectors, const int* right_stride,
                       double* work, const int* work_size, int* info);

namespace headlight::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

class HessenbergQr {
 public:
  HessenbergQr(std::vector<double> matrix, Index n) : a_(std::move(matrix)), n_(n), last_(n - 1) {
    reduce();
    for (const double value : a_) {
      norm_ += std::abs(value);
    }
  }

  std::vector<std::complex<double>> run() {
    int steps = 0;  // since the last eigenvalue
    while (last_ >= 0) {
      const Index first = block_begin();
      if (first >= last_ - 1) {
        first == last_ ? take_one() : take_two();
        steps = 0;
        continue;
      }
      require(steps < 100, "[eigenvalues] the QR iteration did not converge");
      step(first, steps);
      ++steps;
    }
    return values_;
  }

 private:
  double& at(Index row, Index column) { return a_[static_cast<std::size_t>(row * n_ + column)]; }

  // Makes the matrix zero below its first subdiagonal, by elimination with pivots.
  void reduce() {
    for (Index m = 1; m + 1 < n_; ++m) {
      Index pivot = m;
      for (Index row = m; row < n_; ++row) {
        pivot = std::abs(at(row, m - 1)) > std::abs(at(pivot, m - 1)) ? row : pivot;
      }
      for (Index i = 0; i < n_ && pivot != m; ++i) {
        std::swap(at(pivot, i), at(m, i));
      }
      for (Index i = 0; i < n_ && pivot != m; ++i) {
        std::swap(at(i, pivot), at(i, m));
      }
      for (Index row = m + 1; row < n_ && at(m, m - 1) != 0; ++row) {
        const double factor = at(row, m - 1) / at(m, m - 1);
        for (Index i = 0; i < n_; ++i) {
          at(row, i) -= factor * at(m, i);
        }
        for (Index i = 0; i < n_; ++i) {
          at(i, m) += factor * at(i, row);
        }
        at(row, m - 1) = 0;
      }
    }
  }

  // Returns the first row of the last block whose subdiagonal has no zero.
  Index block_begin() {
    for (Index row = last_; row > 0; --row) {
      const double near = std::abs(at(row - 1, row - 1)) + std::abs(at(row, row));
      if (std::abs(at(row, row - 1)) <= kEpsilon * (near == 0 ? norm_ : near)) {
        at(row, row - 1) = 0;
        return row;
      }
    }
    return 0;
  }

  void take_one() {
    values_.emplace_back(at(last_, last_) + shift_, 0);
    --last_;
  }

  void take_two() {
    const double x = at(last_, last_);
    const double half = (at(last_ - 1, last_ - 1) - x) / 2;
    const double product = at(last_, last_ - 1) * at(last_ - 1, last_);
    const double square = half * half + product;
    const double root = std::sqrt(std::abs(square));
    if (square >= 0) {
      const double far = half + std::copysign(root, half);
      values_.emplace_back(x + shift_ + far, 0);
      values_.emplace_back(x + shift_ - (far != 0 ? product / far : 0), 0);
    } else {
      values_.emplace_back(x + shift_ + half, root);
      values_.emplace_back(x + shift_ + half, -root);
    }
    last_ -= 2;
  }

  // Makes a QR step with two shifts on rows `first` to last_.
  void step(Index first, int steps) {
    double x = at(last_, last_);
    double y = at(last_ - 1, last_ - 1);
    double w = at(last_, last_ - 1) * at(last_ - 1, last_);
    if (steps > 0 && steps % 10 == 0) {  // an exceptional shift breaks cycles
      shift_ += x;
      for (Index i = 0; i <= last_; ++i) {
        at(i, i) -= x;
      }
      const double s = std::abs(at(last_, last_ - 1)) + std::abs(at(last_ - 1, last_ - 2));
      x = y = 0.75 * s;
      w = -0.4375 * s * s;
    }
    std::array<double, 3> column{};
    Index start = last_ - 2;
    for (;; --start) {
      column = first_column(start, x, y, w);
      if (start == first || is_small(start, column)) {
        break;
      }
    }
    for (Index row = start + 2; row <= last_; ++row) {
      at(row, row - 2) = 0;
      if (row > start + 2) {
        at(row, row - 3) = 0;
      }
    }
    for (Index k = start; k < last_; ++k) {
      reflect(first, start, k, column);
    }
  }

  // Returns the first column of (A - shift)(A - other shift), from row `row`, scaled.
  std::array<double, 3> first_column(Index row, double x, double y, double w) {
    const double z = at(row, row);
    std::array<double, 3> column{((x - z) * (y - z) - w) / at(row + 1, row) + at(row, row + 1),
                                 at(row + 1, row + 1) - z - (x - z) - (y - z),
                                 at(row + 2, row + 1)};
    scale(column);
    return column;
  }

  bool is_small(Index row, const std::array<double, 3>& column) {
    const double left = std::abs(at(row, row - 1)) * (std::abs(column[1]) + std::abs(column[2]));
    return left <= kEpsilon * std::abs(column[0]) *
                       (std::abs(at(row - 1, row - 1)) + std::abs(at(row, row)) +
                        std::abs(at(row + 1, row + 1)));
  }

  // Divides by the sum of the absolute values and returns it.
  static double scale(std::array<double, 3>& column) {
    const double sum = std::abs(column[0]) + std::abs(column[1]) + std::abs(column[2]);
    for (double& value : column) {
      value = sum != 0 ? value / sum : value;
    }
    return sum;
  }

  // Applies a reflection of rows and columns k to k + 2 that makes column k - 1 zero below row k.
  void reflect(Index first, Index start, Index k, std::array<double, 3> column) {
    const bool has_third = k + 1 < last_;
    double size = 1;
    if (k > start) {
      column = {at(k, k - 1), at(k + 1, k - 1), has_third ? at(k + 2, k - 1) : 0};
      size = scale(column);
    }
    const double length = std::copysign(
        std::sqrt(column[0] * column[0] + column[1] * column[1] + column[2] * column[2]),
        column[0]);
    if (length == 0) {
      return;
    }
    if (k > start) {
      at(k, k - 1) = -length * size;
    } else if (first != start) {
      at(k, k - 1) = -at(k, k - 1);
    }
    const double head = column[0] + length;
    const std::array<double, 3> down{head / length, column[1] / length, column[2] / length};
    const std::array<double, 3> across{1, column[1] / head, column[2] / head};
    const Index count = has_third ? 3 : 2;
    const auto apply = [&](auto&& element, const auto& weights, const auto& factors) {
      double sum = 0;
      for (Index i = 0; i < count; ++i) {
        sum += weights[static_cast<std::size_t>(i)] * element(i);
      }
      for (Index i = 0; i < count; ++i) {
        element(i) -= sum * factors[static_cast<std::size_t>(i)];
      }
    };
    for (Index j = k; j <= last_; ++j) {
      apply([&](Index i) -> double& { return at(k + i, j); }, across, down);
    }
    for (Index j = first; j <= std::min(last_, k + 3); ++j) {
      apply([&](Index i) -> double& { return at(j, k + i); }, down, across);
    }
  }

  std::vector<double> a_;
  Index n_;
  Index last_;  // last row without its eigenvalue
  double shift_ = 0;
  double norm_ = 0;
  std::vector<std::complex<double>> values_;
};

}  // namespace

std::vector<std::complex<double>> eigenvalues_by_qr(std::vector<double> matrix, Index n) {
  return HessenbergQr(std::move(matrix), n).run();
}

std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix, Index n) {
  require(n >= 1 && n <= 1 << 15 && static_cast<Index>(matrix.size()) == n * n,
          "[eigenvalues] expected a matrix [n, n], got n ", n, " and ", matrix.size(), " values");
  require(std::all_of(matrix.begin(), matrix.end(), [](double x) { return std::isfinite(x); }),
          "[eigenvalues] expected numbers, got a matrix with infinite or undefined values");
  if (!has_openblas()) {
    return eigenvalues_by_qr(std::move(matrix), n);
  }
  decltype(::dgeev_)* const dgeev = openblas_library().find("dgeev_");
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
