#include "support/saved_model.h"
#include "support/test.h"

namespace heads_test {
// `headlight heads` with the real program and a model made in memory.

using Json = nlohmann::json;

// A model, a text of three documents and its annotations.
struct Given {
  Arguments on_text(const std::string& more = "") const {
    return changed(words("heads", model, "--data", text, "--documents blank_line --resamples 50"),
                   split_words(more));
  }

  TemporaryFolder folder;
  std::string model = save_model(folder, "model", *lively_model(257, 32));
  std::string text = folder.write("text.txt", "say 'one' (two)\n\nthen (three) more\n\nend (x)\n");
  std::string pairs =
      folder.write("pairs.jsonl",
                   "{\"byte\":{\"length\":15,\"quote\":[[4,5,8,9]],\"bracket\":[[10,11,14,15]]}}\n"
                   "{\"byte\":{\"length\":17,\"bracket\":[[5,6,11,12]]}}\n"
                   "{\"byte\":{\"length\":7,\"bracket\":[[4,5,6,7]]}}\n");
  std::string out = folder.at("out");
};

TEST_CASE("heads gives scores and intervals and a verdict and a sentence for every head", "[cli]") {
  const Given given;
  const Json report = report_of(given.on_text());
  // 42 tokens: 15 + 17 + 7, with <|endoftext|> before each document.
  check_json(report, R"({"sequences": 3, "tokens": 42, "heads#": 4, "heads/3/head": "1.1",
                         "heads/3/layer": 1, "heads/3/index": 1, "heads/3/quote": null,
                         "heads/0/k_source": null, "layers#": 2})");
  const Json& head = report["heads"][3];
  for (const char* score : {"previous_token", "first_token", "duplicate_token", "induction",
                            "confidence", "k_composition"}) {
    INFO(score);
    CHECK((head[score] >= 0 && head[score] <= 1));
  }
  CHECK(head["k_source"].get<std::string>().starts_with("0."));
  CHECK(head["intervals"]["entropy"]["low"] <= head["entropy"]);
  CHECK(head["intervals"]["entropy"]["high"] >= head["entropy"]);
  CHECK(head["sentence"].get<std::string>().starts_with("1.1 "));
  CHECK(report["layers"][1]["entropy"] ==
        Approx((report["heads"][2]["entropy"].get<double>() + head["entropy"].get<double>()) / 2));
}

TEST_CASE("heads sorts, filters and shows the columns that are asked for", "[cli]") {
  const Given given;
  const auto heads = [&](const std::string& more) {
    return report_of(given.on_text(more))["heads"];
  };
  const Json all = heads("");
  const Json sorted = heads("--sort entropy");
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(sorted[i - 1]["entropy"] >= sorted[i]["entropy"]);
  }
  CHECK(heads("--sort entropy --ascending")[0] == sorted[3]);
  CHECK(heads("--filter 'layer>=1, index!=0'") == Json::array({all[3]}));
  const std::string verdict = all[0]["verdict"];
  const Json alike = heads("--filter verdict=" + verdict);
  CHECK_FALSE(alike.empty());
  for (const Json& head : alike) {
    CHECK(head["verdict"] == verdict);
  }
  CHECK(heads("--filter quote>0").empty());
  CHECK(heads("--heads 0.1")[0] == all[1]);
  check_parts(output_of(given.on_text("--columns head,near,same_token")),
              {"head  near  self\n", "\n1.1"});
  CHECK(contains(output_of(given.on_text("--filter layer>5")), "no head meets"));
}

