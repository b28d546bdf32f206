#include "support/test.h"

// The library's regular expressions call themselves for every character that they read: a long text
// overflows the stack. They also take seconds to compile.
TEST_CASE("std::regex is used by tests only", "[structure]") {
  const fs::path root = HEADLIGHT_SOURCE_DIR;
  std::set<std::string> users;
  for (const char* top : {"include", "src"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file()) {
        continue;
      }
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      if (text.find("<regex>") != std::string::npos ||
          text.find("std::regex") != std::string::npos) {
        users.insert(fs::relative(entry.path(), root).string());
      }
    }
  }
  CHECK(users == std::set<std::string>{});
}
