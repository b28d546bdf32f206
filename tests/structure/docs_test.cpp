#include "support/test.h"

namespace docs_test {
using Names = std::set<std::string>;

const fs::path kRoot = HEADLIGHT_SOURCE_DIR;

// README.md, the pages in docs, and the guides beside README.md.
std::vector<fs::path> pages() {
  std::vector<fs::path> paths{kRoot / "README.md", kRoot / "CONTRIBUTING.md",
                              kRoot / "CHANGELOG.md"};
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") {
      paths.push_back(entry.path());
    }
  }
  return paths;
}

// First groups of all matches.
Names matches(const std::string& text, const std::regex& pattern) {
  const std::vector<std::string> found = matches_of(text, pattern);
  return {found.begin(), found.end()};
}

// Targets of relative links, without their anchors.
Names relative_links(const std::string& page) {
  static const std::regex kCodeBlock("```[^`]*```");
  static const std::regex kLink(R"re((?:\]\(|src="|href=")([^)"#: ]+)[)"#])re");
  return matches(std::regex_replace(page, kCodeBlock, ""), kLink);
}

// Options in the text, with '_' for '-'.
Names options_in(const std::string& text) {
  static const std::regex kOption("--([a-z][a-z0-9_-]*[a-z0-9])");
  Names options;
  for (std::string option : matches(text, kOption)) {
    std::replace(option.begin(), option.end(), '-', '_');
    options.insert(option);
  }
  return options;
}

// Options in the help texts of all commands.
Names known_options() {
  static const std::regex kCommand("\n  ([a-z]+) ");
  Names options{"version"};
  const auto add_help = [&](std::vector<std::string> command) {
    const bool is_listing = command.empty() || command == std::vector<std::string>{"tokenizer"};
    command.push_back("--help");
    if (!is_listing) {
      command.push_back("all");
    }
    const std::string help = run_headlight(command).out;
    options.merge(options_in(help));
    return help;
  };
  for (const std::string& command : matches(add_help({}), kCommand)) {
    add_help({command});
  }
  for (const std::string& command : matches(add_help({"tokenizer"}), kCommand)) {
    add_help({"tokenizer", command});
  }
  static const std::regex kExperiment("\n([a-z-]+) ");
  for (const std::string& experiment : matches("\n" + run_headlight({"lab"}).out, kExperiment)) {
    add_help({"lab", experiment});
  }
  return options;
}

// Packages that tools/install_packages.sh installs.
Names installed_packages() {
  static const std::regex kList(R"(_packages=\(([^)]*)\))");
  static const std::regex kName(R"(([a-z][a-z0-9.+-]+))");
  Names packages;
  for (const std::string& list :
       matches(file_contents(kRoot / "tools/install_packages.sh"), kList)) {
    packages.merge(matches(list, kName));
  }
  return packages;
}

TEST_CASE("relative links of the documentation lead to files", "[structure]") {
  std::size_t links = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& link : relative_links(file_contents(page))) {
      INFO(page << " links to " << link);
      CHECK(fs::exists(page.parent_path() / link));
      ++links;
    }
  }
  CHECK(links > 50);
}

TEST_CASE("every option that the documentation names exists", "[structure]") {
  const Names known = known_options();
  REQUIRE(known.size() > 150);
  // Options of cmake, mpirun, pip and scripts.
  const Names others{"allow_run_as_root", "build",  "fix",    "install",
                     "no_deps",           "preset", "prefix", "target"};
  for (const fs::path& page : pages()) {
    for (const std::string& option : options_in(file_contents(page))) {
      INFO(page << " names --" << option);
      CHECK(known.count(option) + others.count(option) > 0);
    }
  }
}

TEST_CASE("the documentation names the packages that install_packages.sh installs", "[structure]") {
  static const std::regex kPackage("`([a-z][a-z0-9.+-]+)`");
  const std::string faq = file_contents(kRoot / "docs/faq.md");
  const std::size_t table = faq.find("| For | Packages |");
  REQUIRE(table != std::string::npos);
  const Names named = matches(faq.substr(table, faq.find("\n\n", table) - table), kPackage);
  REQUIRE(named.size() > 20);
  CHECK(named == installed_packages());
}

TEST_CASE("docs/library.md shows the program that tests/consumer builds", "[structure]") {
  const std::string program = file_contents(kRoot / "tests/consumer/consumer.cpp");
  CHECK(file_contents(kRoot / "docs/library.md").find(program.substr(program.find("#include"))) !=
        std::string::npos);
}

TEST_CASE("the documentation quotes the output of info for the toy preset", "[structure]") {
  const std::string source = HEADLIGHT_SOURCE_DIR;
  const std::string page = file_contents(source + "/docs/train.md");
  std::size_t compared = 0;
  for (const std::string& line :
       lines_of(run_headlight({"info", source + "/configs/toy.toml"}).out)) {
    // The memory of a run depends on the number of threads of the machine.
    if (line.starts_with("computed with") || line.starts_with("several processes")) {
      break;
    }
    if (!line.starts_with("training run")) {
      CAPTURE(line);
      CHECK(contains(page, line + "\n"));
      ++compared;
    }
  }
  CHECK(compared >= 12);
}

TEST_CASE("no page or hint installs the PyPI package of another project", "[structure]") {
  std::vector<fs::path> files = pages();
  for (const char* folder : {"docs", "src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  }
  static const std::regex kInstall(R"(pip3? install( -[^ \n]*)* headlight\b)");
  for (const fs::path& file : files) {
    INFO(file);
    const std::string text = file_contents(file);
    CHECK_FALSE((text.find(" install ") != text.npos && std::regex_search(text, kInstall)));
  }
}

TEST_CASE("the first page is short in both languages", "[structure]") {
  constexpr std::size_t kMostBytes = 9000;
  CHECK(fs::file_size(kRoot / "README.md") <= kMostBytes);
  // Hangul has three bytes a syllable.
  CHECK(fs::file_size(kRoot / "docs/README.ko.md") <= kMostBytes * 3 / 2);
}
}  // namespace docs_test
