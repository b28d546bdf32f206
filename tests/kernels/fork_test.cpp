#include <sys/wait.h>
#include <unistd.h>

#include "kernels/threads/parallel.h"
#include "support/test.h"

bool computes() {
  std::atomic<Index> items{0};
  for (int loop = 0; loop < 20; ++loop) {
    parallel_for(100, 1, [&](Index begin, Index end) { items += end - begin; });
    kernels::parallel_team(3, 0, [&](const kernels::TeamMember& me) {
      items += me.share_end(100) - me.share_begin(100);
      me.barrier();
    });
  }
  return items == 20 * 200;
}

TEST_CASE("the child of a fork computes with threads of its own") {
  const ThreadScope scope(3);
  REQUIRE(computes());
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);  // must not outlive a failed test
    _exit(computes() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(computes());
}
