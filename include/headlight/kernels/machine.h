#pragma once

#include <string>
#include <string_view>

namespace headlight {

// Threads that the library computes with, 1 inside a parallel loop. Results do not depend on the
// number. A program that sets nothing gets what OpenMP decides, mostly one for every CPU; see
// default_thread_count.
int thread_count();

// CPUs that this process may run on; a core that runs two threads at a time is two CPUs.
int available_cpus();

// The number that computing is fastest with, which headlight's commands start from: one thread for
// every core that this process may run on and has time on, by its affinity mask and the CPU quota
// of its control group. OMP_NUM_THREADS comes first when it is set. Never above available_cpus().
// Setting it is the caller's: set_thread_count(default_thread_count()).
int default_thread_count();

// Of the whole process, from the next loop on; threads that a smaller number leaves over sleep.
// Throws Error unless 1 <= count <= 1024.
void set_thread_count(int count);

// The instruction set that the library's own loops use: "baseline" (plain C++ for any CPU), or the
// x86-64 levels "v2" (SSE4.2), "v3" (AVX2) and "v4" (AVX-512). At first the best that the machine
// can run; results differ between them by rounding.
std::string_view cpu_variant_name();

// Before computing, not meanwhile. Throws Error for another name or one that this machine cannot
// run.
void set_cpu_variant(std::string_view name);

// Who computes the products of float32 and float64 matrices, and the attention of sequences:
//   "own"   Headlight's own tiles
//   "blas"  OpenBLAS
//   "auto"  at first: own tiles where they are compiled for AVX2, AVX-512 or NEON, and were
//           measured as fast or faster; else OpenBLAS, but for attention
// Results differ by rounding; with each they are the same for any number of threads. What BLAS has
// no form for is always Headlight's own: products of factors rounded to bfloat16 (require_precision
// refuses them with "blas"), and the steps of generation, which multiply packed weights by single
// vectors.
std::string_view products_name();

// Before computing, not meanwhile. Throws Error for another name.
void set_products(std::string_view name);

// Who that is here: "Headlight", "OpenBLAS 0.3.21, core SkylakeX, OpenMP build", or the latter with
// ", attention's by Headlight".
std::string products_description();

// The CPU's name as its maker gives it, "AMD Ryzen 7 7840U"; empty: unknown.
std::string cpu_name();

// What computes: "2 threads, x86-64-v4 kernels, products by Headlight".
std::string machine_description();

// One line when something holds the machine below what it can do, else an empty text.
std::string machine_warning();

}  // namespace headlight
