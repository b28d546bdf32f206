#include "support/test.h"

namespace heads_test {
// `headlight heads` with the real program and a model made in memory.

using Json = nlohmann::json;

const std::string kText = "say 'one' (two)\n\nthen (three) more\n\nend (x)\n";
const std::string kPairs = R"({"byte":{"length":15,"quote":[[4,5,8,9]],"bracket":[[10,11,14,15]]}})"
                           "\n"
                           R"({"byte":{"length":17,"bracket":[[5,6,11,12]]}})"
                           "\n"
                           R"({"byte":{"length":7,"bracket":[[4,5,6,7]]}})"
                           "\n";

// Model directory, a text and its annotations.
struct Material {
  Material()
      : model(folder.at("model")),
        text(folder.write("text.txt", kText)),
        pairs(folder.write("pairs.jsonl", kPairs)) {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 32), ByteTokenizer());
  }

  Arguments on_text(const Arguments& more = {}) const {
    Arguments arguments =
        words("heads", model, "--data", text, "--documents blank_line --resamples 50");
    return changed(std::move(arguments), more);
  }

  TemporaryFolder folder;
  std::string model;
  std::string text;
  std::string pairs;
};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("heads gives scores and intervals and a verdict and a sentence for every head", "[cli]") {
  const Material given;
  const Json report = report_of(given.on_text());
  CHECK(report["sequences"] == 3);
  CHECK(report["tokens"] == 15 + 17 + 7 + 3);  // with <|endoftext|> before each line
  REQUIRE(report["heads"].size() == 4);
  const Json& head = report["heads"][3];
  CHECK(head["head"] == "1.1");
  CHECK(head["layer"] == 1);
  CHECK(head["index"] == 1);
  for (const char* score : {"previous_token", "first_token", "duplicate_token", "induction",
                            "confidence", "k_composition"}) {
    INFO(score);
    CHECK(head[score].get<double>() >= 0);
    CHECK(head[score].get<double>() <= 1);
  }
  CHECK(head["quote"].is_null());
  CHECK(report["heads"][0]["k_source"].is_null());
  CHECK(head["k_source"].get<std::string>().substr(0, 2) == "0.");
  const Json& interval = head["intervals"]["entropy"];
  CHECK(interval["low"].get<double>() <= head["entropy"].get<double>());
  CHECK(interval["high"].get<double>() >= head["entropy"].get<double>());
  CHECK(head["sentence"].get<std::string>().rfind("1.1 ", 0) == 0);
  CHECK(head["detector"]["mul"]["induction_head"].is_number());
  CHECK(head["detector"]["abs"]["previous_token_head"].get<double>() < 1);
  REQUIRE(report["layers"].size() == 2);
  CHECK(report["layers"][1]["entropy"].get<double>() ==
        Approx((report["heads"][2]["entropy"].get<double>() +
                report["heads"][3]["entropy"].get<double>()) /
               2));
}

TEST_CASE("heads sorts, filters and shows the columns that are asked for", "[cli]") {
  const Material given;
  const Json all = report_of(given.on_text());
  const Json sorted = report_of(given.on_text({"--sort", "entropy"}));
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(sorted["heads"][i - 1]["entropy"] >= sorted["heads"][i]["entropy"]);
  }
  CHECK(report_of(given.on_text({"--sort", "entropy", "--ascending"}))["heads"][0] ==
        sorted["heads"][3]);
  const Json upper = report_of(given.on_text({"--filter", "layer>=1, index!=0"}));
  REQUIRE(upper["heads"].size() == 1);
  CHECK(upper["heads"][0] == all["heads"][3]);
  const std::string verdict = all["heads"][0]["verdict"];
  const Json alike = report_of(given.on_text({"--filter", "verdict=" + verdict}));
  CHECK_FALSE(alike["heads"].empty());
  for (const Json& head : alike["heads"]) {
    CHECK(head["verdict"] == verdict);
  }
  CHECK(report_of(given.on_text({"--filter", "quote>0"}))["heads"].empty());
  const std::string text = output_of(given.on_text({"--columns", "head,near,abs.induction_head"}));
  CHECK(contains(text, "head  near  abs.induction_head\n"));
  CHECK(contains(text, "\n1.1"));
  CHECK(output_of(given.on_text({"--filter", "layer>5"})).find("no head meets") !=
        std::string::npos);
  CHECK(report_of(given.on_text({"--heads", "0.1"}))["heads"][0] == all["heads"][1]);
}

