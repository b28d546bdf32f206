#include "headlight/formats/gguf/gguf.h"
#include "headlight/formats/gguf/gguf_model.h"
#include "headlight/interpret/prune.h"
#include "support/bytes/pickle_writer.h"
#include "support/saved_model.h"
#include "support/test.h"

// `export`, and `info` on tensor files, with the real program.

std::string model_directory(const TemporaryFolder& folder, GptConfig config = {},
                            const Tokenizer& tokenizer = ByteTokenizer()) {
  config.vocab_size = tokenizer.vocab_size();
  config.block_size = 5;
  config.n_layer = 1;
  config.n_head = 2;
  config.n_embd = 6;
  return save_model(folder, "model", Gpt(config), tokenizer);
}

TEST_CASE("export writes the tensors of a model and of NumPy's files", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_directory(folder);
  const std::string out = folder.at("weights.safetensors");
  const json report = report_of({"export", model, "--to", "safetensors", "--out", out});
  CHECK(report["tensors"] == 16);
  CHECK(report["files"] == json::array({out}));
  const NamedTensors expected = read_safetensors(model + "/model.safetensors");
  const NamedTensors read = read_safetensors(out);
  REQUIRE(read.size() == expected.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].first == expected[i].first);
    CHECK(read[i].second.to_vector() == expected[i].second.to_vector());
  }
  write_npz(folder.at("weights.npz"), expected);
  report_of({"export", folder.at("weights.npz"), "--to", "safetensors", "--out", folder.at("new")});
  CHECK(file_contents(folder.at("new") + "/weights.safetensors") == file_contents(out));
}

TEST_CASE("info lists the tensors of a file", "[cli]") {
  const TemporaryFolder folder;
  const NamedTensors tensors{{"a", Tensor::zeros({2, 3})},
                             {"b", Tensor::scalar(1, DType::int32)},
                             {"c", Tensor::zeros({0, 4}, DType::boolean)}};
  const std::string safetensors = folder.at("x.safetensors");
  write_safetensors(safetensors, tensors, {{"format", "pt"}, {"made by", "hand"}});
  const json listed = report_of({"info", safetensors});
  CHECK(listed["format"] == "safetensors");
  CHECK(listed["metadata"] == json({{"format", "pt"}, {"made by", "hand"}}));
  check_json(listed, R"({"elements": 7, "tensors#": 3})");
  CHECK(listed["tensors"][0] ==
        json({{"name", "a"}, {"dtype", "F32"}, {"shape", json::array({2, 3})}}));
  CHECK(listed["tensors"][1]["shape"] == json::array());
  CHECK(listed["tensors"][2]["dtype"] == "BOOL");

  const std::string npz = folder.at("x.npz");
  write_npz(npz, tensors);
  const json arrays = report_of({"info", npz});
  CHECK(arrays["format"] == "npz");
  CHECK(arrays["tensors"][1] ==
        json({{"name", "b"}, {"dtype", "int32"}, {"shape", json::array()}}));
  const ProgramResult text = run_headlight({"info", npz});
  check_parts(text.out, {"a  float32 [2, 3]\n", "3 tensors, 7 elements"});
}

TEST_CASE("info lists the metadata and the tensors of a GGUF file", "[cli]") {
  const TemporaryFolder folder;
  const std::string path = folder.at("x.gguf");
  write_gguf(path,
             {{"general.name", std::string("a\x1b[2J")},
              {"eps", 1e-5F},
              {"one", GgufArray(std::vector<std::string>{"\n"})},
              {"many", GgufArray(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9})}},
             {{"w", Tensor::zeros({2, 32}), GgufType::q8_0}, {"b", Tensor::zeros({3})}});
  const json listed = report_of({"info", path});
  check_json(listed, R"({"format": "gguf", "elements": 67})");
  CHECK(listed["tensors"][0] ==
        json({{"name", "w"}, {"dtype", "Q8_0"}, {"shape", json::array({2, 32})}}));
  CHECK(listed["tensors"][1]["dtype"] == "F32");
  CHECK(listed["metadata"] ==
        json({{"general.name", "a\x1b[2J"},
              {"eps", 1e-5},
              {"one", {{"length", 1}, {"first", {"\n"}}}},
              {"many", {{"length", 9}, {"first", {1, 2, 3, 4, 5, 6, 7, 8}}}}}));
  const ProgramResult result = run_headlight({"info", path});
  REQUIRE(result.messages().size() == 1);
  CHECK(result.messages()[0].starts_with("warning: " + path + ": "));
  CHECK(result.messages()[0].ends_with("; only its tensors are listed"));
  const std::string& text = result.out;
  check_parts(text, {"w  Q8_0 [2, 32]\nb  F32 [3]\n", "2 tensors, 67 elements\n",
                     "metadata general.name: a\\x1b[2J\nmetadata eps: 1e-05\n",
                     "metadata one: 1 value: \"\\n\"\n",
                     "metadata many: 9 values: 1, 2, 3, 4, 5, 6, 7, 8, ...\n"});
}

TEST_CASE("export writes the tensors of a GGUF file as float32", "[cli]") {
  const TemporaryFolder folder;
  const std::string path = folder.at("x.gguf");
  const Tensor tensor = Tensor::from<float>({1, -2, 0.5F, 127}, {2, 2});
  write_gguf(path, {}, {{"w", tensor, GgufType::bf16}});
  const std::string out = folder.at("x.safetensors");
  CHECK(report_of({"export", path, "--to", "safetensors", "--out", out})["tensors"] == 1);
  const NamedTensors read = read_safetensors(out);
  REQUIRE(read.size() == 1);
  CHECK(read[0].first == "w");
  CHECK(read[0].second.shape() == Shape{2, 2});
  CHECK(read[0].second.dtype() == DType::float32);
  CHECK(read[0].second.to_vector() == tensor.to_vector());
  CHECK(contains(refusal(words("export", path, "--to hf --out", folder.at("hf"))),
                 "x.gguf: general.architecture: is missing"));
}

