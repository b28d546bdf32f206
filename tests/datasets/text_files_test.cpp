#include "support/test.h"

using Names = std::vector<std::string>;

// A folder with texts and other files.
class TextFolder {
 public:
  TextFolder() {
    for (const char* name : {"b.txt", "a.txt", "c.jsonl.gz", "notes.md", "README.md", "x.csv",
                             ".hidden.txt", "a,b.txt", "odd[1].txt"}) {
      write_bytes(folder_ / name, "text");
    }
    fs::create_directory(folder_ / "deep");
    write_bytes(folder_ / "deep/d.txt", "text");
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string path() const { return folder_.path().string(); }
  // Returns the files for names in the folder, without its path.
  Names find(const Names& names) const {
    const auto whole =
        mapped<std::string>(names, [&](const std::string& name) { return at(name); });
    return shortened(find_text_files(whole));
  }
  Names shortened(const std::vector<TextFile>& files) const {
    return mapped<std::string>(
        files, [&](const TextFile& file) { return file.path.substr(path().size() + 1); });
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("a name is a file or a folder or a pattern or a list with commas") {
  const TextFolder folder;
  CHECK(folder.find({"b.txt", "a.txt"}) == Names{"b.txt", "a.txt"});
  CHECK(folder.find({"*.txt"}) == Names{"a,b.txt", "a.txt", "b.txt", "odd[1].txt"});
  CHECK(folder.find({"?.txt", "x.csv"}) == Names{"a.txt", "b.txt", "x.csv"});
  CHECK(folder.find({"deep*"}) == Names{"deep/d.txt"});
  CHECK(folder.shortened(find_text_files({folder.at("b.txt") + ", " + folder.at("deep")})) ==
        Names{"b.txt", "deep/d.txt"});
  // An existing file with the whole name takes precedence.
  CHECK(folder.find({"a,b.txt", "odd[1].txt"}) == Names{"a,b.txt", "odd[1].txt"});
  CHECK(folder.shortened(find_text_files({folder.path()})) ==
        Names{"a,b.txt", "a.txt", "b.txt", "c.jsonl.gz", "notes.md", "odd[1].txt"});
  CHECK(find_text_files({}).empty());
}

TEST_CASE("other files of a folder are counted in one line") {
  const TextFolder folder;
  const auto warnings_of = [](const Names& names, std::string_view token_file = kTrainFile) {
    Names warnings;
    find_text_files(names, token_file, &warnings);
    return warnings;
  };
  CHECK(warnings_of({folder.path()}) ==
        Names{folder.path() + ": read 6 files; skipped 3: 1 .csv, 1 README, 1 folder"});
  CHECK(warnings_of({folder.at("deep")}).empty());
  CHECK(warnings_of({folder.at("*.txt")}).empty());
  write_bytes(folder.at("deep/E.TXT"), "text");
  write_bytes(folder.at("deep/F.JSONL.GZ"), "text");
  CHECK(folder.find({"deep"}) == Names{"deep/E.TXT", "deep/F.JSONL.GZ", "deep/d.txt"});
  for (const char* name : {"Makefile", "notes", "t.CSV.gz", "u.csv.gz", "ids.bin"}) {
    write_bytes(folder.at(std::string("deep/") + name), "text");
  }
  fs::create_directory(folder.at("deep/a"));
  fs::create_directory(folder.at("deep/b"));
  fs::create_symlink("nothing", folder.at("deep/c"));
  CHECK(warnings_of({folder.at("deep")}) ==
        Names{folder.at("deep") + ": read 3 files; skipped 8: 2 .csv.gz, 2 folders, "
                                  "2 without extension, 1 .bin, 1 special file"});
  for (const char* name : {"a.a", "b.b", "c.c", "d.d"}) {
    write_bytes(folder.at(std::string("deep/") + name), "text");
  }
  CHECK(contains(warnings_of({folder.at("deep")}).at(0), "1 .a, 1 .b, 1 .bin, 3 others"));
}

TEST_CASE("ignored texts beside token files are counted except for companion files") {
  const TextFolder folder;
  for (const char* name : {"train.bin", "val.bin", "meta.pkl", "train.idx", "prepare.py"}) {
    write_bytes(folder.at(name), "ids");
  }
  Names warnings;
  find_text_files({folder.path()}, kTrainFile, &warnings);
  CHECK(warnings == Names{folder.path() + ": read 1 file; skipped 8: 4 .txt, 1 .csv, 1 .jsonl.gz, "
                                          "1 .md, 1 folder"});
}

TEST_CASE("a folder with nanoGPT's files is its train.bin, or its val.bin") {
  const TextFolder folder;
  write_bytes(folder.at("train.bin"), "ids");
  CHECK(folder.find({"."}).size() == 1);
  CHECK(find_text_files({folder.path()})[0].path == folder.at("train.bin"));
  CHECK(find_text_files({folder.path()})[0].validation_paths.empty());
  CHECK(find_text_files({folder.path()}, "val.bin")[0].path == folder.at("train.bin"));
  write_bytes(folder.at("val.bin"), "ids");
  CHECK(find_text_files({folder.path()})[0].validation_paths ==
        std::vector<std::string>{folder.at("val.bin")});
  CHECK(find_text_files({folder.path()}, "val.bin")[0].path == folder.at("val.bin"));
  CHECK(find_text_files({folder.at("train.bin")})[0].validation_paths.empty());
}

TEST_CASE("names without a matching file are refused") {
  const TextFolder folder;
  const auto refusal = [](const Names& names) { return error_of([&] { find_text_files(names); }); };
  CHECK(refusal({folder.at("none.txt")}) == folder.at("none.txt") + ": No such file or directory");
  CHECK(refusal({folder.at("a.txt") + "," + folder.at("none")}) ==
        folder.at("none") + ": No such file or directory");
  CHECK(refusal({folder.at("*.tex")}) == folder.at("*.tex") + ": no file matches this pattern");
  CHECK(refusal({""}) == "expected the name of a file, got an empty one");
  fs::create_directory(folder.at("empty"));
  write_bytes(folder.at("empty/table.csv"), "text");
  CHECK(refusal({folder.at("empty")}) ==
        folder.at("empty") +
            ": no text files in this folder (.txt, .text, .md, .jsonl, .ndjson, also with .gz or "
            ".zst), nor token files (.bin), got 1 .csv");
  CHECK(refusal({"-", "-"}) == "-: standard input can be read only once, but is named 2 times");
  CHECK(find_text_files({"-"})[0].name() == "standard input");
}

TEST_CASE("a list of files is named by its first file or by both of two") {
  const TextFile a{.path = "a"};
  const TextFile b{.path = "b"};
  CHECK(names_of({a}) == "a");
  CHECK(names_of({a, b}) == "a and b");
  CHECK(names_of({a, b, b}) == "a and 2 more");
}

TEST_CASE("a weight follows the last colon unless a file has the whole name") {
  const TemporaryFolder folder;
  const std::string a = (folder / "a.txt").string();
  write_bytes(a, "a");
  const auto check = [](const std::string& given, const std::string& name, Index weight) {
    const WeightedName read = split_weight(given);
    CHECK(read.name == name);
    CHECK(read.weight == weight);
  };
  check(a, a, 0);
  check(a + ":2", a, 2000000);
  check(a + ":0.25", a, 250000);
  check(a + ":2.", a, 2000000);
  check("b/*.txt:10", "b/*.txt", 10000000);
  check("c:\\a.txt", "c:\\a.txt", 0);
  check("a:b:3", "a:b", 3000000);
  for (const char* name : {"a:", "a:x", "a:-1", "a:1e3", ":3", "a:3b", "a:.5"}) {
    check(name, name, 0);
  }
  for (const char* name : {"a:0", "a:0.0000001", "a:1000001", "a:99999999999999999999"}) {
    CHECK(contains(error_of([&] { split_weight(name); }), "expected a weight above 0"));
  }
  write_bytes(a + ":2", "b");
  check(a + ":2", a + ":2", 0);
}

TEST_CASE("weights are divided by their greatest common divisor and default to 1") {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) {
    write_bytes(folder / name, "text");
  }
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const auto weights = [](const std::vector<std::string>& names) {
    std::vector<Index> result;
    for (const WeightedFiles& source : find_weighted_files(names)) {
      CHECK_FALSE(source.files.empty());
      result.push_back(source.weight);
    }
    return result;
  };
  CHECK(weights({at("a.txt"), at("b.txt")}) == std::vector<Index>{1});
  CHECK(find_weighted_files({at("a.txt"), at("b.txt")})[0].files.size() == 2);
  CHECK(weights({at("a.txt") + ":0.5", at("b.txt")}) == std::vector<Index>{1, 2});
  CHECK(weights({at("a.txt") + ":6," + at("b.txt") + ":4", at("c.txt") + ":2"}) ==
        std::vector<Index>{3, 2, 1});
  CHECK(weights({at("*.txt") + ":3"}) == std::vector<Index>{1});
}

TEST_CASE("the share of the read texts rises to 1 and stays there") {
  const TextFolder folder;
  std::vector<TextFile> files = find_text_files({folder.at("a.txt"), folder.at("b.txt")});
  std::vector<double> shares;
  report_reading(files, [&](double share) { shares.push_back(share); });
  read_documents(files, {});
  CHECK(shares == std::vector<double>{0.5, 1});
}
