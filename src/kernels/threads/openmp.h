#pragma once

#include <vector>

// Settings of the OpenMP runtime. Headlight's loops run on its own threads (thread_pool.h), but
// OpenMP's environment sets their number and CPUs, and OpenBLAS takes its threads from OpenMP.
namespace headlight::kernels {

// Returns OpenMP's number of threads, from OMP_NUM_THREADS or the number of CPUs.
int openmp_thread_count();

// Returns OpenMP's number of CPUs.
int openmp_cpu_count();

// Returns the CPUs of every place of OMP_PLACES or OMP_PROC_BIND; empty: threads are not bound.
const std::vector<std::vector<int>>& openmp_places();

// Sets the number of OpenMP threads for libraries that this thread calls, during its lifetime.
class OpenMpThreadScope {
 public:
  explicit OpenMpThreadScope(int threads);
  ~OpenMpThreadScope();
  OpenMpThreadScope(const OpenMpThreadScope&) = delete;
  OpenMpThreadScope& operator=(const OpenMpThreadScope&) = delete;

 private:
  int previous_;
};

}  // namespace headlight::kernels