TEST_CASE("heads on one text prints the table, a sentence for each head and the layers", "[cli]") {
  const Material given;
  const std::string text = output_of({"heads", given.model, "--text", "abcabcabc"});
  CHECK(contains(text, "9 tokens in 1 sequence\n"));
  CHECK(contains(text, "head  does"));
  CHECK(text.find("\ncaution: this text does not settle 4 of 4 verdicts (marked ?)") ==
        text.find('\n'));
  CHECK(contains(text, " ?  "));
  CHECK(contains(text, "(unsure: "));
  CHECK(contains(text, "entropy (nats)"));
  CHECK(text.find('\033') == std::string::npos);  // a pipe gets no colours
  CHECK(contains(output_of({"heads", given.model, "--text", "abc", "--lang", "ko"}), "0.0: "));
  CHECK_FALSE(output_of({"heads", given.model, "--text", "a"}).empty());
  const std::string help = output_of({"heads", "--help", "all"});
  CHECK(contains(help, "k_composition"));
  CHECK(contains(help, "induction >= 0.50"));
}

TEST_CASE("heads scores annotated pairs and reports heads with duplicated patterns", "[cli]") {
  const Material given;
  const Json report =
      report_of(given.on_text({"--annotations", given.pairs, "--cluster_below", "1"}));
  for (const Json& head : report["heads"]) {
    CHECK(head["quote"].get<double>() > 0);
    CHECK(head["bracket_ahead"].get<double>() > 0);
    CHECK(head["agreement"].is_null());
  }
  CHECK(report["clusters"] == Json::array({{"0.0", "0.1", "1.0", "1.1"}}));
  CHECK(output_of(given.on_text({"--cluster_below", "1"})).find("duplicated patterns: 0.0 0.1") !=
        std::string::npos);
  const Json less = report_of(given.on_text({"--redundancy", "0", "--no_weight_scores"}));
  CHECK_FALSE(less.contains("cluster_threshold"));
  CHECK(less["heads"][2]["copying"].is_null());
}

TEST_CASE("heads scores own relations and words", "[cli]") {
  const Material given;
  const std::string own =
      given.folder.write("own.jsonl", R"({"byte":{"length":15,"modifier":[[4,9,10,15]]}})"
                                      "\n"
                                      R"({"byte":{"length":17}})"
                                      "\n"
                                      R"({"byte":{"length":7,"수식":[[0,3,4,7]]}})"
                                      "\n");
  const Arguments more{"--annotations", own, "--by", "word"};
  const Json report = report_of(given.on_text(more));
  for (const Json& head : report["heads"]) {
    CHECK(head["modifier"].get<double>() > 0);
    CHECK(head["수식_ahead"].get<double>() > 0);
    CHECK(head["intervals"].contains("modifier") == false);  // of one document
    CHECK(head["punctuation"].get<double>() > 0);
    CHECK(head["quote"].is_null());
  }
  CHECK(report["even_weights"].contains("modifier"));
  Arguments table = given.on_text(more);
  table.insert(table.end(), {"--columns", "head,modifier", "--filter", "modifier>0", "--sort",
                             "modifier_ahead", "--out", given.folder.at("out")});
  CHECK(contains(output_of(table), "modifier"));
  CHECK(file_contents(given.folder.at("out/heads.csv")).find(",modifier,modifier_ahead,") !=
        std::string::npos);
  const Arguments wrong = given.on_text({"--annotations", own, "--columns", "modifer"});
  CHECK(run_headlight(wrong).err ==
        "error: --columns: no column is called 'modifer'; did you mean 'modifier'?\n");
  const std::string taken = given.folder.write(
      "taken.jsonl", R"({"byte":{"length":15,"layer":[]}})"
                     "\n{\"byte\":{\"length\":17}}\n{\"byte\":{\"length\":7}}\n");
  const ProgramResult refused = run_headlight(given.on_text({"--annotations", taken}));
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.err, "--annotations: the relation 'layer' has the name of a column"));
}

TEST_CASE("heads writes tables, arrays and figures", "[cli]") {
  const Material given;
  const std::string out = given.folder.at("out");
  const Json report = report_of(given.on_text({"--out", out, "--filter", "layer=0"}));
  CHECK(report["files"].size() == 5);
  const Json file = Json::parse(file_contents(out + "/heads.json"));
  CHECK(file["heads"].size() == 4);
  CHECK(file["heads"][0] == report["heads"][0]);
  const std::string csv = file_contents(out + "/heads.csv");
  CHECK(csv.rfind("head,layer,index,verdict,", 0) == 0);
  CHECK(lines_of(csv) == 5);
  for (const auto& [name, tensor] : read_npz(out + "/heads.npz")) {
    INFO(name);
    if (name == "entropy") {
      CHECK(tensor.to_vector()[3] == file["heads"][3]["entropy"].get<double>());
    } else if (name == "js_distance" || name == "k_composition_matrix") {
      CHECK(tensor.shape() == Shape{4, 4});
    } else if (name == "offset_shares") {
      CHECK(tensor.shape() == Shape{4, 18});
    } else if (name == "quote") {
      CHECK(std::isnan(tensor.to_vector()[0]));
    } else if (name == "quote.interval") {
      CHECK(std::isnan(tensor.to_vector()[0]));
      CHECK(std::isnan(tensor.to_vector()[1]));
    }
  }
  CHECK(contains(file_contents(out + "/redundancy.svg"), "Jensen-Shannon"));
  CHECK(contains(file_contents(out + "/k_composition.svg"), "</svg>"));
}

