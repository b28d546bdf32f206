#include "support/test.h"

// `headlight tokenizer` and `train --tokenizer` with the real program.

std::string small_corpus() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "Mina has a red kite. \"Fly!\" said Mina.\n\n미나는 연을 봐요.\n\n";
    text += std::to_string(i) + " birds sing (softly) near the river.\n\n";
  }
  return text;
}

// Trains a tokenizer of 300 tokens. Returns its folder.
std::string small_tokenizer(const TemporaryFolder& folder) {
  const std::string data = folder.write("corpus.txt", small_corpus());
  output_of(words("tokenizer train --data", data, "--vocab_size 300 --out", folder.at("bpe"),
                  "--log_level error"));
  return folder.at("bpe");
}

// Ids of a file of little-endian 16-bit numbers.
std::vector<int> uint16_ids(const std::string& path) {
  const std::string bytes = file_contents(path);
  std::vector<int> ids;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    ids.push_back(static_cast<unsigned char>(bytes[i]) +
                  256 * static_cast<unsigned char>(bytes[i + 1]));
  }
  return ids;
}

TEST_CASE("tokenizer train writes a tokenizer and reports its merges", "[cli]") {
  const TemporaryFolder folder;
  // tests/tokenizers/bpe_trainer_test.cpp derives the ids and merges of this text.
  const std::string data = folder.write("a.txt", "hug pug pun");
  const std::string more = folder.write("b.txt", " bun hugs");
  const std::string out = folder.at("new/bpe");
  const ProgramResult result = run_headlight(
      {"tokenizer", "train", "--data", data, more, "--vocab_size", "300", "--out", out, "--json"});
  REQUIRE(result.exit_code == 0);
  const json report = json::parse(result.out);
  check_json(report, R"({"vocab_size": 267, "merges": 10, "bytes": 20})");
  CHECK(report["directory"] == out);
  REQUIRE(result.messages().size() == 1);
  CHECK(result.messages()[0] ==
        "warning: the text has no more pairs to merge: 267 tokens instead of 300");
  const json file = json::parse(file_contents(out + "/tokenizer.json"));
  check_json(file, R"({"model/vocab/hug": 258, "added_tokens/0/content": "<|endoftext|>"})");
  CHECK(json::parse(file_contents(out + "/tokenizer_config.json"))["eos_token"] == "<|endoftext|>");
  CHECK(output_of({"tokenizer", "encode", out, "--text", "hug bun!"}) == "258 263 1\n");
}

TEST_CASE("tokenizer train takes special tokens, a least frequency and whole files", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("a.txt", "a\n\n\n\na\n\n\n\na hug pug pun bun hugs");
  const Arguments command =
      words("tokenizer train --data", data,
            "--vocab_size 259 --special_tokens <|pad|>,<|endoftext|> --min_frequency=2 --out",
            folder.at("bpe"));
  CHECK(output_of(command).rfind(
            "wrote " + folder.at("bpe") + "/tokenizer.json: 259 tokens (1 merges), from 32 B in ",
            0) == 0);
  CHECK(output_of({"tokenizer", "encode", folder.at("bpe"), "--text", "<|pad|>ug"}) == "0 258\n");
  Arguments whole = command;
  whole.insert(whole.end(), {"--sequences", "text", "--force"});
  output_of(whole);
  // A pair of line ends occurs four times, more often than "ug".
  CHECK(output_of({"tokenizer", "encode", folder.at("bpe"), "--text", "\n\n"}) == "258\n");
}

TEST_CASE("encode and decode give back any bytes", "[cli]") {
  const TemporaryFolder folder;
  const std::string bpe = small_tokenizer(folder);
  std::string bytes = "Mina <|endoftext|> 미나는\r\n";
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  const std::string file = folder.write("bytes", bytes);
  save_tokenizer(folder.at("byte"), ByteTokenizer());
  for (const std::string& tokenizer : {bpe, folder.at("byte")}) {
    const std::string ids =
        folder.write("ids", output_of({"tokenizer", "encode", tokenizer, "--file", file}));
    CHECK(output_of({"tokenizer", "decode", tokenizer, "--file", ids}) == bytes);
    const std::string bin = folder.at("ids.bin");
    output_of({"tokenizer", "encode", tokenizer, "--file", file, "--out", bin});
    CHECK(output_of({"tokenizer", "decode", tokenizer, "--file", bin}) == bytes);
  }
  CHECK(output_of({"tokenizer", "decode", bpe, "--ids", "0,1,0", "--skip_special"}) == "!");
  CHECK(json::parse(output_of(words("tokenizer decode", bpe, "--ids 0,188 --json"))) ==
        json{{"text", "<|endoftext|>\xEF\xBF\xBD"}});
}

TEST_CASE("encode prints ids as JSON, and a list for each line of a JSON lines file", "[cli]") {
  const TemporaryFolder folder;
  const std::string bpe = small_tokenizer(folder);
  const json text = json::parse(output_of({"tokenizer", "encode", bpe, "--text", "#$", "--json"}));
  CHECK(text == json{{"ids", {3, 4}}});
  const std::string lines = folder.write("lines.jsonl", "\"#$\"\n\"\"\n\"#\"\n");
  CHECK(json::parse(output_of(words("tokenizer encode", bpe, lines, "--json"))) ==
        json{{"ids", {{3, 4}, json::array(), {3}}}});
  CHECK(output_of({"tokenizer", "encode", bpe, "--file", lines}) == "3 4\n\n3\n");
  CHECK(output_of({"tokenizer", "encode", bpe, "--text", "", "--json"}) == "{\"ids\": []}\n");
  // Standard input is empty here.
  CHECK(output_of(words("tokenizer encode", bpe, "- --jsonl text --json")) == "{\"ids\": []}\n");
}

