#include "headlight/kernels/machine/machine.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "headlight/base/error.h"
#include "headlight/kernels/precision.h"
#include "kernels/cpu_variant.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/openblas.h"
#include "kernels/machine/control_groups.h"
#include "kernels/machine/processors.h"
#include "kernels/threads/openmp.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/thread_pool.h"

namespace headlight {
namespace {

constexpr auto kMostThreads = static_cast<int>(kernels::ThreadPool::kMostThreads);

// Returns the first number of OMP_NUM_THREADS, which may list one per nesting level; 0 if it is not
// a valid count.
int threads_of_environment() {
  const char* variable = std::getenv("OMP_NUM_THREADS");
  std::string_view text = variable == nullptr ? "" : variable;
  text = text.substr(std::min(text.size(), text.find_first_not_of(" \t")));
  int count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view rest(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  const bool ends = rest.empty() || rest.find_first_of(", \t") == 0;
  return error == std::errc{} && ends && count >= 1 ? count : 0;
}

}  // namespace

int thread_count() { return static_cast<int>(kernels::max_threads()); }

void set_thread_count(int count) {
  require(count >= 1 && count <= kMostThreads, "[threads] expected 1 to ", kMostThreads, ", got ",
          count);
  kernels::set_max_threads(count);
}

int available_cpus() {
  const std::size_t allowed = kernels::allowed_cpus().size();
  return allowed > 0 ? static_cast<int>(allowed) : kernels::openmp_cpu_count();
}

int default_thread_count() {
  const int chosen = threads_of_environment();
  const int most = std::min(available_cpus(), kMostThreads);
  const std::vector<int> cpus = kernels::allowed_cpus();
  return std::min(most, chosen > 0     ? chosen
                        : cpus.empty() ? most
                                       : kernels::usable_cores("/", cpus));
}

void set_cpu_variant(std::string_view name) {
  for (const kernels::CpuVariant variant : kernels::kCpuVariants) {
    if (kernels::name_of(variant) == name) {
      kernels::set_cpu_variant(variant);
      return;
    }
  }
  fail("[cpu_variant] expected baseline, v3 or v4, got '", name, "'");
}

std::string_view cpu_variant_name() { return kernels::name_of(kernels::cpu_variant()); }

std::string_view products_name() { return name_of(kernels::products()); }

void set_products(std::string_view name) {
  kernels::set_products(parse_name<kernels::Products>("products", name));
}

std::string products_description() {
  return kernels::products_are_own() ? "Headlight" : kernels::blas_description();
}

bool supports_precision(Precision precision) {
  return precision == Precision::float32 ||
         (!kernels::bfloat16_instructions().empty() && products_name() != "blas");
}

void require_precision(Precision precision) {
  require_value(precision == Precision::float32 || !kernels::bfloat16_instructions().empty(),
                "dtype", "bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; ",
                "use float32 here");
  require_value(precision == Precision::float32 || products_name() != "blas", "dtype",
                "bfloat16 products are computed by Headlight's own tiles, not by BLAS; ",
                "use float32 with --products blas");
}

std::string cpu_name() { return system_value("/proc/cpuinfo", "model name"); }

std::string machine_description() {
  const bool plain = kernels::cpu_variant() == kernels::CpuVariant::baseline;
  return concat_text(thread_count(), thread_count() == 1 ? " thread, " : " threads, ",
                     plain ? "" : "x86-64-", cpu_variant_name(), " kernels, products by ",
                     products_description());
}

std::string machine_warning() {
  if (!kernels::products_are_own()) {
    return kernels::blas_warning();
  }
  return kernels::gemm_tiles<float>().fast
             ? ""
             : "products by Headlight's own tiles are slow without AVX2, "
               "AVX-512 or NEON; OpenBLAS is likely faster";
}

}  // namespace headlight