TEST_CASE("heads on one text prints the table, a sentence for each head and the layers", "[cli]") {
  const Given given;
  const std::string text = output_of(words("heads", given.model, "--text abcabcabc"));
  check_parts(text,
              {"9 tokens in 1 sequence\n", "head  does", " ?  ", "(unsure: ", "entropy (nats)"});
  CHECK(text.find("\ncaution: this text does not settle 4 of 4 verdicts (marked ?)") ==
        text.find('\n'));
  CHECK_FALSE(contains(text, "\033"));  // a pipe gets no colours
  CHECK_FALSE(output_of(words("heads", given.model, "--text a")).empty());
  check_parts(output_of(words("heads --help all")), {"k_composition", "induction >= 0.50"});
  const std::string korean = output_of(words("heads", given.model, "--text abcabc --lang ko"));
  check_parts(korean, {"0.0: ", "헤드  하는 일", "근거", "엔트로피 (nat)", "주의: ", "개 토큰"});
  check_lacks(korean, {"head  does", "layer", "tokens"});
}

TEST_CASE("heads scores annotated pairs and reports heads with duplicated patterns", "[cli]") {
  const Given given;
  const Json report = report_of(given.on_text("--cluster_below 1 --annotations " + given.pairs));
  for (const Json& head : report["heads"]) {
    CHECK(head["quote"] > 0);
    CHECK(head["bracket_ahead"] > 0);
    CHECK(head["agreement"].is_null());
  }
  CHECK(report["clusters"] == Json::array({{"0.0", "0.1", "1.0", "1.1"}}));
  CHECK(contains(output_of(given.on_text("--cluster_below 1")), "duplicated patterns: 0.0 0.1"));
  const Json less = report_of(given.on_text("--redundancy 0 --no_weight_scores"));
  CHECK_FALSE(less.contains("cluster_threshold"));
  CHECK(less["heads"][2]["copying"].is_null());
}

TEST_CASE("heads scores own relations and words", "[cli]") {
  const Given given;
  const auto with_pairs = [&](const std::string& first, const std::string& last) {
    return "--annotations " + given.folder.write("own.jsonl", "{\"byte\":{\"length\":15," + first +
                                                                  "}}\n{\"byte\":{\"length\":17}}\n"
                                                                  "{\"byte\":{\"length\":7" +
                                                                  last + "}}\n");
  };
  const std::string own =
      with_pairs("\"modifier\":[[4,9,10,15]]", ",\"수식\":[[0,3,4,7]]") + " --units word ";
  const Json report = report_of(given.on_text(own));
  for (const Json& head : report["heads"]) {
    for (const char* score : {"modifier", "수식_ahead", "punctuation"}) {
      CHECK(head[score] > 0);
    }
    CHECK_FALSE(head["intervals"].contains("modifier"));  // of one document
    CHECK(head["quote"].is_null());
  }
  CHECK(report["even_weights"].contains("modifier"));
  CHECK(contains(output_of(given.on_text(own +
                                         "--columns head,modifier --filter modifier>0 --sort "
                                         "modifier_ahead --out " +
                                         given.out)),
                 "modifier"));
  CHECK(contains(file_contents(given.out + "/heads.csv"), ",modifier,modifier_ahead,"));
  check_refused(given.on_text(own + "--columns modifer"),
                {"--columns: no column is called 'modifer'; did you mean 'modifier'?"});
  check_refused(given.on_text(with_pairs("\"layer\":[]", "")),
                {"--annotations: the relation 'layer' has the name of a column"});
}

