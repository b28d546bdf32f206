#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datasets/file_size_limit.h"
#include "support/test.h"

std::string limited_error(rlim_t bytes, const std::function<void()>& action) {
  const FileSizeLimit limit(bytes);
  return error_of(action);
}

TEST_CASE("a file writer appends bytes and text and keeps the file after close") {
  const TemporaryFolder folder;
  FileWriter writer(folder / "a.bin");
  const std::array<std::byte, 3> bytes{std::byte{0}, std::byte{255}, std::byte{10}};
  writer.write(bytes);
  writer.write(std::span<const std::byte>());
  writer.write("text");
  writer.close();
  CHECK(file_contents(folder / "a.bin") == std::string("\0\xFF\ntext", 7));
  CHECK(contains(error_of([&] { writer.write("more"); }), "already closed"));
  CHECK(contains(error_of([&] { writer.close(); }), "already closed"));
}

TEST_CASE("a file writer that is not closed leaves nothing behind") {
  const TemporaryFolder folder;
  {
    FileWriter writer(folder / "a.bin");
    writer.write("part");
    CHECK(folder.names().size() == 1);
  }
  CHECK(folder.names().empty());
}

TEST_CASE("a file writer refuses an existing file and a missing folder and leaves them alone") {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "old");
  CHECK(error_of([&] { FileWriter writer(folder / "a.txt"); }) ==
        "cannot create " + (folder / "a.txt").string() + ": File exists");
  CHECK(file_contents(folder / "a.txt") == "old");
  CHECK(error_of([&] { FileWriter writer(folder / "none" / "a.txt"); }) ==
        "cannot create " + (folder / "none" / "a.txt").string() + ": No such file or directory");
}

TEST_CASE("a control character in a path does not break the error into lines") {
  const TemporaryFolder folder;
  const std::string error = error_of([&] { FileWriter writer(folder / "no\nne" / "a"); });
  CHECK(contains(error, "no\\x0ane/a: No such file"));
  CHECK_FALSE(contains(error, "\n"));
}

TEST_CASE("a write cut short by the system is an error and the partial file is removed") {
  const TemporaryFolder folder;
  const std::string contents(1000, 'x');
  const std::string error = limited_error(600, [&] {
    FileWriter writer(folder / "a.bin");
    writer.write(contents);
    writer.close();
  });
  CHECK(error == "cannot write " + (folder / "a.bin").string() + ": File too large");
  CHECK(folder.names().empty());
}

TEST_CASE("writing a file replaces the old content in one step") {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "");
  CHECK(file_contents(folder / "a.txt").empty());
  write_file(folder / "a.txt", "first");
  write_file(folder / "a.txt", "2nd");
  CHECK(file_contents(folder / "a.txt") == "2nd");
  CHECK(folder.names() == std::vector<std::string>{"a.txt"});
}

TEST_CASE("a failed replacement keeps the old file and leaves nothing beside it") {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "old");
  SECTION("when the disk is full") {
    const std::string contents(1000, 'x');
    const std::string error = limited_error(999, [&] { write_file(folder / "a.txt", contents); });
    CHECK(contains(error, "File too large"));
  }
  SECTION("when the body throws") {
    const auto body = [](FileWriter& writer) {
      writer.write("half");
      fail("stop");
    };
    CHECK(error_of([&] { replace_file(folder / "a.txt", body); }) == "stop");
  }
  CHECK(file_contents(folder / "a.txt") == "old");
  CHECK(folder.names() == std::vector<std::string>{"a.txt"});
}

TEST_CASE("a folder, pipe or device is not replaced by a file") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  CHECK(::mkfifo((folder / "b").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", folder / "c");
  for (const char* name : {"a", "b", "c"}) {
    CHECK(error_of([&] { write_file(folder / name, "text"); }) ==
          (folder / name).string() + ": not a regular file");
  }
  CHECK(folder.names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(fs::is_fifo(folder / "b"));
}

TEST_CASE("leftovers of a killed process under the temporary name are replaced") {
  const TemporaryFolder folder;
  test::write_bytes(folder / ("a.txt.tmp." + std::to_string(::getpid())), "left over");
  write_file(folder / "a.txt", "new");
  CHECK(file_contents(folder / "a.txt") == "new");
  CHECK(folder.names() == std::vector<std::string>{"a.txt"});
}

TEST_CASE("leftovers of other dead processes for the same file are removed") {
  const TemporaryFolder folder;
  const pid_t dead = ::fork();
  if (dead == 0) {
    ::_exit(0);
  }
  ::waitpid(dead, nullptr, 0);
  const std::string mark = ".tmp." + std::to_string(dead);
  for (const std::string name : {"a.txt", "a.txt.gz", "b.txt"}) {
    test::write_bytes(folder / (name + mark), "left over");
  }
  test::write_bytes(folder / ("a.txt.tmp." + std::to_string(::getppid())), "of a living process");
  write_file(folder / "a.txt", "new");
  CHECK(folder.names() == std::vector<std::string>{"a.txt", "a.txt.gz" + mark,
                                                   "a.txt.tmp." + std::to_string(::getppid()),
                                                   "b.txt" + mark});
}

TEST_CASE("staged files replace others together or not at all") {
  const TemporaryFolder folder;
  write_file(folder / "a", "old a");
  write_file(folder / "c", "old c");
  const auto stage = [&](bool fails) {
    StagedFiles staged(folder / ".");
    write_file(staged.path() / "a", "new a");
    write_file(staged.path() / "b", "new b");
    require(!fails, "the disk is full");
    staged.commit();
  };
  CHECK(error_of([&] { stage(true); }) == "the disk is full");
  CHECK(file_contents(folder / "a") == "old a");
  CHECK(folder.names() == std::vector<std::string>{"a", "c"});
  stage(false);
  CHECK(file_contents(folder / "a") == "new a");
  CHECK(file_contents(folder / "b") == "new b");
  CHECK(file_contents(folder / "c") == "old c");
  CHECK(folder.names() == std::vector<std::string>{"a", "b", "c"});
  fs::remove(folder / "b");
  fs::create_directory(folder / "b");
  write_file(folder / "a", "old a");
  CHECK(error_of([&] { stage(false); }).find("not a regular file") != std::string::npos);
  CHECK(file_contents(folder / "a") == "old a");
}