TEST_CASE("export rounds weights to 2 bytes", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_directory(folder);
  NamedTensors tensors = read_safetensors(model + "/model.safetensors");
  const auto embedding =
      std::ranges::find(tensors, "transformer.wte.weight", &NamedTensors::value_type::first);
  auto* values = embedding->second.mutable_data<float>();
  // Halfway between two values of bfloat16, and of float16: the even one is nearer.
  values[0] = 1 + 0x1p-8F;
  values[1] = 1 + 0x3p-8F;
  values[2] = 1 + 0x1p-11F;
  values[3] = 1 + 0x3p-11F;
  write_safetensors(model + "/model.safetensors", tensors);
  const auto exported = [&](const std::string& type) {
    const std::string out = folder.at(type);
    report_of({"export", model, "--to", "hf", "--type", type, "--out", out});
    const std::unique_ptr<Gpt> read = load_weights(out);  // as float32
    const std::vector<double> all = read->parameters()[0].second.to_vector();
    return std::vector<double>(all.begin(), all.begin() + 4);
  };
  CHECK(exported("bf16") == std::vector<double>{1, 1 + 0x1p-6, 1, 1});
  CHECK(exported("f16") == std::vector<double>{1 + 0x1p-8, 1 + 0x3p-8, 1, 1 + 0x1p-9});
  CHECK(json::parse(file_contents(folder.path() / "bf16" / "config.json"))["dtype"] == "bfloat16");
  CHECK(json::parse(file_contents(folder.path() / "f16" / "config.json"))["torch_dtype"] ==
        "float16");
  CHECK(read_safetensors_header(folder.at("f16") + "/model.safetensors").begin()->second.dtype ==
        "F16");
  values[5] = 65520;
  write_safetensors(model + "/model.safetensors", tensors);
  const std::string file = folder.at("w.safetensors");
  check_refused(words("export", model, "--to safetensors --type f16 --out", file),
                {"--type: f16 cannot hold 65520 in transformer.wte.weight; use bf16 or f32"});
  CHECK(!fs::exists(file));
  report_of({"export", model, "--to", "safetensors", "--type", "bf16", "--out", file});
}

TEST_CASE("export of a GGUF file keeps its general keys in GGUF and names them for a folder") {
  const TemporaryFolder folder;
  const std::string file = folder.at("a.gguf");
  GptConfig config{.vocab_size = 257, .block_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 6};
  write_gguf_model(file, Gpt(config), ByteTokenizer(),
                   {.name = "Tiny", .general = {{"general.license", std::string("mit")}}});
  const std::string copy = folder.at("b.gguf");
  CHECK(report_of({"export", file, "--to", "gguf", "--out", copy})["warnings"].empty());
  const GgufFile before(file);
  const GgufFile after(copy);
  for (const auto& [key, value] : before.metadata()) {
    INFO(key);
    REQUIRE(after.find_value(key) != nullptr);
    CHECK(*after.find_value(key) == value);
  }
  const json report = report_of({"export", file, "--to", "hf", "--out", folder.at("hf")});
  CHECK(report["warnings"] == json::array({"not kept: a.gguf: general.license"}));
}

TEST_CASE("commands take nanoGPT's checkpoint as a model", "[cli]") {
  const TemporaryFolder folder;
  const std::string nano = folder.at("nano");
  fs::create_directory(nano);
  fs::copy_file(HEADLIGHT_SOURCE_DIR "/tests/formats/nanogpt/ckpt.pt", nano + "/ckpt.pt");
  write_nanogpt_vocabulary(nano + "/meta.pkl",
                           CharTokenizer({U'a', U'b', U'c'}, SpecialTokens::none));
  const auto text = [](const std::string& path) {
    return output_of(words("generate", path, "--prompt ab --max_new_tokens 1"));
  };
  CHECK(text(nano + "/ckpt.pt") == text(nano));
  CHECK(contains(output_of({"info", nano + "/ckpt.pt"}), "layers"));
  write_file(nano + "/ckpt.pt", "PK\x03\x04");
  check_parts(refusal({"generate", nano, "--prompt", "ab"}), {"/ckpt.pt: "});
}

TEST_CASE("export names the settings that a format cannot express", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("out");
  GptConfig config;
  const auto refused = [&] {
    fs::remove_all(folder.at("model"));
    const std::string model = model_directory(folder, config);
    const std::string message = refusal({"export", model, "--to", "hf", "--out", out});
    CHECK_FALSE(fs::exists(out));
    return message;
  };
  SECTION("post-norm") {
    config.norm = NormPosition::post;
    CHECK(contains(refused(), "hf: norm = post cannot be expressed: GPT-2 has its norms"));
  }
  SECTION("heads that do not divide the width") {
    config.heads_per_layer = {1};
    config.head_width = 5;
    CHECK(contains(refused(), "cannot be expressed: GPT-2 has n_head heads of width"));
  }
  SECTION("other formats and inputs") {
    const std::string file = folder.at("a.npz");
    write_npz(file, {{"a", Tensor::zeros({1})}});
    CHECK(
        contains(refusal(words("export", file, "--to hf --out", out)), "--to: hf needs a model, "));
  }
}
