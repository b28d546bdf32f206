#include "support/models/bert_directory.h"
#include "support/models/byte_vocabulary.h"
#include "support/rows.h"
#include "support/test.h"

namespace tokenizer_file_test {
const std::string kMixed = "Hi! \xEB\x82\x98\xEB\x8A\x94\n\xF0\x9F\xA4\x97 \"\\";

json char_file() { return json::parse(to_tokenizer_json(build_char_tokenizer("ab"))); }
json byte_file() { return json::parse(to_tokenizer_json(ByteTokenizer())); }

// Returns the error message for a file, "no error" if it is accepted.
std::string text_refusal(const std::string& text) {
  return error_of([&] { parse_tokenizer_json(text, "t.json"); });
}
std::string refusal(const json& file) { return text_refusal(file.dump()); }

json data_file(const std::string& name) {
  return json::parse(file_contents(HEADLIGHT_SOURCE_DIR "/tests/tokenizers/data/" + name));
}

// Returns the tokenizer.json of a group of tokenizer_files.txt.
json base_file(const std::string& group) {
  if (group == "char" || group == "byte") {
    ByteTokenizer bytes;
    bytes.set_prepends_begin_token(true);
    return group == "char" ? char_file() : json::parse(to_tokenizer_json(bytes));
  }
  if (group == "bpe" || group == "BERT's WordPiece") {
    return group == "bpe" ? data_file("bpe_tokenizer.json")
                          : json::parse(to_tokenizer_json(*word_piece()));
  }
  const json kinds = data_file("pipeline_tokenizers.json");
  return *std::ranges::find(kinds, json(group), [](const json& one) {
            return one["kind"];
          })->find("tokenizer");
}

TEST_CASE("tokenizer files whose ids Headlight would not reproduce are refused by key") {
  std::map<std::string, json> bases;
  check_rows("formats/tokenizer_files.txt", [&](const Row& row) {
    const json& base = bases.try_emplace(row.group, base_file(row.group)).first->second;
    const std::string file = changed_json(base, row.given).dump();
    return error_behind("t.json: ", [&] { parse_tokenizer_json(file, "t.json"); });
  });
}

TEST_CASE("special tokens with ids above those of the characters are read") {
  const CharTokenizer tokenizer({U'b', U'a'}, SpecialTokens::last);
  const auto read = parse_tokenizer_json(to_tokenizer_json(tokenizer), "t.json");
  CHECK(read->encode("abx") == tokenizer.encode("abx"));
  CHECK(read->end_of_text() == 2);
  CHECK(to_tokenizer_json(*read) == to_tokenizer_json(tokenizer));
}

TEST_CASE("a character tokenizer file has single characters, no merges and a fusing decoder") {
  const json file = char_file();
  CHECK(file["model"]["type"] == "BPE");
  CHECK(file["model"]["vocab"] == json({{"<|endoftext|>", 0}, {"<|unk|>", 1}, {"a", 2}, {"b", 3}}));
  CHECK(file["model"]["merges"] == json::array());
  CHECK(file["model"]["unk_token"] == "<|unk|>");
  CHECK(file["model"]["fuse_unk"] == false);
  CHECK(file["pre_tokenizer"].is_null());
  CHECK(file["decoder"] == json({{"type", "Fuse"}}));
  CHECK(file["post_processor"].is_null());
  REQUIRE(file["added_tokens"].size() == 2);
  CHECK(file["added_tokens"][1] == json({{"id", 1},
                                         {"content", "<|unk|>"},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}}));
}

TEST_CASE("a byte tokenizer file writes bytes as the printable characters of GPT-2") {
  const json file = byte_file();
  const json& vocab = file["model"]["vocab"];
  CHECK(vocab.size() == 257);
  CHECK(vocab["!"] == 33);
  CHECK(vocab["~"] == 126);
  CHECK(vocab["\xC4\x80"] == 0);    // U+0100
  CHECK(vocab["\xC4\x8A"] == 10);   // U+010A
  CHECK(vocab["\xC4\xA0"] == 32);   // U+0120
  CHECK(vocab["\xC2\xA1"] == 161);  // U+00A1
  CHECK(vocab["\xC5\x83"] == 173);  // U+0143, the last of the 68
  CHECK(vocab["\xC3\xBF"] == 255);  // U+00FF
  CHECK(vocab["<|endoftext|>"] == 256);
  CHECK(file["pre_tokenizer"]["type"] == "ByteLevel");
  CHECK(file["pre_tokenizer"]["add_prefix_space"] == false);
  CHECK(file["pre_tokenizer"]["use_regex"] == false);
  CHECK(file["decoder"]["type"] == "ByteLevel");
}

TEST_CASE("a tokenizer read back from its file gives the same ids and text") {
  CharTokenizer characters = build_char_tokenizer(kMixed + std::string(1, '\0'));
  characters.set_prepends_begin_token(true);
  const ByteTokenizer bytes;
  const std::vector<const Tokenizer*> both = {&characters, &bytes};
  for (const Tokenizer* tokenizer : both) {
    const std::string file = to_tokenizer_json(*tokenizer);
    const auto back = parse_tokenizer_json(file, "t.json");
    CHECK(back->kind() == tokenizer->kind());
    CHECK(back->vocab_size() == tokenizer->vocab_size());
    CHECK(back->encode_prompt(kMixed + "Z") == tokenizer->encode_prompt(kMixed + "Z"));
    CHECK(back->decode(back->encode(kMixed)) == kMixed);
    CHECK(to_tokenizer_json(*back) == file);
  }
}

