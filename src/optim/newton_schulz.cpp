#include "headlight/optim/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/gemm/gemm.h"
#include "kernels/parallel.h"
#include "optim/sum_of_squares.h"

// Iterates in float32. PyTorch uses bfloat16, which halves the time on a GPU; most CPUs have no
// bfloat16 products, and rounding would be the largest error of a step.
namespace headlight {
namespace {

// Minimum number of rows that a symmetric product computes at a time; fewer rows are slow.
constexpr Index kPanelRows = 128;
constexpr Index kMostPanels = 8;

Index panel_rows(Index n) {
  const Index panels = std::clamp<Index>(n / kPanelRows, 1, kMostPanels);
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
  symmetric_gemm<T>({.m = g.size(0),
                     .n = g.size(0),
                     .k = std::max(x.size(0), x.size(1)),
                     .a = x.data<T>(),
                     .a_stride = x.size(1),
                     .transpose_a = tall,
                     .b = x.data<T>(),
                     .b_stride = x.size(1),
                     .transpose_b = !tall,
                     .c = g.data<T>(),
                     .c_stride = g.size(0)});
}

// Computes P = a I + b G + c G G.
template <class T>
void polynomial(const Tensor& g, Tensor& p, const NewtonSchulzOptions& options) {
  const Index n = g.size(0);
  p.copy_from(g);
  symmetric_gemm<T>({.m = n,
                     .n = n,
                     .k = n,
                     .a = g.data<T>(),
                     .a_stride = n,
                     .b = g.data<T>(),
                     .b_stride = n,
                     .c = p.data<T>(),
                     .c_stride = n,
                     .alpha = static_cast<T>(options.c),
                     .beta = static_cast<T>(options.b)});
  for (Index i = 0; i < n; ++i) {
    p.data<T>()[i * (n + 1)] += static_cast<T>(options.a);
  }
}

// Computes Y = P X or, for a tall X, X P.
template <class T>
void multiply(const Tensor& p, const Tensor& x, Tensor& y) {
  const bool tall = x.size(0) > x.size(1);
  const Tensor& left = tall ? x : p;
  const Tensor& right = tall ? p : x;
  kernels::gemm<T>({.m = x.size(0),
                    .n = x.size(1),
                    .k = p.size(0),
                    .a = left.data<T>(),
                    .a_stride = left.size(1),
                    .b = right.data<T>(),
                    .b_stride = right.size(1),
                    .c = y.data<T>(),
                    .c_stride = x.size(1)});
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
