#include "headlight/tensor/machine.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>

#include "headlight/tensor/error.h"
#include "kernels/control_groups.h"
#include "kernels/cpu_variant.h"
#include "kernels/parallel.h"
#include "kernels/processors.h"
#include "kernels/products.h"

namespace headlight {
namespace {

// The rest of the first line "key: ..." of a file; empty when there is none.
std::string text_after(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && line.starts_with(key)) {
      const std::size_t value = line.find_first_not_of(" \t", colon + 1);
      return value == std::string::npos ? std::string() : line.substr(value);
    }
  }
  return {};
}

double number_after(const char* path, std::string_view key) {
  const std::string text = text_after(path, key);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

constexpr int kMostThreads = 1024;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The first number of OMP_NUM_THREADS, which may list one for every level; 0: none that makes
// sense.
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

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) {
  require(count >= 1 && count <= kMostThreads, "[threads] expected 1 to ", kMostThreads, ", got ",
          count);
  omp_set_num_threads(count);
}

int available_cpus() {
  const std::size_t allowed = kernels::allowed_cpus().size();
  return allowed > 0 ? static_cast<int>(allowed) : omp_get_num_procs();
}

int default_thread_count() {
  const int chosen = threads_of_environment();
  const int most = std::min(available_cpus(), kMostThreads);
  const std::vector<int> cpus = kernels::allowed_cpus();
  return std::min(most, chosen > 0     ? chosen
                        : cpus.empty() ? most
                                       : kernels::usable_cores("/", cpus));
}

double available_memory() {
  const double system = 1024 * number_after("/proc/meminfo", "MemAvailable");
  double least = system > 0 ? system : kNoLimit;
  least = std::min(least, kernels::memory_left_in_groups("/").value_or(kNoLimit));
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    const double used = 1024 * number_after("/proc/self/status", "VmSize");
    least = std::min(least, static_cast<double>(addresses.rlim_cur) - used);
  }
  return least < kNoLimit ? std::max(1.0, least) : 0;
}

std::string missing_memory(double bytes) {
  const double available = available_memory();
  if (available == 0 || bytes < available) {
    return "";
  }
  const auto megabytes = [](double count) {
    return std::to_string(static_cast<Index>(count / 1e6)) + " MB";
  };
  return megabytes(bytes) + ", and " + megabytes(available) + " are free";
}

double peak_memory() { return 1024 * number_after("/proc/self/status", "VmHWM"); }

std::string cpu_name() { return text_after("/proc/cpuinfo", "model name"); }

std::string machine_description() {
  const bool plain = kernels::cpu_variant() == kernels::CpuVariant::baseline;
  return concat_text(thread_count(), thread_count() == 1 ? " thread, " : " threads, ",
                     plain ? "" : "x86-64-", cpu_variant_name(), " kernels, products by ",
                     products_description());
}

std::string machine_warning() { return kernels::products_warning(); }

}  // namespace headlight
