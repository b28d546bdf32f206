#include "support/test.h"

namespace cache_test {
// `cache` with the real program and a model made in memory.

using Json = nlohmann::json;

// Model directory of three layers with two heads, and a text.
struct Material {
  Material() {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 16, 3), ByteTokenizer());
  }

  // Message of a run that must be refused, without "error: ".
  std::string refused(const Arguments& options) const {
    return refusal(changed({"cache", model, "--out", out}, options)).substr(7);
  }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  std::string text = folder.write("text.txt", "one line of text\nanother line\n\nthe third one\n");
  std::string out = folder.at("acts.npz");
};

Tensor array_of(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) {
      return tensor;
    }
  }
  FAIL("no array " << name);
  return {};
}

TEST_CASE("cache writes the points and layers that it is asked for", "[cli]") {
  const Material given;
  const Json report = report_of(words(
      "cache", given.model, "--text abcdef --names resid_post,z.0.1 --layers 1- --out", given.out));
  CHECK(report["rows"] == 6);
  CHECK(report["files"] == Json{given.out});
  CHECK(report["index"].is_null());
  CHECK(report["bytes"] == fs::file_size(given.out));
  const NamedTensors tensors = read_npz(given.out);
  REQUIRE(report["arrays"].size() == tensors.size());
  CHECK(report["lost"].empty());
  CHECK(report["arrays"][0] ==
        Json{{"name", "blocks.0.attn.hook_z"}, {"type", "float32"}, {"shape", {6, 1, 8}}});
  CHECK(array_of(tensors, "blocks.1.hook_resid_post").shape() == Shape{6, 16});
  CHECK(array_of(tensors, "blocks.2.hook_resid_post").shape() == Shape{6, 16});
  CHECK(tensors.size() == 4 + 5);
  CHECK(array_of(tensors, "tokens").to_vector()[5] == 'f');
  const std::string text = output_of(
      words("cache", given.model, "--text abc --positions last --type float16 --out", given.out));
  CHECK(contains(text, "blocks.2.hook_resid_post  float16  [1, 16]"));
  CHECK(text.find("wrote " + given.out) != std::string::npos);
}

TEST_CASE("cache names a point that the model does not compute only once", "[cli]") {
  const Material given;
  GptConfig config{.vocab_size = 257,
                   .block_size = 16,
                   .n_layer = 2,
                   .n_head = 2,
                   .n_embd = 16,
                   .parallel_residual = true};
  const std::string parallel = given.folder.at("parallel");
  fs::create_directory(parallel);
  write_model_files(parallel, Gpt(config), ByteTokenizer());
  const Arguments base =
      words("cache", parallel, "--text abc --names resid_mid,z --out", given.out);
  const ProgramResult result = run_headlight(base);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.err, "resid_mid: this model does not compute it (2 arrays not written)"));
  CHECK(result.err.find("resid_mid") == result.err.rfind("resid_mid"));
  const Json report = report_of(base);
  CHECK(report["absent"] == Json{"resid_mid"});
  CHECK(report["arrays"][0]["name"] == "blocks.0.attn.hook_z");
  check_refused(changed(base, {"--names", "resid_mid"}),
                {"blocks.0.hook_resid_mid: the model does not compute it"});
}

TEST_CASE("cache writes a corpus to several files that together equal one file", "[cli]") {
  const Material given;
  const std::string out = given.folder.at("acts.safetensors");
  const Arguments base = words("cache", given.model, "--data", given.text,
                               "--documents line --names mlp_out --layers 0 --type bfloat16 --out",
                               out, "--batch_size 2");
  const Json whole = report_of(base);
  const Tensor rows = array_of(read_safetensors(out), "blocks.0.hook_mlp_out");
  CHECK(rows.dtype() == DType::bfloat16);
  const Json report = report_of(changed(base, {"--shard_rows", "20"}));
  CHECK(report["arrays"] == whole["arrays"]);
  REQUIRE(report["files"].size() == 3);
  CHECK(!fs::exists(out));
  std::vector<double> joined;
  for (const Json& file : report["files"]) {
    const std::vector<double> values =
        array_of(read_safetensors(file.get<std::string>()), "blocks.0.hook_mlp_out").to_vector();
    joined.insert(joined.end(), values.begin(), values.end());
  }
  CHECK(joined == rows.to_vector());
  const Json index = Json::parse(file_contents(report["index"].get<std::string>()));
  CHECK(index["model"] == given.model);
  CHECK(index["rows"] == rows.size(0));
  CHECK(index["arrays"] == whole["arrays"]);
  CHECK(index["shards"][0]["file"] == "acts-00000.safetensors");
  CHECK(index["shards"].size() == 3);
}

TEST_CASE("cache colours texts by neurons and finds their most active texts", "[cli]") {
  const Material given;
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
  const NamedTensors arrays = read_npz(given.out);
  const std::vector<double> values = array_of(arrays, "blocks.1.mlp.hook_post").to_vector();
  const auto row = std::max_element(values.begin(), values.end()) - values.begin();
  const auto at_row = [&](const std::string& name) {
    return array_of(arrays, name).to_vector()[static_cast<std::size_t>(row)];
  };
  const Json& best = found["examples"][0];
  CHECK(best["value"].get<double>() == Approx(at_row("blocks.1.mlp.hook_post")));
  CHECK(best["text"].get<double>() == at_row("documents"));
  CHECK(best["position"].get<double>() == at_row("document_positions"));
  CHECK(best["value"] >= found["examples"][1]["value"]);
  CHECK(contains(file_contents(page), "Most active texts of neuron.1.3"));

  CHECK(refusal(changed(data, {"--html", page, "--names", "resid_post.1"}))
            .find("names: expected neurons or elements with --html") != std::string::npos);
  CHECK(refusal(changed(data, {"--html", page, "--out", given.out})) ==
        "error: --out: cannot be combined with --html");
  CHECK(refusal(changed(data, {"--top", "3"})) == "error: --top: needs --html and --data");
}
}  // namespace cache_test
