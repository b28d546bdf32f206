#include "headlight/tensor/machine.h"

#include <fstream>

#include "headlight/tensor/error.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) {
  require(count >= 1 && count <= 1024, "[threads] expected 1 to 1024, got ", count);
  omp_set_num_threads(count);
}

double available_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  double kibibytes = 0;
  for (std::string unit; meminfo >> name >> kibibytes && std::getline(meminfo, unit);) {
    if (name == "MemAvailable:") {
      return 1024 * kibibytes;
    }
  }
  return 0;
}

std::string machine_description() {
  return concat_text(thread_count(), thread_count() == 1 ? " thread, " : " threads, ",
                     kernels::loops_variant(), " loops, ", kernels::blas_description());
}

std::string machine_warning() { return kernels::blas_warning(); }

}  // namespace headlight
