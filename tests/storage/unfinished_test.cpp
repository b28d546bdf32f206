#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

// Runs `work` in another process, which is then interrupted.
template <class Work>
void interrupt(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work([] {
      remove_unfinished();
      ::_exit(0);
    });
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("an unfinished file or folder is removed at the end unless it is kept") {
  const TemporaryFolder folder;
  write_file(folder / "file", "half");
  fs::create_directories(folder / "folder/inner");
  write_file(folder / "kept", "whole");
  {
    const Unfinished file(folder / "file");
    const Unfinished inner(folder / "folder");
    Unfinished kept(folder / "kept");
    const Unfinished absent(folder / "absent");
    kept.keep();
  }
  CHECK(folder.names() == std::vector<std::string>{"kept"});
}

TEST_CASE("an interruption leaves the old files of every kind of writer and nothing else") {
  const TemporaryFolder folder;
  write_file(folder / "a", "old a");
  interrupt([&](const auto& end) {
    replace_file(folder / "a", [&](FileWriter& writer) {
      writer.write("half of a");
      end();
    });
  });
  interrupt([&](const auto& end) {
    StagedFiles staged(folder / ".");
    write_file(staged.path() / "a", "new a");
    end();
  });
  interrupt([&](const auto& end) {
    const AtomicDirectory directory(folder / "run");
    write_file(directory.path() / "weights", "some");
    end();
  });
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("an interruption leaves what is complete") {
  const TemporaryFolder folder;
  interrupt([&](const auto& end) {
    AtomicDirectory directory(folder / "run");
    directory.commit();
    StagedFiles staged(folder / ".");
    write_file(staged.path() / "a", "new a");
    staged.commit();
    end();
  });
  CHECK(folder.names() == std::vector<std::string>{"a", "run"});
}
