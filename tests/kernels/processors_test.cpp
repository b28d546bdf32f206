#include "kernels/machine/processors.h"
#include "kernels/threads/openmp.h"
#include "support/test.h"

namespace processors_test {
using headlight::kernels::allowed_cpus;
using headlight::kernels::usable_cores;

// A folder with the files of a machine's proc and sys.
class FakeMachine {
 public:
  FakeMachine& file(const std::string& name, const std::string& contents) {
    fs::create_directories((folder_.path() / name).parent_path());
    folder_.write(name, contents);
    return *this;
  }
  FakeMachine& siblings(int cpu, const std::string& list) {
    return file(
        "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        list);
  }
  FakeMachine& process_group(const std::string& lines) { return file("proc/self/cgroup", lines); }
  FakeMachine& group_file(const std::string& name, const std::string& contents) {
    return file("sys/fs/cgroup/" + name, contents);
  }
  int cores(const std::vector<int>& cpus) const { return usable_cores(folder_.path(), cpus); }

 private:
  TemporaryFolder folder_;
};

const std::vector<int> kEight{0, 1, 2, 3, 4, 5, 6, 7};

TEST_CASE("hardware threads of one core count once, and only those the process may run on") {
  FakeMachine machine;
  for (int cpu = 0; cpu < 4; ++cpu) {  // cores {0, 4}, {1, 5} and so on
    const std::string pair = std::to_string(cpu) + "," + std::to_string(cpu + 4) + "\n";
    machine.siblings(cpu, pair).siblings(cpu + 4, pair);
  }
  CHECK(machine.cores(kEight) == 4);
  CHECK(machine.cores({0, 1, 2, 3}) == 4);
  CHECK(machine.cores({0, 4}) == 1);
  CHECK(machine.cores({4, 5, 7}) == 3);
}

TEST_CASE("sibling lists may contain ranges") {
  FakeMachine machine;
  for (int cpu = 0; cpu < 8; ++cpu) {
    machine.siblings(cpu, cpu < 4 ? "0-1,2-3" : "4-7");
  }
  CHECK(machine.cores(kEight) == 2);
  CHECK(machine.cores({3, 7}) == 2);
}

TEST_CASE("a machine without topology files has as many cores as CPUs and at least one") {
  const FakeMachine machine;
  CHECK(machine.cores(kEight) == 8);
  CHECK(machine.cores({}) == 1);
}

TEST_CASE("a CPU with an invalid sibling list counts as a core of its own") {
  FakeMachine machine;
  machine.siblings(0, "").siblings(1, "x-y").siblings(2, "-1").siblings(3, "7-3");
  machine.siblings(4, "0").siblings(5, std::string(100000, ',')).siblings(6, "6-");
  machine.siblings(7, "99999999999999999999999");
  CHECK(machine.cores(kEight) == 8);
  machine.siblings(7, "0-4000000000000");  // only the existing CPUs of an endless list count
  CHECK(machine.cores(kEight) == 7);
}

TEST_CASE("the CPU time of a version 2 control group limits the cores, rounded up") {
  FakeMachine machine;
  machine.process_group("0::/jobs/one\n");
  machine.group_file("jobs/one/cpu.max", "250000 100000\n");
  CHECK(machine.cores(kEight) == 3);
  machine.group_file("jobs/one/cpu.max", "200000 100000\n");
  CHECK(machine.cores(kEight) == 2);
  machine.group_file("jobs/one/cpu.max", "1000 100000\n");
  CHECK(machine.cores(kEight) == 1);
  machine.group_file("jobs/one/cpu.max", "max 100000\n");
  CHECK(machine.cores(kEight) == 8);
  CHECK(machine.cores({0, 1}) == 2);
}

TEST_CASE("parent control groups limit the cores too") {
  FakeMachine machine;
  machine.process_group("0::/jobs/one\n").group_file("jobs/one/cpu.max", "400000 100000\n");
  machine.group_file("jobs/cpu.max", "300000 100000\n");
  CHECK(machine.cores(kEight) == 3);
  machine.group_file("cpu.max", "100000 100000\n");
  CHECK(machine.cores(kEight) == 1);
}

TEST_CASE("inside a container the root of the group tree is the own group whatever the path") {
  FakeMachine machine;
  machine.process_group("0::/docker/0123456789abcdef\n").group_file("cpu.max", "150000 100000\n");
  CHECK(machine.cores(kEight) == 2);
  machine.process_group("0::/../../escaped\n");
  CHECK(machine.cores(kEight) == 2);
}

TEST_CASE("the CPU quota of a version 1 control group limits the cores") {
  FakeMachine machine;
  machine.process_group("5:memory:/elsewhere\n4:cpu,cpuacct:/jobs\n0::/\n");
  machine.group_file("cpu,cpuacct/jobs/cpu.cfs_quota_us", "350000\n");
  machine.group_file("cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  CHECK(machine.cores(kEight) == 4);
  machine.group_file("cpu,cpuacct/jobs/cpu.cfs_quota_us", "-1\n");
  CHECK(machine.cores(kEight) == 8);
  machine.group_file("cpu/jobs/cpu.cfs_quota_us", "50000\n");
  machine.group_file("cpu/jobs/cpu.cfs_period_us", "50000\n");
  CHECK(machine.cores(kEight) == 1);
}

TEST_CASE("a version 2 group tree beside version 1 is also read") {
  FakeMachine machine;
  machine.process_group("1:cpuset:/\n0::/a\n").group_file("unified/a/cpu.max", "200000 100000");
  CHECK(machine.cores(kEight) == 2);
}

TEST_CASE("invalid control group files limit nothing") {
  for (const char* contents :
       {"", "\n", "fast", "100000", "0 100000", "100000 0", "-5 100000", "1e5 100000", "100000 x",
        "99999999999999999999999 100000", "max max"}) {
    INFO(contents);
    FakeMachine machine;
    machine.process_group("0::/a\n").group_file("a/cpu.max", contents);
    CHECK(machine.cores(kEight) == 8);
  }
  for (const char* lines : {"", "::::", "0", "0:", "garbage\n\n:\n", "1:cpu\n", "1:cpu:\n"}) {
    INFO(lines);
    FakeMachine machine;
    machine.process_group(lines).group_file("a/cpu.max", "100000 100000");
    CHECK(machine.cores(kEight) == 8);
  }
}

TEST_CASE("a quota file that is a folder limits nothing") {
  FakeMachine machine;
  machine.process_group("0::/a\n").group_file("a/cpu.max/inside", "1 1");
  CHECK(machine.cores(kEight) == 8);
}

TEST_CASE("the CPUs of this process are those that OpenMP counts, in order") {
  const std::vector<int> cpus = allowed_cpus();
  CHECK(static_cast<int>(cpus.size()) == headlight::kernels::openmp_cpu_count());
  CHECK(std::is_sorted(cpus.begin(), cpus.end()));
  CHECK(std::adjacent_find(cpus.begin(), cpus.end()) == cpus.end());
}
}  // namespace processors_test
