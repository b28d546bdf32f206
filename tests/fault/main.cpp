#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>

#include "fault/campaigns.h"

namespace headlight::fault {
namespace {

constexpr const char* kUsage =
    "usage: headlight_fault kills COUNT [SEED]    kill -9 at random instants\n"
    "       headlight_fault ranks COUNT [SEED]    kill -9 of one process among several\n"
    "       headlight_fault signals COUNT [SEED]  SIGINT and SIGTERM at random instants\n"
    "       headlight_fault calls KIND [STRIDE]   kill, tear, short, EINTR, EIO, ENOSPC, EMFILE,\n"
    "                                             EACCES at every STRIDE-th call (1); ENOSPC+: and "
    "all later ones\n"
    "       headlight_fault power [LIMIT] [SEED]  power failures; LIMIT states of a run, 0: all\n"
    "       headlight_fault power_without_fsync [LIMIT]  the same as if fsync were ignored; ends\n"
    "                                             with 0 when that loses something, as it must\n"
    "       headlight_fault lock                  several programs on one run directory\n";

long number(const std::vector<std::string>& words, std::size_t index, long fallback) {
  return index < words.size() ? std::atol(words[index].c_str()) : fallback;
}

// Keeps files in memory. A real disk would need minutes for thousands of flushes. Kills do not
// depend on the disk, and power failures are simulated.
void prefer_memory_for_files() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr int kKeep = 0;
  if (std::filesystem::is_directory(kMemory)) {
    ::setenv("TMPDIR", kMemory, kKeep);
  }
}

// Runs a campaign. Returns true if it found no loss.
bool run(const std::vector<std::string>& words) {
  const auto seed = static_cast<unsigned>(number(words, 2, 1));
  const std::string& name = words[0];
  if (name == "kills" || name == "ranks" || name == "signals") {
    const long count = number(words, 1, name == "kills" ? 50 : name == "ranks" ? 10 : 20);
    return (name == "kills" ? run_kills : name == "ranks" ? run_ranks : run_signals)(count, seed);
  }
  if (name == "calls" && words.size() >= 2) {
    return run_calls(words[1], std::max(1L, number(words, 2, 1)));
  }
  if (name == "power") {
    return run_power({.limit = number(words, 1, 0), .seed = seed});
  }
  if (name == "power_without_fsync") {
    return !run_power({.limit = number(words, 1, 0), .ignore_sync = true});
  }
  if (name == "lock") {
    return run_lock();
  }
  throw std::invalid_argument(kUsage);
}
}  // namespace
}  // namespace headlight::fault

// Exits with 1 after a broken promise, with 2 if nothing could be tried.
int main(int count, char** arguments) {
  const std::span<char*> all(arguments, static_cast<std::size_t>(count));
  const std::vector<std::string> words(all.begin() + 1, all.end());
  if (words.empty()) {
    std::cerr << headlight::fault::kUsage;
    return 2;
  }
  try {
    headlight::fault::prefer_memory_for_files();
    return headlight::fault::run(words) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "headlight_fault: " << error.what() << "\n";
    return 2;
  }
}
