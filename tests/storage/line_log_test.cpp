#include "storage/line_log.h"
#include "datasets/file_size_limit.h"
#include "support/test.h"

const LineLog::Keep kAll = [](const std::string&) { return true; };

void throw_again(const Error& error) { throw error; }

TEST_CASE("a line log keeps the wanted lines and appends new ones") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log";
  test::write_bytes(path, "{\"iteration\": 1}\n{\"iteration\": 2}\n{\"itera");
  LineLog log(
      path, [](const std::string& line) { return iteration_of_line(line) == 2; }, throw_again);
  CHECK(file_contents(path) == "{\"iteration\": 2}\n");
  log.append("a");
  log.append("b");
  CHECK_NOTHROW(log.flush());
  CHECK(file_contents(path) == "{\"iteration\": 2}\na\nb\n");
  log.cut([](const std::string& line) { return line == "b"; });
  log.append("c");
  CHECK(file_contents(path) == "b\nc\n");
}

TEST_CASE("a line that could not be written is written before the next one") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log";
  std::string failure;
  LineLog log(path, kAll, [&](const Error& error) { failure = error.what(); });
  log.append("first");
  {
    const test::FileSizeLimit limit(10);
    log.append("second");
  }
  CHECK_THAT(failure, contains_text(path.string()) && contains_text("File too large"));
  CHECK(file_contents(path) == "first\nseco");
  log.append("third");
  CHECK(file_contents(path) == "first\nsecond\nthird\n");
}

TEST_CASE("a log longer than one read buffer keeps all of its lines") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log";
  std::string all;
  std::string odd;
  for (int i = 0; i < 100'000; ++i) {
    const std::string line = "{\"iteration\": " + std::to_string(i) + "}\n";
    all += line;
    odd += i % 2 == 1 ? line : "";
  }
  REQUIRE(all.size() > 2'000'000);
  test::write_bytes(path, all);
  LineLog log(path, kAll, throw_again);
  CHECK(file_contents(path) == all);
  log.cut([](const std::string& line) { return iteration_of_line(line) % 2 == 1; });
  CHECK(file_contents(path) == odd);
}

TEST_CASE("a log whose status cannot be read is not replaced by an empty one") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log";
  fs::create_symlink("log", path);  // which leads to itself
  CHECK_THROWS_WITH(LineLog(path, kAll, throw_again), contains_text(path.string()));
  CHECK(fs::is_symlink(path));
}

TEST_CASE("a log that cannot be read is not replaced by an empty one") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log";
  fs::create_directory(path);
  CHECK_THROWS_WITH(LineLog(path, kAll, throw_again), contains_text("not a regular file"));
}

TEST_CASE("only a complete JSON object gives a line its iteration") {
  CHECK(iteration_of_line("{\"iteration\": 7, \"loss\": 1}") == 7);
  CHECK(iteration_of_line("{\"iteration\": 7, \"lo") == -1);
  CHECK(iteration_of_line("{\"iteration\": 7.5}") == -1);
  CHECK(iteration_of_line("[7]") == -1);
  CHECK(iteration_of_line("") == -1);
}