TEST_CASE("with a limit on tokens heads are also compared on that many tokens only", "[cli]") {
  const Material given;
  const Json report = report_of(given.on_text({"--max_tokens", "5"}));
  CHECK(report["tokens"] == 3 * 5);
  CHECK(report["compared_queries"] == 3 * 4);  // the first query sees only itself
}

TEST_CASE("heads gives the evidence for every verdict", "[cli]") {
  const Material given;
  const Json report = report_of({"heads", given.model, "--text", "abcabcabc"});
  CHECK(report["caution"].get<std::string>().find("4 of 4 verdicts") != std::string::npos);
  CHECK(report["random_tokens"] == false);
  for (const Json& head : report["heads"]) {
    CHECK(head["settled"] == false);
    CHECK(head["verdict_places"].get<double>() <= 9);
    CHECK(head[head["verdict_measure"].get<std::string>()] == head["verdict_score"]);
    CHECK(head["verdict_interval"]["high"].get<double>() -
              head["verdict_interval"]["low"].get<double>() >
          0.2);
  }
  // The table always has the column of the score behind the verdict.
  const std::string text = output_of({"heads", given.model, "--text", "abcabcabc"});
  const std::size_t begin = text.find("head  does");
  const std::string titles = text.substr(begin, text.find('\n', begin) - begin);
  for (const char* title : {"  by  ", "  score  ", "  places  "}) {
    INFO(titles);
    CHECK(contains(titles, title));
  }
}

TEST_CASE("heads without a text measures on random tokens that are repeated", "[cli]") {
  const Material given;
  const Json report = report_of({"heads", given.model, "--repeats", "8", "--resamples", "20"});
  CHECK(report["random_tokens"] == true);
  CHECK(report["sequences"] == 8);
  CHECK(report["tokens"] == 8 * 32);  // 16 tokens twice; the context length is 32
  for (const Json& head : report["heads"]) {
    CHECK(head["induction"].is_number());
    CHECK(head["duplicate_token"].is_number());
    CHECK(head["previous_token"].is_number());
  }
  CHECK(contains(output_of({"heads", given.model}), "repeated random tokens"));
}

TEST_CASE("heads speaks Korean in tables as well", "[cli]") {
  const Material given;
  const std::string text = output_of({"heads", given.model, "--text", "abcabc", "--lang", "ko"});
  for (const char* part : {"헤드  하는 일", "근거", "엔트로피 (nat)", "주의: ", "개 토큰"}) {
    INFO(part);
    CHECK(contains(text, part));
  }
  for (const char* part : {"head  does", "layer", "tokens"}) {
    INFO(part);
    CHECK_FALSE(contains(text, part));
  }
}

TEST_CASE("heads.csv spells verdicts as heads.json does", "[cli]") {
  const Material given;
  const std::string out = given.folder.at("out");
  output_of(given.on_text({"--out", out}));
  const Json file = Json::parse(file_contents(out + "/heads.json"));
  const std::string csv = file_contents(out + "/heads.csv");
  for (const Json& head : file["heads"]) {
    CHECK(csv.find("\n" + head["head"].get<std::string>() + "," + head["layer"].dump() + "," +
                   head["index"].dump() + "," + head["verdict"].get<std::string>() + "," +
                   head["verdict_measure"].get<std::string>() + ",") != std::string::npos);
  }
  CHECK(contains(csv, "verdict_places,settled,"));
}

TEST_CASE("scores of another model are refused and scores without a model name get a warning",
          "[cli]") {
  const Material given;
  const std::string out = given.folder.at("out");
  output_of({"heads", given.model, "--text", "abcabc", "--out", out});
  const Arguments show = words("attention", given.model, "--text abc --scores", out + "/heads.json",
                               "--out", given.folder.at("maps"), "--format html");
  const ProgramResult own = run_headlight(show);
  CHECK(own.exit_code == 0);
  CHECK(own.messages().empty());
  CHECK(file_contents(given.folder.at("maps/attention.html")).find(" ?\",") != std::string::npos);
  const std::string other = given.folder.at("other");
  output_of({"prune", given.model, "--heads", "0.1", "--out", other});
  Arguments wrong = show;
  wrong[1] = other;
  check_refused(wrong, {"heads.json", "expected the scores of this model", "fingerprint"});
  Json old = Json::parse(file_contents(out + "/heads.json"));
  old.erase("model_fingerprint");
  Arguments doubted = show;
  doubted[5] = given.folder.write("old.json", old.dump());
  const ProgramResult result = run_headlight(doubted);
  CHECK(result.exit_code == 0);
  REQUIRE(result.messages().size() == 1);
  CHECK(result.messages()[0].find("contains no model_fingerprint") != std::string::npos);
}
}  // namespace heads_test
