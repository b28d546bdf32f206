#include "support/test.h"

// Rank of each folder, and of the header that includes all others of the core. A folder may include
// only folders of a smaller rank.
const std::map<std::string, int> kRank{
    {"base", 0},     {"storage", 1},    {"tensor", 1},   {"kernels", 2},     {"autograd", 3},
    {"ops", 4},      {"nn", 5},         {"optim", 6},    {"distributed", 6}, {"tokenizers", 6},
    {"datasets", 7}, {"train", 8},      {"generate", 8}, {"headlight.h", 9}, {"formats", 10},
    {"runs", 11},    {"interpret", 12}, {"show", 13},    {"questions", 14},  {"serve", 15},
    {"cli", 16},     {"python", 16},    {"page", 17},    {"course", 17},     {"main.cpp", 18}};

struct Include {
  std::string file;    // including file, relative to the project's root
  std::string folder;  // ranked folder of `file`
  std::string target;  // text between the quotes or angle brackets
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

// Path prefixes of the files that may include each third-party library.
const std::multimap<std::string, std::string> kHomes{
    {"cblas.h", "src/kernels/gemm/openblas"},
    {"omp.h", "src/kernels/threads/openmp"},
    {"boost/", "src/serve/http/"},
    {"cxxopts", "src/cli/"},
    {"histedit.h", "src/cli/chat/line_editor/"},
    {"spdlog", "src/cli/"},
    {"spdlog", "src/course/gradcheck/"},
    {"toml++", "src/storage/config_file"},
    {"nlohmann", "src/base/json"},
    {"xxhash", "src/storage/"},
    {"xxhash", "src/datasets/fingerprint"},
    {"zip.h", "src/storage/compressed/zip_archive"},
    {"zlib.h", "src/storage/compressed/decompression"},
    {"zstd.h", "src/storage/compressed/decompression"},
    {"utf8", "src/base/utf8"},
    {"pcre2.h", "src/tokenizers/regex/"},
    {"mpi.h", "src/distributed/mpi/"},
    {"nanobind/", "src/python/"}};

bool may_include(const std::string& file, const std::string& library) {
  const auto [first, last] = kHomes.equal_range(library);
  return std::any_of(first, last, [&](const auto& home) { return file.starts_with(home.second); });
}

TEST_CASE("a folder includes only folders to its left", "[structure][long]") {
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

TEST_CASE("a library includes only libraries to its left", "[structure]") {
  const auto library_of = [](const std::string& folder) {
    const int rank = kRank.at(folder);
    return rank < kRank.at("formats")     ? 0
           : rank < kRank.at("interpret") ? 1
           : rank < kRank.at("serve")     ? 2
                                          : 3;
  };
  for (const Include& include : all_includes()) {
    const std::string folder = is_own(include.target) ? room_of(include.target) : "";
    if (!folder.empty()) {
      INFO(include.file << " includes " << include.target);
      CHECK(library_of(folder) <= library_of(include.folder));
    }
  }
}

TEST_CASE("headlight.h includes every public header of the core", "[structure][long]") {
  const fs::path headers = fs::path(HEADLIGHT_SOURCE_DIR) / "include";
  std::set<std::string> expected;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(headers)) {
    const std::string header = fs::relative(entry.path(), headers).string();
    if (entry.path().extension() == ".h" && kRank.at(room_of(header)) < kRank.at("headlight.h")) {
      expected.insert(header);
    }
  }
  std::set<std::string> included;
  for (const Include& include : all_includes()) {
    if (include.file == "include/headlight/headlight.h") {
      included.insert(include.target);
    }
  }
  CHECK(included == expected);
}

TEST_CASE("a public header has the path of its source", "[structure]") {
  const fs::path root = HEADLIGHT_SOURCE_DIR;
  const fs::path headers = root / "include/headlight";
  std::multimap<std::string, fs::path> sources;  // by folder and stem
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "src")) {
    const fs::path path = fs::relative(entry.path(), root / "src");
    if (path.extension() == ".cpp") {
      sources.emplace((*path.begin() / path.stem()).string(), path);
    }
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(headers)) {
    const fs::path header = fs::relative(entry.path(), headers);
    if (header.extension() != ".h") {
      continue;
    }
    const auto [first, last] = sources.equal_range((*header.begin() / header.stem()).string());
    const auto is_beside = [&](const auto& source) {
      return source.second.parent_path() == header.parent_path();
    };
    INFO(header.string());
    CHECK((first == last || std::any_of(first, last, is_beside)));
  }
}

TEST_CASE("public headers include nothing but the standard library and one another",
          "[structure][long]") {
  static const std::regex kStandard("^[a-z_0-9]+$");
  for (const Include& include : all_includes()) {
    if (include.is_public) {
      INFO(include.file << " includes " << include.target);
      CHECK((include.target.rfind("headlight/", 0) == 0 ||
             std::regex_match(include.target, kStandard)));
    }
  }
}

TEST_CASE("each third-party library is included in one place only", "[structure][long]") {
  for (const Include& include : all_includes()) {
    for (const auto& [library, home] : kHomes) {
      if (!is_own(include.target) && include.target.find(library) != std::string::npos) {
        INFO(include.file << " includes " << include.target);
        CHECK(may_include(include.file, library));
      }
    }
  }
}
