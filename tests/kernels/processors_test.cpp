#include "kernels/machine/processors.h"
#include "kernels/threads/openmp.h"
#include "support/test.h"

using headlight::kernels::allowed_cpus;
using headlight::kernels::usable_cores;

using Files = std::vector<std::pair<std::string, std::string>>;

// Returns the cores of a machine with these files of proc and sys.
int cores(const Files& files, const std::vector<int>& cpus = {0, 1, 2, 3, 4, 5, 6, 7}) {
  const TemporaryFolder folder;
  for (const auto& [name, contents] : files) {
    const std::string place =
        name == "group" ? "proc/self/cgroup"
        : name.starts_with("cpu") && name.size() == 4
            ? "sys/devices/system/cpu/" + name + "/topology/thread_siblings_list"
            : "sys/fs/cgroup/" + name;
    fs::create_directories((folder.path() / place).parent_path());
    folder.write(place, contents);
  }
  return usable_cores(folder.path(), cpus);
}

TEST_CASE("hardware threads of one core count once, and only those the process may run on") {
  Files pairs;
  Files ranges;
  for (int cpu = 0; cpu < 8; ++cpu) {  // cores {0, 4}, {1, 5} and so on; {0, 1, 2, 3} and {4 ... 7}
    pairs.emplace_back(concat_text("cpu", cpu), concat_text(cpu % 4, ",", cpu % 4 + 4, "\n"));
    ranges.emplace_back(concat_text("cpu", cpu), cpu < 4 ? "0-1,2-3" : "4-7");
  }
  CHECK(cores(pairs) == 4);
  CHECK(cores(pairs, {0, 1, 2, 3}) == 4);
  CHECK(cores(pairs, {0, 4}) == 1);
  CHECK(cores(pairs, {4, 5, 7}) == 3);
  CHECK(cores(ranges) == 2);
  CHECK(cores(ranges, {3, 7}) == 2);
  CHECK(cores({}) == 8);  // without files of topology
  CHECK(cores({}, {}) == 1);
}

TEST_CASE("a CPU with an invalid sibling list counts as a core of its own") {
  Files files{{"cpu0", ""},    {"cpu1", "x-y"}, {"cpu2", "-1"},
              {"cpu3", "7-3"}, {"cpu4", "0"},   {"cpu5", std::string(100000, ',')},
              {"cpu6", "6-"}};
  files.emplace_back("cpu7", "99999999999999999999999");
  CHECK(cores(files) == 8);
  files.back().second = "0-4000000000000";  // only the existing CPUs of an endless list count
  CHECK(cores(files) == 7);
}

TEST_CASE("the CPU time of control groups of version 2 limits the cores, rounded up") {
  const auto limited = [](const std::string& group, const Files& files,
                          const std::vector<int>& cpus = {0, 1, 2, 3, 4, 5, 6, 7}) {
    Files all = files;
    all.emplace_back("group", group);
    return cores(all, cpus);
  };
  const std::string own = "jobs/one/cpu.max";
  CHECK(limited("0::/jobs/one\n", {{own, "250000 100000\n"}}) == 3);
  CHECK(limited("0::/jobs/one\n", {{own, "200000 100000\n"}}) == 2);
  CHECK(limited("0::/jobs/one\n", {{own, "1000 100000\n"}}) == 1);
  CHECK(limited("0::/jobs/one\n", {{own, "max 100000\n"}}) == 8);
  CHECK(limited("0::/jobs/one\n", {{own, "max 100000\n"}}, {0, 1}) == 2);
  // Parents limit, too.
  const Files two{{own, "400000 100000\n"}, {"jobs/cpu.max", "300000 100000\n"}};
  CHECK(limited("0::/jobs/one\n", two) == 3);
  CHECK(limited("0::/jobs/one\n", {two[0], two[1], {"cpu.max", "100000 100000\n"}}) == 1);
  // Inside a container the root of the tree is the own group, whatever the path.
  CHECK(limited("0::/docker/0123456789abcdef\n", {{"cpu.max", "150000 100000\n"}}) == 2);
  CHECK(limited("0::/../../escaped\n", {{"cpu.max", "150000 100000\n"}}) == 2);
  // Beside version 1.
  CHECK(limited("1:cpuset:/\n0::/a\n", {{"unified/a/cpu.max", "200000 100000"}}) == 2);
}

TEST_CASE("the CPU quota of a version 1 control group limits the cores") {
  Files files{{"group", "5:memory:/elsewhere\n4:cpu,cpuacct:/jobs\n0::/\n"},
              {"cpu,cpuacct/jobs/cpu.cfs_quota_us", "350000\n"},
              {"cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"}};
  CHECK(cores(files) == 4);
  files[1].second = "-1\n";
  CHECK(cores(files) == 8);
  files.emplace_back("cpu/jobs/cpu.cfs_quota_us", "50000\n");
  files.emplace_back("cpu/jobs/cpu.cfs_period_us", "50000\n");
  CHECK(cores(files) == 1);
}

TEST_CASE("invalid control group files limit nothing") {
  for (const char* contents :
       {"", "\n", "fast", "100000", "0 100000", "100000 0", "-5 100000", "1e5 100000", "100000 x",
        "99999999999999999999999 100000", "max max"}) {
    INFO(contents);
    CHECK(cores({{"group", "0::/a\n"}, {"a/cpu.max", contents}}) == 8);
  }
  for (const char* lines : {"", "::::", "0", "0:", "garbage\n\n:\n", "1:cpu\n", "1:cpu:\n"}) {
    INFO(lines);
    CHECK(cores({{"group", lines}, {"a/cpu.max", "100000 100000"}}) == 8);
  }
  CHECK(cores({{"group", "0::/a\n"}, {"a/cpu.max/inside", "1 1"}}) == 8);  // a folder
}

TEST_CASE("the CPUs of this process are those that OpenMP counts, in order") {
  const std::vector<int> cpus = allowed_cpus();
  CHECK(static_cast<int>(cpus.size()) == headlight::kernels::openmp_cpu_count());
  CHECK(std::is_sorted(cpus.begin(), cpus.end()));
  CHECK(std::adjacent_find(cpus.begin(), cpus.end()) == cpus.end());
}
