#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

TEST_CASE("a committed directory appears whole under its name with a manifest") {
  const TemporaryFolder folder;
  AtomicDirectory directory(folder / "step");
  CHECK(directory.path() == folder / ("step.tmp." + std::to_string(::getpid())));
  write_file(directory.path() / "a.txt", "abc");
  fs::create_directory(directory.path() / "sub");
  write_bytes(directory.path() / "sub" / "b.txt", "b");
  CHECK_FALSE(fs::exists(folder / "step"));
  directory.commit();
  CHECK(folder.names() == std::vector<std::string>{"step"});
  CHECK(file_contents(folder / "step" / "a.txt") == "abc");
  CHECK(has_manifest(folder / "step"));
  CHECK_NOTHROW(verify_manifest(folder / "step"));
  CHECK(contains(file_contents(folder / "step" / "MANIFEST.json"), "\"sub/b.txt\""));
  CHECK(contains(error_of([&] { directory.commit(); }), "already committed"));
  CHECK(folder.names() == std::vector<std::string>{"step"});
}

TEST_CASE("a directory that is not committed leaves nothing behind") {
  const TemporaryFolder folder;
  {
    const AtomicDirectory directory(folder / "step");
    write_file(directory.path() / "a.txt", "abc");
    fs::create_directories(directory.path() / "x" / "y");
    CHECK(folder.names().size() == 1);
  }
  CHECK(folder.names().empty());
}

TEST_CASE("a name that is taken is refused, before and after writing") {
  const TemporaryFolder folder;
  SECTION("by a directory or a file or a dangling symlink") {
    fs::create_directory(folder / "directory");
    write_bytes(folder / "file", "old");
    fs::create_symlink("nowhere", folder / "link");
    for (const std::string name : {"directory", "directory/", "file", "link"}) {
      CAPTURE(name);
      CHECK(
          contains(error_of([&] { AtomicDirectory directory(folder / name); }), "already exists"));
    }
    CHECK(folder.names() == std::vector<std::string>{"directory", "file", "link"});
  }
  SECTION("by an empty directory created later") {
    {
      AtomicDirectory directory(folder / "step");
      write_file(directory.path() / "a.txt", "abc");
      fs::create_directory(folder / "step");
      CHECK(contains(error_of([&] { directory.commit(); }), "File exists"));
    }
    CHECK(folder.names() == std::vector<std::string>{"step"});
    CHECK(fs::is_empty(folder / "step"));
  }
}

TEST_CASE("a committed directory can replace another one") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "step");
  write_bytes(folder / "step" / "old.txt", "old");
  {
    AtomicDirectory directory(folder / "step", AtomicDirectory::Target::may_exist);
    write_file(directory.path() / "new.txt", "new");
    CHECK(contains(error_of([&] { directory.exchange(); }), "not sealed"));
    directory.seal();
    CHECK(contains(error_of([&] { directory.commit(); }), "cannot create"));
    REQUIRE(directory.exchange());
    CHECK(file_contents(folder / "step" / "new.txt") == "new");
  }
  CHECK(folder.names() == std::vector<std::string>{"step"});
  CHECK_FALSE(fs::exists(folder / "step" / "old.txt"));
  CHECK_NOTHROW(verify_manifest(folder / "step"));
}

TEST_CASE("invalid directory names and missing parents are refused") {
  const TemporaryFolder folder;
  for (const fs::path& target :
       {fs::path(), fs::path("."), fs::path(".."), folder / "x/..", fs::path("/")}) {
    CAPTURE(target);
    check_error([&] { AtomicDirectory directory(target); }, {"does not name a directory"});
  }
  CHECK(contains(error_of([&] { AtomicDirectory directory(folder / "none" / "step"); }),
                 "No such file or directory"));
  CHECK(folder.names().empty());
}

TEST_CASE("a trailing separator does not change the name, and the directory outlives its writer") {
  const TemporaryFolder folder;
  AtomicDirectory(folder / "step/").commit();
  CHECK(folder.names() == std::vector<std::string>{"step"});
  CHECK_NOTHROW(verify_manifest(folder / "step"));
}

TEST_CASE("leftovers of a killed process under the temporary name are removed") {
  const TemporaryFolder folder;
  const fs::path left = folder / ("step.tmp." + std::to_string(::getpid()));
  fs::create_directory(left);
  write_bytes(left / "old.txt", "old");
  AtomicDirectory(folder / "step").commit();
  CHECK(folder.names() == std::vector<std::string>{"step"});
  CHECK_FALSE(fs::exists(folder / "step" / "old.txt"));
}

TEST_CASE("a symlink or a pipe among the files is refused and nothing is committed") {
  const TemporaryFolder folder;
  std::string error;
  {
    AtomicDirectory directory(folder / "step");
    SECTION("symlink") { fs::create_symlink("/etc/passwd", directory.path() / "odd"); }
    SECTION("pipe") { REQUIRE(::mkfifo((directory.path() / "odd").c_str(), 0600) == 0); }
    error = error_of([&] { directory.commit(); });
  }
  CHECK(contains(error, "odd: neither a regular file nor a folder"));
  CHECK(folder.names().empty());
}

TEST_CASE("a file name that is not UTF-8 is refused with one line") {
  const TemporaryFolder folder;
  AtomicDirectory directory(folder / "step");
  write_bytes(directory.path() / "\xFF", "x");
  CHECK(contains(error_of([&] { directory.commit(); }), "file name that is not UTF-8"));
}

TEST_CASE("a link is made and then moved to another target in one step") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "one");
  fs::create_directory(folder / "two");
  set_link(folder / "latest", "one");
  CHECK(fs::read_symlink(folder / "latest") == "one");
  set_link(folder / "latest", "two");
  CHECK(fs::read_symlink(folder / "latest") == "two");
  set_link(folder / "latest", "not/there/yet");
  CHECK(fs::read_symlink(folder / "latest") == "not/there/yet");
  CHECK(folder.names() == std::vector<std::string>{"latest", "one", "two"});
}

TEST_CASE("a link replaces neither a file nor a directory and needs a relative target") {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "old");
  fs::create_directory(folder / "directory");
  CHECK(contains(error_of([&] { set_link(folder / "file", "x"); }), "is not a symlink"));
  CHECK(contains(error_of([&] { set_link(folder / "directory", "x"); }), "is not a symlink"));
  check_error([&] { set_link(folder / "link", "/tmp"); }, {"relative target, got '/tmp'"});
  CHECK(contains(error_of([&] { set_link(folder / "link", ""); }), "relative target"));
  CHECK(contains(error_of([&] { set_link(folder / "none" / "link", "x"); }), "No such file"));
  CHECK(file_contents(folder / "file") == "old");
  CHECK(folder.names() == std::vector<std::string>{"directory", "file"});
}
