#include "kernels/gemm/openblas.h"

#include <cblas.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "headlight/base/error.h"
#include "kernels/threads/openmp.h"

namespace headlight::kernels {
namespace {

// Throws Error if a limit of addresses (ulimit -v) leaves OpenBLAS too few: it maps one buffer per
// thread at load time and retries forever if that fails.
void require_addresses() {
  constexpr std::size_t kBufferBytes = std::size_t{128} << 20;
  constexpr std::size_t kLibraryBytes = std::size_t{64} << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return;
  }
  const std::size_t needed =
      kLibraryBytes + kBufferBytes * static_cast<std::size_t>(openmp_thread_count() + 1);
  void* probe = ::mmap(nullptr, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) {
    throw OutOfMemory(concat_text(
        "OpenBLAS needs ", needed >> 20,
        " MiB of addresses, more than ulimit -v leaves; raise it, set OMP_NUM_THREADS=1, or let "
        "Headlight multiply (products = own)"));
  }
  ::munmap(probe, needed);
}

SharedLibrary open_library() {
  require_addresses();
  SharedLibrary library("", HEADLIGHT_OPENBLAS);
  library.require_loaded("(Debian: libopenblas0-openmp), so products = blas is not possible");
  return library;
}

struct OpenBlas {
  SharedLibrary library = open_library();
  decltype(::cblas_sgemm)* sgemm = library.find("cblas_sgemm");
  decltype(::cblas_dgemm)* dgemm = library.find("cblas_dgemm");
  decltype(::openblas_get_config)* get_config = library.find("openblas_get_config");
  decltype(::openblas_get_corename)* get_corename = library.find("openblas_get_corename");
  decltype(::openblas_get_parallel)* get_parallel = library.find("openblas_get_parallel");
};

const OpenBlas& openblas() {
  static const OpenBlas functions;
  return functions;
}

template <class T, class Function>
void call(Function* function, const Gemm<T>& g, T beta) {
  assert(std::max({g.m, g.n, g.k}) <= std::numeric_limits<blasint>::max());
  function(CblasRowMajor, g.transpose_a ? CblasTrans : CblasNoTrans,
           g.transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(g.m),
           static_cast<blasint>(g.n), static_cast<blasint>(g.k), g.alpha, g.a,
           static_cast<blasint>(g.a_stride), g.b, static_cast<blasint>(g.b_stride), beta, g.c,
           static_cast<blasint>(g.c_stride));
}

}  // namespace

void call_openblas(const Gemm<float>& product, float beta) {
  call(openblas().sgemm, product, beta);
}

void call_openblas(const Gemm<double>& product, double beta) {
  call(openblas().dgemm, product, beta);
}

const SharedLibrary& openblas_library() { return openblas().library; }

bool has_openblas() {
  static const bool is_loaded = SharedLibrary("", HEADLIGHT_OPENBLAS).is_loaded();
  return is_loaded;
}

BlasBuild blas_build() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  const std::string_view config = openblas().get_config();
  const std::size_t first = std::min(config.find(' '), config.size());
  const std::size_t second = std::min(config.find(' ', first + 1), config.size());
  const int parallel = openblas().get_parallel();
  return {.library = std::string(config.substr(0, first)),
          .version = std::string(config.substr(std::min(first + 1, second), second - first - 1)),
          .core = openblas().get_corename(),
          .threading = parallel == 2   ? "OpenMP"
                       : parallel == 1 ? "pthreads"
                                       : "serial"};
}

std::string blas_description() {
  const BlasBuild build = blas_build();
  return build.library + " " + build.version + ", core " + build.core + ", " + build.threading +
         " build";
}

std::string blas_warning() {
#if defined(__x86_64__)
  const char* forced = std::getenv("OPENBLAS_CORETYPE");
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  const std::string_view core = openblas().get_corename();
  const bool narrow = core == "Haswell" || core == "Zen" || core == "Sandybridge";
  if (forced != nullptr && wide && narrow) {
    return std::string("OPENBLAS_CORETYPE=") + forced +
           " holds BLAS to AVX2 on a CPU with AVX-512; unset it for about twice the speed";
  }
#endif
  return {};
}

}  // namespace headlight::kernels
