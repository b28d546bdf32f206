#include "headlight/tensor/threads.h"

#include <omp.h>

#include "headlight/tensor/error.h"

namespace headlight {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) {
  require(count >= 1 && count <= 1024, "[threads] expected 1 to 1024, got ", count);
  omp_set_num_threads(count);
}

}  // namespace headlight
