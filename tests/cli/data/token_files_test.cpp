#include "support/bytes/pickle_writer.h"
#include "support/test.h"

namespace token_files_test {
// Token files in the formats of nanoGPT and llm.c, with the real program.

std::string small_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "abcdefgh " + std::to_string(i) + "\n";
  }
  return text;
}

// Data folder as nanoGPT's prepare.py writes it: train.bin, val.bin and meta.pkl. Ids are in the
// order of the characters.
std::string nanogpt_folder(const TemporaryFolder& folder) {
  const CharTokenizer tokenizer({U'\n', U' ', U'0', U'1', U'2', U'3', U'4', U'5', U'6', U'7',
                                 U'8',  U'9', U'a', U'b', U'c', U'd', U'e', U'f', U'g', U'h'},
                                SpecialTokens::last);
  const std::string path = folder.at("data");
  fs::create_directory(path);
  write_nanogpt_vocabulary(path + "/meta.pkl", tokenizer);
  const Ids ids = tokenizer.encode(small_text());
  const Ids train(ids.begin(), ids.end() - 80);
  const Ids validation(ids.end() - 80, ids.end());
  folder.write("data/train.bin", token_file_bytes(train, TokenDtype::uint16));
  folder.write("data/val.bin", token_file_bytes(validation, TokenDtype::uint16));
  return path;
}

Arguments train(const std::string& data, const std::string& out, const Arguments& more = {}) {
  Arguments arguments = words("train --data", data, "--out_dir", out,
                              "--n_layer 1 --n_head 1 --n_embd 8 --block_size 16 --max_iters 3 "
                              "--eval_iters 2 --log_level info");
  return changed(std::move(arguments), more);
}

TEST_CASE("a nanoGPT data folder trains without a tokenizer option and the model generates text",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string data = nanogpt_folder(folder);
  const std::string messages = log_of(train(data, folder.at("run")));
  check_parts(messages, {"using the characters of meta.pkl next to " + data, "vocabulary 22",
                         "; the token ids stay in their file"});
  CHECK(output_of({"tokenizer", "encode", folder.at("run"), "--text", "ha 0"}) == "19 12 1 2\n");
  const std::string text =
      output_of({"generate", folder.at("run"), "--prompt", "abc", "--max_new_tokens", "8"});
  CHECK(text.rfind("abc", 0) == 0);
  CHECK(text.size() > 8);
  CHECK(report_of({"eval", folder.at("run"), "--data", data + "/val.bin"})["tokens"] == 79);
  CHECK(report_of({"info", folder.write("a.toml", "data = \"" + data + "\"\n")})["vocab_size"] ==
        22);
  CHECK(output_of(words("tokenizer decode", data, "--file", data + "/val.bin")) ==
        small_text().substr(small_text().size() - 80));
  // Resuming and fine-tuning need no meta.pkl.
  CHECK(output_of({"eval", folder.at("run"), "--data", data}) ==
        output_of({"eval", folder.at("run"), "--data", data + "/val.bin"}));
  fs::remove(data + "/meta.pkl");
  output_of({"train", "--resume", "--out_dir", folder.at("run"), "--max_iters", "4"});
  output_of(train(data, folder.at("tuned"), {"--init_from", folder.at("run")}));
}

TEST_CASE("train and eval refuse a vocabulary that differs from that of the ids", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = nanogpt_folder(folder);
  const std::string text = folder.write("text.txt", small_text());
  output_of(train(text, folder.at("run")));
  const std::string expected = "made with another tokenizer: id 0 is ";
  check_refused({"eval", folder.at("run"), "--data", data + "/val.bin"}, {expected});
  check_refused(train(data, folder.at("tuned"), {"--init_from", folder.at("run")}), {expected});
  check_refused(train(data, folder.at("bytes"), {"--tokenizer", "byte"}), {expected});
  folder.write("data/meta.pkl", "cos\nsystem\n");
  check_refused(train(data, folder.at("other")), {"meta.pkl: not a Python pickle of protocol"});
}

TEST_CASE("ids above 65535 are written and read with 32 bits unless 16 bits are asked for",
          "[cli]") {
  const TemporaryFolder folder;
  std::string text;
  for (std::uint32_t code_point = 0x10000; code_point < 0x20000; ++code_point) {
    for (const std::uint32_t byte :
         {0xF0U | code_point >> 18, 0x80U | (code_point >> 12 & 0x3FU),
          0x80U | (code_point >> 6 & 0x3FU), 0x80U | (code_point & 0x3FU)}) {
      text += static_cast<char>(byte);
    }
  }
  const std::string tokenizer = folder.at("characters");
  save_tokenizer(tokenizer, build_char_tokenizer(text));
  const std::string out = folder.at("ids.bin");
  const Arguments encode =
      words("tokenizer encode", tokenizer, "--text", text.substr(0, 12), "--out", out);
  Arguments narrow = encode;
  narrow.insert(narrow.end(), {"--token_dtype", "uint16"});
  CHECK(refusal(narrow) == "error: --token_dtype: uint16 holds 65536 ids, the tokenizer has 65538");
  CHECK(!fs::exists(out));
  const json report = report_of(encode);
  CHECK(report["token_dtype"] == "uint32");
  CHECK(file_contents(out) == std::string("\2\0\0\0\3\0\0\0\4\0\0\0", 12));
  CHECK(output_of({"tokenizer", "decode", tokenizer, "--file", out}) == text.substr(0, 12));
}

TEST_CASE("a token file of 64 MiB trains in little memory", "[cli][long]") {
  if (has_sanitizer()) {
    return;  // a sanitizer's memory would count too
  }
  const TemporaryFolder folder;
  std::string ids = "abcdefgh";
  while (ids.size() < (std::size_t{32} << 20)) {
    ids += ids;
  }
  std::string bytes(2 * ids.size(), '\0');
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bytes[2 * i] = ids[i];
    bytes[2 * i + 1] = static_cast<char>(i % 7 == 0 ? 1 : 0);
  }
  for (std::size_t i = 0; i < ids.size(); i += 7) {
    bytes[2 * i] = '\0';
  }
  const std::string path = folder.write("large.bin", bytes);
  const ProgramResult small = run_headlight(train(folder.write("small.bin", bytes.substr(0, 4000)),
                                                  folder.at("small"), {"--tokenizer", "byte"}));
  const ProgramResult large =
      run_headlight(train(path, folder.at("large"), {"--tokenizer", "byte"}));
  INFO(large.err);
  REQUIRE(small.exit_code == 0);
  REQUIRE(large.exit_code == 0);
  CHECK(large.peak_kilobytes < small.peak_kilobytes + 20000);
}

TEST_CASE("a model whose tokenizer file lacks the characters is refused", "[cli]") {
  const TemporaryFolder folder;
  const CharTokenizer tokenizer = build_char_tokenizer("abc");
  const std::string model = folder.at("model");
  fs::create_directory(model);
  write_model_files(model, *lively_model(tokenizer.vocab_size(), 32), tokenizer);
  json file = json::parse(file_contents(model + "/tokenizer.json"));
  file["model"]["vocab"].clear();
  folder.write("model/tokenizer.json", file.dump());
  check_refused({"generate", model, "--prompt", "a"}, {"tokenizer.json: model.vocab: is empty"});
}
}  // namespace token_files_test
