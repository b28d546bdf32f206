#pragma once

#include <string>
#include <string_view>

namespace headlight {

// Returns the number of threads of the library's loops; 1 inside a parallel loop. Results do not
// depend on it. Initially OpenMP's choice, usually one per CPU; see default_thread_count().
int thread_count();

// Returns the CPUs that this process may run on; a core with two hardware threads is two CPUs.
int available_cpus();

// Returns the number of threads for the highest speed; headlight's commands start with it. That is
// one thread per core that the process may use, by its affinity mask and the CPU quota of its
// control group. OMP_NUM_THREADS overrides it. At most available_cpus(). Programs must set it
// themselves: set_thread_count(default_thread_count()).
int default_thread_count();

// Sets the number of threads of the process, from the next loop on; surplus threads sleep. Throws
// Error unless 1 <= count <= 1024.
void set_thread_count(int count);

// Returns the instruction set of the library's loops: "baseline" (plain C++ for any CPU), or the
// x86-64 level "v2" (SSE4.2), "v3" (AVX2) or "v4" (AVX-512). Initially the best that the machine
// supports. Results of different instruction sets differ by rounding.
std::string_view cpu_variant_name();

// Sets the instruction set; call it only while nothing computes. Throws Error for an unknown name
// or an unsupported instruction set.
void set_cpu_variant(std::string_view name);

// Returns the implementation of float32 and float64 matrix products:
//   "own"   Headlight's own tiles
//   "blas"  OpenBLAS
//   "auto"  the default: own tiles if compiled for AVX2, AVX-512 or NEON, where they were
//           measured as at least as fast; else OpenBLAS
// Results of the implementations differ by rounding, but not with the number of threads. Three
// products are always Headlight's: attention, bfloat16 factors (require_precision() rejects them
// with "blas"), and decoding, which multiplies packed weights by single vectors.
std::string_view products_name();

// Sets the implementation; call it only while nothing computes. Throws Error for an unknown name.
void set_products(std::string_view name);

// Returns the implementation in use: "Headlight" or "OpenBLAS 0.3.21, core SkylakeX, OpenMP build".
std::string products_description();

// Returns the manufacturer's name of the CPU, "AMD Ryzen 7 7840U"; empty: unknown.
std::string cpu_name();

// Returns a summary: "2 threads, x86-64-v4 kernels, products by Headlight".
std::string machine_description();

// Returns one line if a setting limits the machine's speed, else an empty text.
std::string machine_warning();

}  // namespace headlight
