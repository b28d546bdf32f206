#include "kernels/machine/control_groups.h"
#include "support/test.h"

void put(const TemporaryFolder& folder, const std::string& name, const std::string& contents) {
  fs::create_directories((folder.path() / name).parent_path());
  folder.write(name, contents);
}

TEST_CASE("without a control group limit no memory limit is reported") {
  const TemporaryFolder folder;
  CHECK(!memory_left_in_groups(folder.path()));
  put(folder, "proc/self/cgroup", "0::/job\n");
  put(folder, "sys/fs/cgroup/job/memory.max", "max\n");
  put(folder, "sys/fs/cgroup/job/memory.current", "1000\n");
  CHECK(!memory_left_in_groups(folder.path()));
}

TEST_CASE(
    "the control group with the least memory left decides and its cached files count as free") {
  const TemporaryFolder folder;
  put(folder, "proc/self/cgroup", "0::/outer/job\n");
  put(folder, "sys/fs/cgroup/outer/job/memory.max", "9000\n");
  put(folder, "sys/fs/cgroup/outer/job/memory.current", "1000\n");
  put(folder, "sys/fs/cgroup/outer/memory.max", "5000\n");
  put(folder, "sys/fs/cgroup/outer/memory.current", "3000\n");
  put(folder, "sys/fs/cgroup/outer/memory.stat", "anon 2500\ninactive_file 400\n");
  CHECK(memory_left_in_groups(folder.path()) == 2400);
}

TEST_CASE("limits of version 1 control groups apply except the number that means no limit") {
  const TemporaryFolder folder;
  put(folder, "proc/self/cgroup", "7:cpu,cpuacct:/a\n4:memory:/job\n");
  put(folder, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put(folder, "sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  CHECK(!memory_left_in_groups(folder.path()));
  put(folder, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8192\n");
  put(folder, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "9000\n");
  CHECK(memory_left_in_groups(folder.path()) == 0);
}