TEST_CASE("prepending the end-of-text token is written as a template in the file") {
  ByteTokenizer tokenizer;
  tokenizer.set_prepends_begin_token(true);
  const json file = json::parse(to_tokenizer_json(tokenizer));
  const json& step = file["post_processor"];
  CHECK(step["type"] == "TemplateProcessing");
  CHECK(
      step["single"].dump() ==
      R"([{"SpecialToken":{"id":"<|endoftext|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}])");
  CHECK(step["special_tokens"]["<|endoftext|>"]["ids"] == json::array({256}));
  CHECK(parse_tokenizer_json(file.dump(), "t.json")->prepends_begin_token());
  CHECK_FALSE(parse_tokenizer_json(byte_file().dump(), "t.json")->prepends_begin_token());
}

TEST_CASE("GPT-2 tokenizer files begin and end texts with the named tokens") {
  BpeTokenizer tokenizer(byte_vocabulary({"<|endoftext|>", "<|im_start|>", "<|im_end|>"}));
  tokenizer.set_begin_of_text(257);
  tokenizer.set_prepends_begin_token(true);
  const std::string file = to_tokenizer_json(tokenizer);
  const auto chat = parse_tokenizer_json(file, "t.json", "<|im_end|>");
  CHECK(chat->end_of_text() == 258);
  CHECK(chat->begin_of_text() == 257);
  CHECK(chat->encode_prompt("a") == Ids{257, 'a'});
  CHECK(to_tokenizer_json(*chat) == file);
  CHECK(parse_tokenizer_json(file, "t.json")->end_of_text() == 256);
  CHECK(parse_tokenizer_json(file, "t.json", "<|none|>")->end_of_text() == 256);
}

TEST_CASE("a template of the text alone prepends nothing") {
  json file = byte_file();
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", json::parse(R"([{"Sequence":{"id":"A","type_id":0}}])")},
                            {"special_tokens", json::object()}};
  const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
  CHECK_FALSE(tokenizer->prepends_begin_token());
  CHECK(tokenizer->vocab_size() == 257);
}

TEST_CASE("special tokens may stand in added_tokens alone") {
  json file = byte_file();
  file["model"]["vocab"].erase("<|endoftext|>");
  CHECK(parse_tokenizer_json(file.dump(), "t.json")->end_of_text() == 256);
}

TEST_CASE("every file that ends too early is refused") {
  const std::string whole = char_file().dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    REQUIRE(text_refusal(whole.substr(0, size)).starts_with("t.json: "));
  }
  CHECK(text_refusal(whole) == "no error");
  CHECK(text_refusal("[]") == "t.json: expected an object, got array");
}

TEST_CASE("a long token with line breaks is refused with a short line") {
  json file = char_file();
  file["model"]["vocab"][std::string(1000000, '\n')] = 4;
  const std::string message = refusal(file);
  CHECK(message.size() < 400);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("a byte vocabulary may have another order or fewer bytes") {
  json file = byte_file();
  file["model"]["vocab"]["A"] = 66;
  file["model"]["vocab"]["B"] = 65;
  CHECK(parse_tokenizer_json(file.dump(), "t.json")->encode("AB") == Ids{66, 65});
  file = byte_file();
  file["model"]["vocab"].erase("<|endoftext|>");
  file["model"]["vocab"].erase("\xC3\xBF");
  file["added_tokens"][0]["id"] = 255;
  const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
  CHECK(tokenizer->encode_bytes("A\xFF") == Ids{'A'});
}

TEST_CASE("a template of bytes may have an end") {
  ByteTokenizer tokenizer;
  tokenizer.set_prepends_begin_token(true);
  const json file = json::parse(to_tokenizer_json(tokenizer));
  json single = file["post_processor"]["single"];
  single.push_back(single[0]);
  json around = file;
  around["post_processor"]["single"] = single;
  CHECK(parse_tokenizer_json(around.dump(), "t.json")->encode_prompt("A") == Ids{256, 'A', 256});
}

// A BPE file has many tokens and merges: every fiftieth is changed.
TEST_CASE("any value of a wrong type anywhere is refused or has no meaning, but never crashes") {
  int refused = 0;
  for (const char* base : {"char", "byte", "bpe"}) {
    const json file = base_file(base);
    const json leaves = file.flatten();
    int number = 0;
    for (const auto& leaf : leaves.items()) {
      const bool is_one_of_many =
          base == std::string("bpe") &&
          (leaf.key().starts_with("/model/vocab/") || leaf.key().starts_with("/model/merges/"));
      if (is_one_of_many && ++number % 50 != 0) {
        continue;
      }
      for (json::json_pointer place(leaf.key()); !place.empty(); place.pop_back()) {
        for (const json& value : {json(), json(-7), json("x"), json::array(), json::object()}) {
          json other = file;
          other[place] = value;
          const std::string message = refusal(other);
          INFO(place.to_string() << " = " << value << ": " << message);
          REQUIRE((message == "no error" || message.starts_with("t.json: ")));
          refused += message == "no error" ? 0 : 1;
        }
      }
    }
  }
  CHECK(refused > 1200);
}
}  // namespace tokenizer_file_test
