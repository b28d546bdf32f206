#include "support/test.h"

// The WebAssembly build is slow and needs Emscripten, so most changes are tested without it.
TEST_CASE("Emscripten's library has or gets the algorithms of std::ranges that sources use",
          "[structure]") {
  const std::string root = HEADLIGHT_SOURCE_DIR;
  const std::string added = file_contents(root + "/tools/wasm/include/missing_algorithms.h");
  static const std::regex kAlgorithm(R"(std::ranges::(?!greater|less)(\w+)\()");
  std::size_t uses = 0;
  for (const char* folder : {"/src", "/include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root + folder)) {
      if (!entry.is_regular_file()) {
        continue;
      }
      const std::string text = file_contents(entry.path());
      for (std::sregex_iterator use(text.begin(), text.end(), kAlgorithm), end; use != end; ++use) {
        INFO(entry.path() << " uses " << (*use)[0]);
        CHECK(added.find(" " + (*use)[1].str() + "(") != std::string::npos);
        ++uses;
      }
    }
  }
  CHECK(uses > 100);
}
