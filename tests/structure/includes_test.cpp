#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"

namespace {

namespace fs = std::filesystem;

// The ladder of folders: a folder includes only what has a smaller number.
const std::map<std::string, int> kRank{{"tensor", 0}, {"kernels", 1}, {"autograd", 2}, {"ops", 3},
                                       {"nn", 4},     {"optim", 5},   {"text", 5},     {"data", 5},
                                       {"io", 6},     {"train", 7},   {"generate", 7}, {"heads", 7},
                                       {"cli", 8}};

struct Include {
  std::string file;    // that includes, from the project's root
  std::string folder;  // of that file
  std::string target;  // as written between quotes or angle brackets
  bool is_public = false;
};

std::string room_of(const std::string& path) {
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');) {
    if (kRank.count(part) > 0) {
      return part;
    }
  }
  return "";
}

std::vector<Include> includes_of(const fs::path& root, const std::string& top) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<Include> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") {
      continue;
    }
    const std::string file = fs::relative(entry.path(), root).string();
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, kInclude)) {
        found.push_back({file, room_of(file), match[1], top == "include"});
      }
    }
  }
  return found;
}

std::vector<Include> all_includes() {
  const fs::path root = HEADLIGHT_SOURCE_DIR;
  std::vector<Include> all = includes_of(root, "include");
  for (Include& include : includes_of(root, "src")) {
    all.push_back(std::move(include));
  }
  return all;
}

bool is_own(const std::string& target) {
  return target.rfind("headlight/", 0) == 0 || kRank.count(target.substr(0, target.find('/'))) > 0;
}

// Where each third-party library may be included.
const std::vector<std::pair<std::string, std::string>> kHomes{{"cblas.h", "src/kernels/gemm"},
                                                              {"omp.h", "src/kernels/parallel"},
                                                              {"cxxopts", "src/cli/"},
                                                              {"spdlog", "src/cli/"},
                                                              {"toml++", "src/io/config_file"},
                                                              {"xxhash", "src/io/"},
                                                              {"zip.h", "src/io/"},
                                                              {"zlib.h", "src/io/decompression"},
                                                              {"zstd.h", "src/io/decompression"},
                                                              {"utf8", "src/text/utf8"}};

}  // namespace

TEST_CASE("a folder includes only folders to its left", "[structure]") {
  const std::vector<Include> includes = all_includes();
  REQUIRE(includes.size() > 300);
  for (const Include& include : includes) {
    const std::string room = is_own(include.target) ? room_of(include.target) : "";
    if (!room.empty() && room != include.folder) {
      INFO(include.file << " includes " << include.target);
      CHECK(kRank.at(room) < kRank.at(include.folder));
    }
  }
}

TEST_CASE("public headers include nothing but the standard library and one another",
          "[structure]") {
  static const std::regex kStandard("^[a-z_0-9]+$");
  for (const Include& include : all_includes()) {
    if (include.is_public) {
      INFO(include.file << " includes " << include.target);
      CHECK((include.target.rfind("headlight/", 0) == 0 ||
             std::regex_match(include.target, kStandard)));
    }
  }
}

TEST_CASE("a third-party library is included in its one place only", "[structure]") {
  for (const Include& include : all_includes()) {
    for (const auto& [library, home] : kHomes) {
      if (!is_own(include.target) && include.target.find(library) != std::string::npos) {
        INFO(include.file << " includes " << include.target);
        CHECK(include.file.rfind(home, 0) == 0);
      }
    }
  }
}
