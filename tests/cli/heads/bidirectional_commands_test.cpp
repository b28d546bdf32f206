#include "support/models/bert_directory.h"
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
  for (const Arguments& command :
       {words("generate", given.bert, "--prompt the"),
        words("eval", given.bert, "--data", given.text),
        words("importance", given.bert, "--data", given.text),
        words("attribute", given.bert, "--text 'the cat'"),
        words("circuit", given.bert, "--clean 'the cat' --corrupt 'the dog'"),
        words("prune", given.bert, "--heads 0.0 --out", given.out),
        words("export", given.bert, "--to hf --out", given.out),
        words("serve", given.bert, "--port 0"), words("bench generate --model", given.bert),
        words("train --init_from", given.bert, "--data", given.text, "--out_dir", given.out)}) {
    INFO(command[0]);
    check_parts(refusal(command), {"needs a causal model; "});
    CHECK(!fs::exists(given.out));
  }
}

TEST_CASE("commands for heads read a bidirectional model with its first and last token", "[cli]") {
  const Given given;
  const auto on_bert = [&](const std::string& command, const Arguments& more) {
    return report_of(changed({command, given.bert}, more));
  };
  on_bert("attention", words("--text 'the cat' --format npz,html --out", given.out));
  const NamedTensors arrays = read_npz(given.out + "/attention.npz");
  CHECK(arrays.front().second.shape() == Shape{1, 2, 4, 4});
  CHECK(contains(file_contents(given.out + "/attention.html"), "\"causal\":false"));
  const Arguments lines = words("--data", given.text, "--documents line");
  const Json heads = on_bert("heads", lines);
  check_json(heads, R"({"sequences": 2, "tokens": 16, "heads/0/induction": null})");
  CHECK(heads["heads"][0]["entropy"].is_number());
  CHECK(on_bert("cache", words("--data", given.text, "--out", given.out + "/acts.npz"))["rows"] ==
        14);
  CHECK(on_bert("ablate", lines)["tokens"] == 2);
  CHECK(on_bert("ablate", words("--text 'the cat'"))["tokens"] == 1);
  CHECK(on_bert("ablate", words("--ids 5,6,7"))["tokens"] == 1);
}

TEST_CASE("lens and patch of a bidirectional model read the mask token in texts", "[cli]") {
  const Given given;
  check_json(report_of(words("lens", given.bert, "--text 'the [MASK] sat' --answer cat")),
             R"({"positions#": 5, "positions/2/target/id": 6, "positions/1/target/id": 5})");
  CHECK(report_of({"lens", given.bert, "--data", given.text})["tokens"] == 2);
  const Json patch = report_of(words("patch", given.bert,
                                     "--clean 'the [MASK] sat.' --corrupt 'the [MASK] on.' "
                                     "--answer cat --wrong dog"));
  CHECK(patch["cells"].size() == 4);
}

TEST_CASE("wrong uses of a bidirectional model are refused in one line", "[cli]") {
  const Given given;
  for (const auto& [command, expected] : std::vector<std::pair<Arguments, std::string>>{
           {words("lens", given.body, "--text the"), "no head that predicts tokens"},
           {words("ablate", given.body, "--data", given.text), "no head that predicts tokens"},
           {words("heads", given.bert),
            "expected a text: repeated random tokens measure causal models"},
           {words("lens", given.bert, "--text the --point mlp_out"), "not linear"},
           {words("patch", given.bert, "--clean 'the cat' --corrupt 'the dog'"),
            "expected one [MASK]"},
           {words("patch", given.bert, "--clean '[MASK] cat' --corrupt 'cat [MASK]'"),
            "expected [MASK] at position 1"}}) {
    INFO(command[0]);
    check_parts(refusal(command), {expected});
  }
}
}  // namespace bidirectional_commands_test
