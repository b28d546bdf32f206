#include "kernels/machine/processors.h"
#include "kernels/threads/openmp.h"
#include "kernels/threads/thread_pool.h"

// One thread: a page that opens from a disk gets no shared memory, which threads would need.
namespace headlight::kernels {

int openmp_thread_count() { return 1; }

int openmp_cpu_count() { return 1; }

const std::vector<std::vector<int>>& openmp_places() {
  static const std::vector<std::vector<int>> none;
  return none;
}

OpenMpThreadScope::OpenMpThreadScope(int threads) : previous_(threads) {}

OpenMpThreadScope::~OpenMpThreadScope() = default;

std::vector<int> allowed_cpus() { return {}; }

void bind_to_place(Index) {}

int usable_cores(const std::filesystem::path&, const std::vector<int>&) { return 1; }

ThreadPool::ThreadPool() = default;

ThreadPool& ThreadPool::instance() {
  static ThreadPool pool;
  return pool;
}

// The callers then compute on their own thread.
bool ThreadPool::run_chunks(Index, Index, ChunkFunction, const void*) { return false; }

bool ThreadPool::run_team(Index, Index, TeamFunction, const void*) { return false; }

void TeamBarrier::sleep(unsigned, Index) const {}

}  // namespace headlight::kernels
