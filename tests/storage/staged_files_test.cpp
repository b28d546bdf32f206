#include "support/test.h"

std::size_t entries_of(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("files of several folders appear together") {
  const TemporaryFolder one;
  const TemporaryFolder other;
  StagedFiles staged;
  write_file(staged.path_for(one.path() / "a"), "1");
  write_file(staged.path_for(one.path() / "b"), "2");
  write_file(staged.path_for(other.path() / "a"), "3");
  CHECK_FALSE(fs::exists(one.path() / "a"));
  staged.commit();
  CHECK(fs::exists(one.path() / "a"));
  CHECK(fs::exists(one.path() / "b"));
  CHECK(fs::exists(other.path() / "a"));
}

TEST_CASE("no file is replaced if one of another folder cannot be, or if the work fails") {
  const TemporaryFolder one;
  const TemporaryFolder other;
  fs::create_directory(other.path() / "a");
  {
    StagedFiles staged;
    write_file(staged.path_for(one.path() / "a"), "1");
    write_file(staged.path_for(other.path() / "a"), "2");
    CHECK_THROWS_AS(staged.commit(), Error);
  }
  {
    StagedFiles staged;
    write_file(staged.path_for(one.path() / "a"), "1");
  }
  CHECK(entries_of(one.path()) == 0);
  CHECK(entries_of(other.path()) == 1);
}
