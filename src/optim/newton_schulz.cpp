#include "headlight/optim/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/threads/parallel.h"
#include "ops/matrix.h"
#include "optim/sum_of_squares.h"

// Iterates in float32. PyTorch uses bfloat16, which halves the time on a GPU; most CPUs have no
// bfloat16 products, and rounding would be the largest error of a step.
namespace headlight {
namespace {

// Minimum number of rows that a symmetric product computes at a time; fewer rows are slow.
constexpr Index kTilePanelRows = 128;
constexpr Index kMostTilePanels = 8;

Index panel_rows(Index n) {
  const Index panels = std::clamp<Index>(n / kTilePanelRows, 1, kMostTilePanels);
  return kernels::chunk_count(n, panels);
}

// Copies the elements below the diagonal panels of C [n, n] to the missing ones above.
template <class T>
void mirror(T* c, Index n) {
  const Index height = panel_rows(n);
  kernels::parallel_for(n, kernels::row_grain(n), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      for (Index j = (i / height + 1) * height; j < n; ++j) {
        c[i * n + j] = c[j * n + i];
      }
    }
  });
}

// Computes gemm() for a C that is symmetric before and after, with little more than half the work.
template <class T>
void symmetric_gemm(const kernels::Gemm<T>& whole) {
  const Index n = whole.m;
  const Index height = panel_rows(n);
  for (Index row = 0; row < n; row += height) {
    kernels::Gemm<T> panel = whole;
    panel.m = std::min(height, n - row);
    panel.n = row + panel.m;
    panel.a += row * (whole.transpose_a ? 1 : whole.a_stride);
    panel.c += row * whole.c_stride;
    kernels::gemm(panel);
  }
  mirror(whole.c, n);
}

// Computes G = X X^T or, for a tall X, X^T X: the smaller of both.
template <class T>
void gram(const Tensor& x, Tensor& g) {
  const bool tall = x.size(0) > x.size(1);
  symmetric_gemm<T>(product_of<T>(matrix_of<T>(x), matrix_of<T>(x), matrix_of<T>(g),
                                  {tall ? Transposed::first : Transposed::second}));
}

// Computes P = a I + b G + c G G.
template <class T>
void polynomial(const Tensor& g, Tensor& p, const NewtonSchulzOptions& options) {
  const Index n = g.size(0);
  p.copy_from(g);
  auto product = product_of<T>(matrix_of<T>(g), matrix_of<T>(g), matrix_of<T>(p));
  product.alpha = static_cast<T>(options.c);
  product.beta = static_cast<T>(options.b);
  symmetric_gemm<T>(product);
  for (Index i = 0; i < n; ++i) {
    p.data<T>()[i * (n + 1)] += static_cast<T>(options.a);
  }
}

// Computes Y = P X or, for a tall X, X P.
template <class T>
void multiply(const Tensor& p, const Tensor& x, Tensor& y) {
  const bool tall = x.size(0) > x.size(1);
  kernels::gemm(
      product_of<T>(matrix_of<T>(tall ? x : p), matrix_of<T>(tall ? p : x), matrix_of<T>(y)));
}

template <class T>
Tensor divided(const Tensor& x, double norm) {
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  const T* values = x.data<T>();
  T* quotients = result.data<T>();
  const T divisor = static_cast<T>(norm);
  kernels::parallel_for(x.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      quotients[i] = values[i] / divisor;
    }
  });
  return result;
}

}  // namespace

Tensor orthogonalize(const Tensor& matrix, const NewtonSchulzOptions& options) {
  require(matrix.defined() && matrix.rank() == 2 && matrix.is_contiguous(),
          "[orthogonalize] expected a matrix of contiguous elements");
  const Index n = std::min(matrix.size(0), matrix.size(1));
  return dispatch_floating(matrix.dtype(), "orthogonalize", [&](auto zero) {
    using T = decltype(zero);
    const double norm = std::sqrt(sum_of_squares(matrix));
    Tensor x = divided<T>(matrix, std::max(norm, options.epsilon));
    if (n == 0) {
      return x;
    }
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    Tensor g = Tensor::empty({n, n}, x.dtype());
    Tensor p = Tensor::empty({n, n}, x.dtype());
    for (Index step = 0; step < options.steps; ++step) {
      gram<T>(x, g);
      polynomial<T>(g, p, options);
      multiply<T>(p, x, y);
      std::swap(x, y);
    }
    return x;
  });
}

}  // namespace headlight
