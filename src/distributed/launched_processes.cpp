#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/strings/printable.h"
#include "distributed/plug_in.h"
#include "headlight/distributed/processes.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libheadlight_mpi.so";

// Number of processes of the job and rank of this process, from the launcher's environment.
struct Launch {
  Index count = 1;
  Index rank = 0;
};

Launch launch_of_environment() {
  struct Names {
    const char* count;
    const char* rank;
  };
  // Open MPI's mpirun; MPICH and Intel MPI; SLURM's srun, also for steps without MPI.
  constexpr std::array kNames{Names{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                              Names{"PMI_SIZE", "PMI_RANK"},
                              Names{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  for (const Names& names : kNames) {
    const char* count = std::getenv(names.count);
    const char* rank = std::getenv(names.rank);
    if (count != nullptr && rank != nullptr) {
      return {.count = std::atoi(count), .rank = std::atoi(rank)};
    }
  }
  return {};
}

// Returns candidate paths of the MPI plug-in: beside the program, or where plug-ins are installed.
std::vector<fs::path> directories() {
  // HEADLIGHT_MPI replaces these paths, for tests and for other programs that link the library.
  if (const char* named = std::getenv("HEADLIGHT_MPI"); named != nullptr) {
    return {named};
  }
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return error ? std::vector<fs::path>()
               : std::vector{folder / kFile, folder / HEADLIGHT_PLUG_INS / kFile};
}

struct Loaded {
  const cluster::PlugIn* plug_in = nullptr;
  std::string problem;  // if there is none
};

Loaded load() {
  std::string looked;
  for (const fs::path& path : directories()) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      looked += (looked.empty() ? "" : " and ") + shown(path);
      continue;
    }
    // RTLD_GLOBAL: Open MPI loads modules that need its symbols.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // never closed
    if (library == nullptr) {
      return {.problem = dlerror()};
    }
    const auto* plug_in =
        static_cast<const cluster::PlugIn*>(dlsym(library, cluster::kPlugInSymbol));
    if (plug_in == nullptr || std::string_view(HEADLIGHT_VERSION) != plug_in->version) {
      return {.problem = shown(path) + " belongs to another version of headlight"};
    }
    return {.plug_in = plug_in, .problem = {}};
  }
  return {.problem =
              "this build has no MPI (no " + looked + "): install libopenmpi-dev and build again"};
}

}  // namespace

std::unique_ptr<Processes> launched_processes() {
  const Launch launch = launch_of_environment();
  if (launch.count <= 1) {
    return nullptr;
  }
  // All processes find the same problem; rank 0 alone reports it.
  const auto require_in_all = [&](bool condition, const std::string& problem) {
    if (!condition && launch.rank > 0) {
      throw PeerFailed(problem);
    }
    require(condition, problem);
  };
  const Loaded loaded = load();
  require_in_all(loaded.plug_in != nullptr,
                 concat_text("a launcher has started ", launch.count,
                             " processes, which cannot be connected: ", loaded.problem));
  std::unique_ptr<Processes> processes = loaded.plug_in->open();
  const auto count = static_cast<std::uint64_t>(processes->count());
  require_in_all(std::has_single_bit(count),
                 concat_text("expected 1, 2, 4, 8 ... processes, got ", count, "; ",
                             std::bit_floor(count), " or ", std::bit_ceil(count), " are possible"));
  return processes;
}

Index launched_on_this_machine() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const char* count = std::getenv(name); count != nullptr) {
      return std::max(1, std::atoi(count));
    }
  }
  return 1;
}

std::string describe_launcher_support() {
  const Loaded loaded = load();
  return loaded.plug_in != nullptr ? loaded.plug_in->describe() : "none: " + loaded.problem;
}

}  // namespace headlight
