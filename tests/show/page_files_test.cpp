#include "show/html/page_files.h"
#include "show/attention_samples.h"
#include "support/test.h"

TEST_CASE("The program holds the files of the page byte for byte") {
  const fs::path folder = HEADLIGHT_SOURCE_DIR "/src/show/page";
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".html" || extension == ".css" || extension == ".js") {
      const std::string name = entry.path().lexically_relative(folder).generic_string();
      INFO(name);
      CHECK(contents_of(page_files(), name) == file_contents(entry.path().string()));
      ++count;
    }
  }
  CHECK(count == page_files().size());
  CHECK(error_of([] { contents_of(page_files(), "styles.css"); }) == "there is no file styles.css");
}

TEST_CASE("Names in braces stay text in the page's title") {
  AttentionMaps maps = one_layer({"a"}, 0, {0}, {1});
  maps.title = "{{data}} {{no}} {{";
  const std::string page = attention_html(maps);
  REQUIRE(contains(page, "<h1>{{data}} {{no}} {{</h1>"));
  REQUIRE(embedded_page(page)["documents"].size() == 1);
}
