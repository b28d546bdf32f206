#include "support/bert_directory.h"
#include "support/test.h"

namespace bidirectional_commands_test {
// Commands on a BERT directory.

using Json = nlohmann::json;

struct Given {
  TemporaryFolder folder;
  std::string bert = write_bert(folder.at("bert")).string();
  std::string body = write_bert(folder.at("body"), false).string();
  std::string text = folder.write("text.txt", "the cat sat on the mat.\nthe dogs sat.\n");
  std::string out = folder.at("out");
};

TEST_CASE("commands that need a causal model refuse a bidirectional one in one line", "[cli]") {
  const Given given;
  const std::vector<Arguments> commands{
      {"generate", given.bert, "--prompt", "the"},
      {"eval", given.bert, "--data", given.text},
      {"importance", given.bert, "--data", given.text},
      {"attribute", given.bert, "--text", "the cat"},
      {"circuit", given.bert, "--clean", "the cat", "--corrupt", "the dog"},
      {"prune", given.bert, "--heads", "0.0", "--out", given.out},
      {"export", given.bert, "--to", "hf", "--out", given.out},
      {"serve", given.bert, "--port", "0"},
      {"bench", "generate", "--model", given.bert},
      {"lab", "induction", "--model", given.bert},
      {"train", "--init_from", given.bert, "--data", given.text, "--out_dir", given.out}};
  for (const Arguments& command : commands) {
    const ProgramResult result = run_headlight(command);
    INFO(command[0] << ": " << result.err);
    CHECK(result.exit_code == 2);
    REQUIRE(!result.messages().empty());
    CHECK(result.messages().back().find("needs a causal model; ") != std::string::npos);
    CHECK(!fs::exists(given.out));
  }
}

TEST_CASE("commands for heads read a bidirectional model with its first and last token", "[cli]") {
  const Given given;
  report_of(
      {"attention", given.bert, "--text", "the cat", "--format", "npz,html", "--out", given.out});
  const NamedTensors arrays = read_npz(given.out + "/attention.npz");
  CHECK(arrays.front().second.shape() == Shape{1, 2, 4, 4});
  CHECK(contains(file_contents(given.out + "/attention.html"), "\"causal\":false"));
  const Json heads = report_of({"heads", given.bert, "--data", given.text, "--documents", "line"});
  CHECK(heads["sequences"] == 2);
  CHECK(heads["tokens"] == 9 + 7);
  CHECK(heads["heads"][0]["induction"].is_null());
  CHECK(heads["heads"][0]["detector"].is_null());
  CHECK(heads["heads"][0]["entropy"].is_number());
  const Json cache =
      report_of({"cache", given.bert, "--data", given.text, "--out", given.out + "/acts.npz"});
  CHECK(cache["rows"] == 14);
  const Json ablation =
      report_of({"ablate", given.bert, "--data", given.text, "--documents", "line"});
  CHECK(ablation["tokens"] == 2);
  CHECK(report_of({"ablate", given.bert, "--text", "the cat"})["tokens"] == 1);
  CHECK(report_of({"ablate", given.bert, "--ids", "5,6,7"})["tokens"] == 1);
}

TEST_CASE("lens and patch of a bidirectional model read the mask token in texts", "[cli]") {
  const Given given;
  const Json lens = report_of({"lens", given.bert, "--text", "the [MASK] sat", "--target", "cat"});
  CHECK(lens["positions"].size() == 5);
  CHECK(lens["positions"][2]["target"]["id"] == 6);
  CHECK(lens["positions"][1]["target"]["id"] == 5);
  const Json means = report_of({"lens", given.bert, "--data", given.text});
  CHECK(means["tokens"] == 2);
  const Json patch = report_of({"patch", given.bert, "--clean", "the [MASK] sat.", "--corrupt",
                                "the [MASK] on.", "--answer", "cat", "--wrong", "dog"});
  CHECK(patch["heads"].size() == 4);
}

TEST_CASE("wrong uses of a bidirectional model are refused in one line", "[cli]") {
  const Given given;
  const std::vector<std::pair<Arguments, std::string>> cases{
      {{"lens", given.body, "--text", "the"}, "no head that predicts tokens"},
      {{"ablate", given.body, "--data", given.text}, "no head that predicts tokens"},
      {{"heads", given.bert}, "expected a text: repeated random tokens measure causal models"},
      {{"lens", given.bert, "--text", "the", "--point", "mlp_out"}, "not linear"},
      {{"patch", given.bert, "--clean", "the cat", "--corrupt", "the dog"}, "expected one [MASK]"},
      {{"patch", given.bert, "--clean", "[MASK] cat", "--corrupt", "cat [MASK]"},
       "expected [MASK] at position 1"}};
  for (const auto& [command, expected] : cases) {
    const ProgramResult result = run_headlight(command);
    INFO(command[0] << ": " << result.err);
    CHECK(result.exit_code == 2);
    REQUIRE(!result.messages().empty());
    CHECK(result.messages().back().find(expected) != std::string::npos);
  }
}
}  // namespace bidirectional_commands_test
