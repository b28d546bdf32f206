#include "headlight/text/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "headlight/tensor/error.h"
#include "support/catch.h"

using namespace headlight;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

// A folder of its own that is removed with everything in it.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("headlight_text_" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path file(const std::string& bytes) const {
    std::ofstream(path / "x.txt", std::ios::binary) << bytes;
    return path / "x.txt";
  }

  fs::path path;
};

}  // namespace

TEST_CASE("a text file is read byte for byte, NUL and a missing last line end included") {
  const Folder folder;
  CHECK(read_text_file(folder.file("a\n\0b\xED\x95\x9C"s)) == "a\n\0b\xED\x95\x9C"s);
  CHECK(read_text_file(folder.file("x")) == "x");
  CHECK(read_text_file(folder.file("\n")) == "\n");
}

TEST_CASE("a text file larger than one read is read whole") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 400000; ++i) {
    text += std::to_string(i) + "\n";
  }
  CHECK((read_text_file(folder.file(text)) == text));
}

TEST_CASE("a file whose size the system does not know beforehand is read whole") {
  if (fs::exists("/proc/self/status")) {
    const std::string text = read_text_file("/proc/self/status");
    CHECK(text.find("Pid:\t" + std::to_string(getpid())) != std::string::npos);
    CHECK(text.back() == '\n');
  }
  CHECK_FALSE(fs::exists("/proc/self/no such file"));
}

TEST_CASE("a byte order mark is removed and line ends of Windows become plain ones") {
  const Folder folder;
  CHECK(read_text_file(folder.file("\xEF\xBB\xBFhi")) == "hi");
  CHECK(read_text_file(folder.file("hi\xEF\xBB\xBF")) == "hi\xEF\xBB\xBF");
  CHECK(read_text_file(folder.file("a\r\n\r\nb\rc\r\r\n\r")) == "a\n\nb\rc\r\n\r");
}

TEST_CASE("a text file without text is refused") {
  const Folder folder;
  const std::string name = (folder.path / "x.txt").string();
  CHECK_THROWS_WITH(read_text_file(folder.file("")), name + ": is empty");
  CHECK_THROWS_WITH(read_text_file(folder.file("\xEF\xBB\xBF")), name + ": is empty");
}

TEST_CASE("a text file that is not UTF-8 is refused, naming the byte in the file") {
  const Folder folder;
  const std::string name = (folder.path / "x.txt").string();
  CHECK_THROWS_WITH(read_text_file(folder.file("ab\r\n\xFF")), name + ": invalid UTF-8 at byte 4");
  CHECK_THROWS_WITH(read_text_file(folder.file("\xEF\xBB\xBF\xC3")),
                    name + ": invalid UTF-8 at byte 3");
  CHECK_THROWS_WITH(read_text_file(folder.file("\xFF\xFEh\0i\0"s)),
                    name + ": invalid UTF-8 at byte 0");
}

TEST_CASE("a path without a text file is refused in one line and never waited for") {
  const Folder folder;
  const fs::path missing = folder.path / "none.txt";
  CHECK_THROWS_WITH(read_text_file(missing), missing.string() + ": No such file or directory");
  CHECK_THROWS_WITH(read_text_file(""), ": No such file or directory");
  CHECK_THROWS_WITH(read_text_file(folder.path),
                    folder.path.string() + ": is a directory, expected a text file");
  const fs::path pipe = folder.path / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_text_file(pipe), pipe.string() + ": is not a regular file");
  CHECK_THROWS_WITH(read_text_file("/dev/null"), "/dev/null: is not a regular file");
  const fs::path link = folder.path / "link";
  fs::create_symlink(missing, link);
  CHECK_THROWS_WITH(read_text_file(link), link.string() + ": No such file or directory");
}

TEST_CASE("a text file that cannot be read is refused") {
  const Folder folder;
  const fs::path path = folder.file("text");
  fs::permissions(path, fs::perms::none);
  if (geteuid() == 0) {  // the superuser may read everything
    CHECK(read_text_file(path) == "text");
  } else {
    CHECK_THROWS_WITH(read_text_file(path), path.string() + ": cannot be opened for reading");
  }
  if (fs::exists("/proc/self/mem")) {  // opens, but nothing lies at its beginning
    CHECK_THROWS_WITH(read_text_file("/proc/self/mem"), "/proc/self/mem: reading failed at byte 0");
  }
}
