#include "headlight/runs/config_source.h"
#include "support/test.h"

std::string value_of(const TrainConfig& config, std::string_view key) {
  for (const ConfigField& field : config_fields()) {
    if (field.key == key) {
      return config_value(config, field);
    }
  }
  return "";
}

TEST_CASE("paths of a configuration are found beside it and in the folders above") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "share/configs/small");
  fs::create_directories(folder.path() / "share/data");
  fs::create_directories(folder.path() / "share/configs/model");
  const std::string text = folder.write("share/data/headlight_test.txt", "text");
  folder.write("share/data/headlight_test_1.txt", "text");
  const std::string file = folder.write(
      "share/configs/small/a.toml",
      "data = \"data/headlight_test.txt\"\ninit_from = \"model\"\ntokenizer = \"char\"\n"
      "out_dir = \"runs/x\"\nvalidation_data = \"data/headlight_test_*.txt\"\nmax_steps = 7\n");
  fs::create_directories(folder.path() / "share/char");  // a kind, not a path
  TrainConfig config;
  const AppliedConfig applied = apply_config_file(config, file);
  CHECK(contains(value_of(config, "data"), text));
  CHECK(
      contains(value_of(config, "validation_data"), folder.at("share/data/headlight_test_*.txt")));
  CHECK(config.init_from == folder.at("share/configs/model"));
  CHECK(config.tokenizer == "char");
  CHECK(config.out_dir == "runs/x");
  CHECK(config.max_iters == 7);
  REQUIRE(applied.notes.size() == 3);
  CHECK(applied.notes[1] ==
        "data: data/headlight_test.txt is not in the current folder, but here: " + text);
  CHECK(applied.keys == std::vector<std::string>{"data", "init_from", "tokenizer", "out_dir",
                                                 "validation_data", "max_iters"});
}

TEST_CASE(
    "configured paths are searched in the current folder first and then in the folders above") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/b");
  folder.write("a/b/headlight_test.txt", "near");
  folder.write("a/headlight_test.txt", "far");
  const std::string file = folder.write("a/b/c.toml", "data = \"headlight_test.txt\"\n");
  TrainConfig config;
  apply_config_file(config, file);
  CHECK(contains(value_of(config, "data"), folder.at("a/b/headlight_test.txt")));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path() / "a");
  const AppliedConfig applied = apply_config_file(config, file);
  fs::current_path(before);
  CHECK_FALSE(contains(value_of(config, "data"), "/"));
  CHECK(applied.notes.empty());
}

TEST_CASE("a path that is found nowhere stays unchanged") {
  const TemporaryFolder folder;
  TrainConfig config;
  const AppliedConfig applied =
      apply_config_file(config, folder.write("a.toml", "data = \"none/x.txt\"\ncompile = true\n"));
  CHECK_FALSE(contains(value_of(config, "data"), folder.path().string()));
  CHECK(applied.notes.empty());
  CHECK(applied.warnings == std::vector<std::string>{"compile has no effect here and is ignored"});
  CHECK_THROWS_WITH(read_run_config(folder.path()), contains_text("config.toml"));
}

TEST_CASE("a pattern is resolved in the folder where a file matches it") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/b");
  folder.write("a/headlight_test_1.txt", "text");
  const std::string file = folder.write("a/b/c.toml", "data = \"headlight_test_*.txt\"\n");
  TrainConfig config;
  apply_config_file(config, file);
  CHECK(contains(value_of(config, "data"), folder.at("a/headlight_test_*.txt")));
}

TEST_CASE("batches of documents are refused for data known to have no documents") {
  TrainConfig config{.data = {"a.txt"}, .batching = "bucketed"};
  check_error([&] { require_documents(config); },
              {"batching: bucketed needs documents; set documents to line, blank_line or token"});
  config.data = {"a.jsonl.gz"};
  CHECK_NOTHROW(require_documents(config));
  config.data = {"folder"};
  CHECK_NOTHROW(require_documents(config));
}
