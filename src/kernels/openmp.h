#pragma once

#include <vector>

// What the project asks of OpenMP's runtime. Its loops run on threads of its own (thread_pool.h);
// OpenMP's environment says how many and on which CPUs, and OpenBLAS takes its threads from OpenMP.
namespace headlight::kernels {

// Threads that OpenMP would compute with, by OMP_NUM_THREADS or the CPUs there are.
int openmp_thread_count();

// CPUs that OpenMP counts.
int openmp_cpu_count();

// The CPUs of every place of OMP_PLACES or OMP_PROC_BIND; none: threads may move.
const std::vector<std::vector<int>>& openmp_places();

// While one lives, libraries that this thread calls and that ask OpenMP for threads get `threads`.
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
