#include "support/saved_model.h"
#include "support/test.h"

namespace cache_test {
// `cache` with the real program and a model made in memory.

using Json = nlohmann::json;

struct Given : SavedModel {
  std::string out = folder.at("acts.npz");
};

TEST_CASE("cache writes the points and layers that it is asked for", "[cli]") {
  const Given given;
  const Json report = report_of(words(
      "cache", given.model, "--text abcdef --names resid_post,z.0.1 --layers 1- --out", given.out));
  check_json(report, R"({"rows": 6, "index": null, "lost#": 0})");
  CHECK(report["files"] == Json{given.out});
  CHECK(report["bytes"] == fs::file_size(given.out));
  const TensorMap tensors = npz_arrays(given.out);
  REQUIRE(report["arrays"].size() == tensors.size());
  CHECK(report["arrays"][0] ==
        Json{{"name", "blocks.0.attn.hook_z"}, {"type", "float32"}, {"shape", {6, 1, 8}}});
  CHECK(tensors.at("blocks.1.hook_resid_post").shape() == Shape{6, 16});
  CHECK(tensors.size() == 3 + 5);  // with the heads of z
  CHECK(tensors.at("tokens").to_vector()[5] == 'f');
  check_parts(output_of(words("cache", given.model,
                              "--text abc --positions last --dtype float16 --out", given.out)),
              {"blocks.1.hook_resid_post  float16  [1, 16]", "wrote " + given.out});
}

TEST_CASE("cache names a point that the model does not compute only once", "[cli]") {
  const Given given;
  const GptConfig config{.vocab_size = 257,
                         .block_size = 16,
                         .n_layer = 2,
                         .n_head = 2,
                         .n_embd = 16,
                         .parallel_residual = true};
  const std::string parallel = save_model(given.folder, "parallel", Gpt(config));
  const Arguments base =
      words("cache", parallel, "--text abc --names resid_mid,z --out", given.out);
  const std::string log = log_of(base);
  check_parts(log, {"resid_mid: this model does not compute it (2 arrays not written)"});
  CHECK(log.find("resid_mid") == log.rfind("resid_mid"));
  check_json(report_of(base),
             R"({"absent/0": "resid_mid", "absent#": 1, "arrays/0/name": "blocks.0.attn.hook_z"})");
  check_refused(changed(base, {"--names", "resid_mid"}),
                {"blocks.0.hook_resid_mid: the model does not compute it"});
}

TEST_CASE("cache writes a corpus to several files with an index", "[cli]") {
  const Given given;
  const std::string out = given.folder.at("acts.safetensors");
  const Arguments base = words("cache", given.model, "--data", given.text,
                               "--documents line --names mlp_out --layers 0 --dtype bfloat16 --out",
                               out, "--batch_size 2");
  const Json whole = report_of(base);
  const NamedTensors tensors = read_safetensors(out);
  const TensorMap arrays(tensors.begin(), tensors.end());
  CHECK(arrays.at("blocks.0.hook_mlp_out").dtype() == DType::bfloat16);
  const Json report = report_of(changed(base, {"--shard_rows", "40"}));
  CHECK(report["arrays"] == whole["arrays"]);
  REQUIRE(report["files"].size() == 2);
  CHECK(!fs::exists(out));
  const Json index = Json::parse(file_contents(report["index"].get<std::string>()));
  CHECK(index["model"] == given.model);
  CHECK(index["rows"] == whole["rows"]);
  CHECK(index["arrays"] == whole["arrays"]);
  check_json(index, R"({"shards#": 2, "shards/0/file": "acts-00000.safetensors"})");
}

TEST_CASE("cache colours texts by neurons and finds their most active texts", "[cli]") {
  const Given given;
  const std::string page = given.folder.at("page.html");
  const Json report = report_of(
      words("cache", given.model, "--text abc --names neuron.1.3,resid_post.0.2 --html", page));
  CHECK(report["files"] == Json({page}));
  const std::string html = file_contents(page);
  CHECK(html.find("neuron.1.3") < html.find("resid_post.0.2"));

  const Arguments data =
      words("cache", given.model, "--data", given.text, "--documents line --names neuron.1.3");
  const Json found = report_of(changed(data, {"--html", page, "--top", "2"}));
  REQUIRE(found["examples"].size() == 2);
  CHECK_FALSE(fs::exists(given.out));
  report_of(changed(data, {"--out", given.out}));
  const std::vector<double> values = npz_arrays(given.out).at("blocks.1.mlp.hook_post").to_vector();
  CHECK(found["examples"][0]["value"] == Approx(std::ranges::max(values)));
  CHECK(contains(file_contents(page), "Most active texts of neuron.1.3"));

  check_refused(changed(data, words("--html", page, "--names resid_post.1")),
                {"names: expected neurons or elements with --html"});
  check_refused(changed(data, {"--html", page, "--out", given.out}),
                {"--out: cannot be combined with --html"});
  check_refused(changed(data, {"--top", "3"}), {"--top: needs --html and --data"});
}
}  // namespace cache_test