TEST_CASE("heads writes tables, arrays and figures", "[cli]") {
  const Given given;
  const Json report = report_of(given.on_text("--filter layer=0 --out " + given.out));
  CHECK(report["files"].size() == 5);
  const Json file = Json::parse(file_contents(given.out + "/heads.json"));
  CHECK(file["heads"].size() == 4);
  CHECK(file["heads"][0] == report["heads"][0]);
  const std::string csv = file_contents(given.out + "/heads.csv");
  CHECK(csv.starts_with("head,layer,index,verdict,"));
  CHECK(std::ranges::count(csv, '\n') == 5);
  CHECK(contains(csv, "verdict_places,settled,"));
  for (const Json& head : file["heads"]) {  // verdicts are spelled alike
    CHECK(contains(
        csv, concat_text("\n", head["head"].get<std::string>(), ",", head["layer"].dump(), ",",
                         head["index"].dump(), ",", head["verdict"].get<std::string>(), ",",
                         head["verdict_measure"].get<std::string>(), ",")));
  }
  const TensorMap arrays = npz_arrays(given.out + "/heads.npz");
  CHECK(arrays.at("entropy").to_vector()[3] == file["heads"][3]["entropy"].get<double>());
  CHECK(arrays.at("js_distance").shape() == Shape{4, 4});
  CHECK(arrays.at("k_composition_matrix").shape() == Shape{4, 4});
  CHECK(arrays.at("offset_shares").shape() == Shape{4, 18});
  CHECK(std::isnan(arrays.at("quote").to_vector()[0]));
  CHECK(std::isnan(arrays.at("quote.interval").to_vector()[1]));
  CHECK(contains(file_contents(given.out + "/redundancy.svg"), "Jensen-Shannon"));
  CHECK(contains(file_contents(given.out + "/k_composition.svg"), "</svg>"));
}

TEST_CASE("with a limit on tokens heads are also compared on that many tokens only", "[cli]") {
  const Given given;
  // Three documents of five tokens; the first query of each sees only itself.
  check_json(report_of(given.on_text("--max_tokens 5")),
             R"({"tokens": 15, "compared_queries": 12})");
}

TEST_CASE("heads gives the evidence for every verdict", "[cli]") {
  const Given given;
  const Arguments on_text = words("heads", given.model, "--text abcabcabc");
  const Json report = report_of(on_text);
  CHECK(contains(report["caution"].get<std::string>(), "4 of 4 verdicts"));
  CHECK(report["random_tokens"] == false);
  for (const Json& head : report["heads"]) {
    CHECK(head["settled"] == false);
    CHECK(head["verdict_places"] <= 9);
    CHECK(head[head["verdict_measure"].get<std::string>()] == head["verdict_score"]);
    const Json& range = head["verdict_interval"];
    CHECK(range["high"].get<double>() > range["low"].get<double>() + 0.2);
  }
  // The table always has the column of the score behind the verdict.
  const std::string text = output_of(on_text);
  const std::size_t begin = text.find("head  does");
  check_parts(text.substr(begin, text.find('\n', begin) - begin),
              {"  by  ", "  score  ", "  places  "});
}

TEST_CASE("heads without a text measures on random tokens that are repeated", "[cli]") {
  const Given given;
  const Json report = report_of(words("heads", given.model, "--repeats 8 --resamples 20"));
  // 16 tokens twice in each of eight sequences; the context length is 32.
  check_json(report, R"({"random_tokens": true, "sequences": 8, "tokens": 256})");
  for (const Json& head : report["heads"]) {
    for (const char* score : {"induction", "duplicate_token", "previous_token"}) {
      CHECK(head[score].is_number());
    }
  }
  CHECK(contains(output_of({"heads", given.model}), "repeated random tokens"));
}

TEST_CASE("scores of another model are refused and scores without a model name get a warning",
          "[cli]") {
  const Given given;
  output_of(words("heads", given.model, "--text abcabc --out", given.out));
  const std::string scores = given.out + "/heads.json";
  const auto show = [&](const std::string& model, const std::string& file) {
    return words("attention", model, "--text abc --format html --scores", file, "--out",
                 given.folder.at("maps"));
  };
  CHECK(log_of(show(given.model, scores)).empty());
  CHECK(contains(file_contents(given.folder.at("maps/attention.html")), " ?\","));
  const std::string other = given.folder.at("other");
  output_of(words("prune", given.model, "--heads 0.1 --out", other));
  check_refused(show(other, scores),
                {"heads.json", "expected the scores of this model", "fingerprint"});
  Json old = Json::parse(file_contents(scores));
  old.erase("model_fingerprint");
  CHECK(contains(log_of(show(given.model, given.folder.write("old.json", old.dump()))),
                 "contains no model_fingerprint"));
}
}  // namespace heads_test
