#include "support/programs/launcher.h"

#include <filesystem>

namespace headlight::test {
namespace {

constexpr const char* kLauncher = "/usr/bin/mpirun";

}  // namespace

bool has_launcher() {
  const std::filesystem::path program = HEADLIGHT_PROGRAM;
  return std::filesystem::exists(kLauncher) &&
         std::filesystem::exists(program.parent_path() / "libheadlight_mpi.so");
}

std::vector<std::string> launched(const std::string& program, int processes) {
  if (processes == 1) {
    return {program};
  }
  return {kLauncher, "-n",   std::to_string(processes), "--oversubscribe", "--bind-to",
          "none",    program};
}

const std::map<std::string, std::string>& launcher_environment() {
  static const std::map<std::string, std::string> variables{
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
      {"OMPI_MCA_orte_abort_print_stack", "0"},
      {"LSAN_OPTIONS", "detect_leaks=0"},        // MPI libraries keep memory to the end
      {"OMPI_MCA_plm_rsh_agent", "/bin/true"}};  // only one machine
  return variables;
}

}  // namespace headlight::test