TEST_CASE("a long file encoded in parts gives the same ids as its whole text", "[cli][long]") {
  const TemporaryFolder folder;
  const std::string bpe = small_tokenizer(folder);
  // Longer than one part of 4 MiB, with a special token and white space of all kinds.
  std::string text;
  while (text.size() < 9 * 1024 * 1024) {
    text += small_corpus() + "<|endoftext|>  \t\n\n x" + std::to_string(text.size()) + "  ";
  }
  const std::string file = folder.write("long.txt", text);
  const json report = json::parse(output_of(
      {"tokenizer", "encode", bpe, "--file", file, "--out", folder.at("train.bin"), "--json"}));
  CHECK(report["bytes"] == text.size());
  CHECK(report["file"] == folder.at("train.bin"));
  const std::vector<int> ids = uint16_ids(folder.at("train.bin"));
  CHECK(report["tokens"] == ids.size());
  const auto tokenizer = open_tokenizer(bpe);
  std::vector<int> expected;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("<|endoftext|>", begin), text.size());
    const auto part = tokenizer->encode(text.substr(begin, end - begin));
    expected.insert(expected.end(), part.begin(), part.end());
    if (end < text.size()) {
      expected.push_back(tokenizer->end_of_text());
    }
    begin = end < text.size() ? end + 13 : end;
  }
  CHECK((ids == expected));  // printing them would take minutes
}

TEST_CASE("info describes every kind of tokenizer", "[cli]") {
  const TemporaryFolder folder;
  const std::string bpe = small_tokenizer(folder);
  const json report = json::parse(output_of({"tokenizer", "info", bpe, "--json"}));
  check_json(report, R"({"kind": "bpe", "vocab_size": 300, "merges": 43})");
  CHECK(report["special_tokens"] == json{{"<|endoftext|>", 0}});
  CHECK(report["end_of_text"] == 0);
  CHECK(report["ends"] == json::array({0}));
  CHECK(report["longest_bytes"].get<int>() ==
        static_cast<int>(report["longest_token"].get<std::string>().size()));
  save_tokenizer(folder.at("char"), build_char_tokenizer("abc"));
  const std::string text = output_of({"tokenizer", "info", folder.at("char")});
  check_parts(text, {"char (one token for each character)", "<|unk|> = 1"});
  CHECK(json::parse(output_of(words("tokenizer info", folder.at("char") + "/tokenizer.json",
                                    "--json")))["vocab_size"] == 5);
}

TEST_CASE("show prints each token above its id, wide characters in two columns", "[cli]") {
  const TemporaryFolder folder;
  save_tokenizer(folder.at("char"), build_char_tokenizer("ab 한\n\x1B"));
  // Ids: line end 2, escape 3, blank 4, a 5, b 6, U+D55C 7.
  CHECK(output_of({"tokenizer", "show", folder.at("char"), "a 한b\n<|endoftext|>\x1B"}) ==
        "a · 한 b ⏎ <|endoftext|> ␛\n"
        "5 4 7  6 2 0             3\n");
  CHECK(output_of(words("tokenizer show", folder.at("char"), std::string(41, 'a'))) == [] {
    std::string rows;
    for (const char* item : {"a", "5"}) {
      for (int i = 0; i < 40; ++i) {
        rows += std::string(item) + (i < 39 ? " " : "\n");
      }
    }
    return rows + "\na\n5\n";
  }());
  save_tokenizer(folder.at("byte"), ByteTokenizer());
  CHECK(output_of({"tokenizer", "show", folder.at("byte"), "é"}) == "<0xC3> <0xA9>\n195    169\n");
  CHECK(json::parse(output_of(words("tokenizer show", folder.at("byte"), "a --json"))) ==
        json{{"tokens", {{{"id", 97}, {"label", "a"}, {"bytes", 1}}}}});
}

TEST_CASE("training learns a tokenizer of its own and keeps it when it is resumed", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", small_corpus());
  const std::string run = folder.at("run");
  Arguments command =
      words("train --data", data, "--out_dir", run,
            "--tokenizer bpe --vocab_size 320 --documents blank_line --batching padded --n_layer 1 "
            "--n_head 2 --n_embd 16 --block_size 32 --batch_size 4 --eval_iters 1 --max_iters 2");
  const ProgramResult result = run_headlight(command);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(contains(result.err, "learned 320 tokens from the text"));
  const std::string learned = file_contents(run + "/latest/tokenizer.json");
  CHECK(json::parse(output_of({"tokenizer", "info", run, "--json"}))["kind"] == "bpe");

  command.back() = "4";
  command.emplace_back("--resume");
  const ProgramResult resumed = run_headlight(command);
  REQUIRE(resumed.exit_code == 0);
  CHECK_FALSE(contains(resumed.err, "learned"));
  CHECK(file_contents(run + "/latest/tokenizer.json") == learned);
  CHECK(output_of({"generate", run, "--prompt", "Mina", "--n", "3"}).rfind("Mina", 0) == 0);

  SECTION("and another run can start with that tokenizer") {
    command.pop_back();
    command[4] = folder.at("second");
    command[6] = run;
    REQUIRE(run_headlight(command).exit_code == 0);
    CHECK(file_contents(folder.at("second/latest/tokenizer.json")) == learned);
  }
}
