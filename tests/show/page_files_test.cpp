#include "show/html/page_files.h"
#include "show/attention_samples.h"
#include "support/test.h"

TEST_CASE("The program holds the modules of each page, each once and after those that it imports") {
  const std::string folder = HEADLIGHT_SOURCE_DIR "/src/show/page/";
  const std::string script(contents_of(page_files(), "main.js"));
  int modules = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).generic_string();
    if (entry.path().extension() == ".js" && !name.starts_with("live/") &&
        !name.starts_with("results/") && name != "main.js") {
      INFO(name);
      for (const std::string& line : lines_of(file_contents(entry.path().string()))) {
        if (line.starts_with("export ") && !line.starts_with("export let ")) {
          CHECK(occurrences(script, "\n" + line.substr(7) + "\n") == 1);
          ++modules;
          break;
        }
      }
    }
  }
  CHECK(modules > 20);
  CHECK(script.find("function element(") < script.find("function openPage("));
  CHECK(script.find("function openPage(") < script.find("\nopenPage("));
  check_lacks(script, {"\nimport ", "\nexport ", "\n// "});
  check_parts(script, {"let documents;\n", "\ndocuments = [];\n"});
}

TEST_CASE("The program holds the styles of each page after those that they import") {
  const std::string style(contents_of(page_files(), "results/style.css"));
  CHECK(style.find("--ground") < style.find("--high"));
  CHECK(!contains(style, "@import"));
  CHECK(error_of([] { contents_of(page_files(), "styles.css"); }) == "there is no file styles.css");
}

TEST_CASE("Names in braces stay text in the page's title") {
  AttentionMaps maps = one_layer({"a"}, 0, {0}, {1});
  maps.title = "{{data}} {{no}} {{";
  const std::string page = attention_html(maps);
  REQUIRE(contains(page, "<h1>{{data}} {{no}} {{</h1>"));
  REQUIRE(embedded_page(page)["documents"].size() == 1);
}
