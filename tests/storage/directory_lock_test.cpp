#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

// A process id that no process has: that of a child that is gone.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return child;
}

std::string temporary_name(const std::string& name, pid_t process) {
  return name + ".tmp." + std::to_string(process);
}

TEST_CASE("a locked directory is refused at once, naming the holder") {
  const TemporaryFolder folder;
  const DirectoryLock lock(folder.path());
  CHECK_THROWS_AS(DirectoryLock(folder.path()), LockedError);
  CHECK_THROWS_WITH(DirectoryLock(folder.path()),
                    contains_text("process " + std::to_string(getpid())));
}

TEST_CASE("a lock ends with its object") {
  const TemporaryFolder folder;
  std::optional<DirectoryLock> lock(std::in_place, folder.path());
  CHECK(file_contents(folder.path() / ".lock") == std::to_string(getpid()) + "\n");
  lock.reset();
  CHECK(file_contents(folder.path() / ".lock").empty());
  CHECK_NOTHROW(DirectoryLock(folder.path()));
}

TEST_CASE("a killed holder leaves no stale lock") {
  const TemporaryFolder folder;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const DirectoryLock lock(folder.path());
    const ssize_t told = write(ready[1], "x", 1);
    static_cast<void>(told);
    pause();
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  CHECK_THROWS_WITH(DirectoryLock(folder.path()),
                    contains_text("process " + std::to_string(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK_NOTHROW(DirectoryLock(folder.path()));
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("a lock is not made through a symlink") {
  const TemporaryFolder folder;
  fs::create_symlink("elsewhere", folder.path() / ".lock");
  CHECK_THROWS_WITH(DirectoryLock(folder.path()), contains_text(".lock"));
  CHECK(!fs::exists(folder.path() / "elsewhere"));
}

TEST_CASE("temporary files of dead processes are removed and those of living ones are kept") {
  const TemporaryFolder folder;
  const std::string stale = temporary_name("step_00000004", dead_process());
  fs::create_directory(folder.path() / stale);
  folder.write(stale + "/model.safetensors", "half");
  folder.write(temporary_name("config.toml", getpid()), "of a dead process with this number");
  const std::string living = temporary_name("step_00000008", getppid());
  fs::create_directory(folder.path() / living);
  folder.write(temporary_name("diary", dead_process()), "somebody else's");
  for (const char* name : {"notes.tmp.x", "notes.tmp.", ".tmp.4", "notes.tmp.-4", "notes"}) {
    folder.write(name, "mine");
  }
  const std::vector<fs::path> removed = remove_stale_temporaries(
      folder.path(), [](std::string_view name) { return name != "diary"; });
  CHECK(removed == std::vector<fs::path>{folder.path() / temporary_name("config.toml", getpid()),
                                         folder.path() / stale});
  CHECK(!fs::exists(folder.path() / stale));
  CHECK(fs::exists(folder.path() / living));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 7);
}
