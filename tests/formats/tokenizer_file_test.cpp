#include "support/test.h"

namespace tokenizer_file_test {
using nlohmann::json;

const std::string kMixed = "Hi! \xEB\x82\x98\xEB\x8A\x94\n\xF0\x9F\xA4\x97 \"\\";

json char_file() { return json::parse(to_tokenizer_json(build_char_tokenizer("ab"))); }
json byte_file() { return json::parse(to_tokenizer_json(ByteTokenizer())); }

// Returns the error message for a file, "no error" if it is accepted.
std::string text_refusal(const std::string& text) {
  return error_of([&] { parse_tokenizer_json(text, "t.json"); });
}
std::string refusal(const json& file) { return text_refusal(file.dump()); }

// Returns the message for the file with one value replaced.
std::string refusal(json file, const char* place, const json& value) {
  file[json::json_pointer(place)] = value;
  return refusal(file);
}

TEST_CASE("special tokens with ids above those of the characters are read") {
  const CharTokenizer tokenizer({U'b', U'a'}, SpecialTokens::last);
  const auto read = parse_tokenizer_json(to_tokenizer_json(tokenizer), "t.json");
  CHECK(read->encode("abx") == tokenizer.encode("abx"));
  CHECK(read->end_of_text() == 2);
  CHECK(to_tokenizer_json(*read) == to_tokenizer_json(tokenizer));
}

TEST_CASE("a tokenizer file without a vocabulary is refused") {
  CHECK(refusal(char_file(), "/model/vocab", json::object()) ==
        "t.json: model.vocab: is empty, expected the tokens with their ids");
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
  BpeVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.resize(259);
  vocabulary.special = {{"<|endoftext|>", 256}, {"<|im_start|>", 257}, {"<|im_end|>", 258}};
  BpeTokenizer tokenizer(vocabulary);
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

TEST_CASE("merges whose token is not in the vocabulary are refused") {
  for (const json& file : {char_file(), byte_file()}) {
    CHECK(refusal(file, "/model/merges", json::array({"a b"})) ==
          "t.json: model.merges: merge 0: \"ab\" is not in the vocabulary");
  }
}

TEST_CASE("text that is not JSON is refused in one line") {
  CHECK(text_refusal("") == "t.json: invalid JSON at byte 0: unexpected end of input");
  CHECK(text_refusal(R"({"a":1,})") == "t.json: invalid JSON at byte 7: unexpected '}'");
  CHECK(text_refusal("{\"a\":\"\n\"}").starts_with("t.json: invalid JSON at byte 6: "));
  CHECK(text_refusal("{\"a\xFF").starts_with("t.json: invalid JSON at byte 3: "));
  CHECK(text_refusal("[]") == "t.json: expected an object, got array");
  CHECK(text_refusal("{}") == "t.json: key \"model\" is missing");
  CHECK(text_refusal("{\"a\":\"\\ud800\"}").starts_with("t.json: invalid JSON at byte "));
}

TEST_CASE("every file that ends too early is refused") {
  const std::string whole = char_file().dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    REQUIRE(text_refusal(whole.substr(0, size)).starts_with("t.json: "));
  }
  CHECK(text_refusal(whole) == "no error");
}

TEST_CASE("deep nesting is refused before it is read") {
  const std::string deep(1000000, '[');
  CHECK(text_refusal(deep) == "t.json: JSON is nested deeper than 64");
  std::string objects;
  for (int i = 0; i < 100; ++i) {
    objects += "{\"a\":";
  }
  CHECK(text_refusal(objects) == "t.json: JSON is nested deeper than 64");
}

TEST_CASE("a key that comes twice is refused") {
  CHECK(text_refusal(R"({"model":{"vocab":{"a":2,"a":3}}})") ==
        "t.json: duplicate key 'a' in 'model'");
}

TEST_CASE("ids must be whole numbers from 0 to V - 1, each once") {
  const json file = char_file();
  CHECK(refusal(file, "/model/vocab/b", 2) ==
        "t.json: model.vocab: \"b\" and \"a\" have the same id 2");
  CHECK(refusal(file, "/model/vocab/b", 4) ==
        "t.json: model.vocab: id 4 of \"b\" is out of range, expected 0 ... 3 without gaps");
  CHECK(refusal(file, "/model/vocab/b", 18446744073709551615ULL) ==
        "t.json: model.vocab: id 18446744073709551615 of \"b\" is out of range, expected 0 ... 3 "
        "without gaps");
  CHECK(refusal(file, "/model/vocab/b", -1) ==
        "t.json: model.vocab: id of \"b\" must be a whole number from 0, got \"-1\"");
  for (const json& value : {json(3.0), json("3"), json(), json::array({3}), json(true)}) {
    CHECK(refusal(file, "/model/vocab/b", value)
              .starts_with("t.json: model.vocab: id of \"b\" must be a whole number"));
  }
  CHECK(refusal(file, "/added_tokens/1/id", 2) ==
        "t.json: added_tokens gives \"<|unk|>\" the id 2, but model.vocab gives it 1");
}

TEST_CASE("a character vocabulary refuses tokens of zero or several characters") {
  CHECK(
      refusal(char_file(), "/model/vocab/bc", 4) ==
      "t.json: model.vocab: \"bc\" has more than one character, expected one character per token");
  CHECK(refusal(char_file(), "/model/vocab/", 4) == "t.json: model.vocab: a token is empty");
  json file = char_file();
  file["model"]["vocab"][std::string(1000000, '\n')] = 4;
  const std::string message = refusal(file);
  CHECK(message.size() < 400);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("the special tokens of a character vocabulary have ids 0 and 1") {
  json file = char_file();
  file["model"]["vocab"]["<|unk|>"] = 2;
  file["model"]["vocab"]["a"] = 1;
  file["added_tokens"][1]["id"] = 2;
  CHECK(refusal(file) == "t.json: model.vocab: id 1 must be \"<|unk|>\", got \"a\"");
  CHECK(refusal(char_file(), "/added_tokens/1/special", false) ==
        "t.json: added_tokens: \"<|unk|>\" is not special, expected special tokens only");
  CHECK(refusal(char_file(), "/added_tokens/1/content", "c") ==
        "t.json: model.vocab: \"c\" and \"<|unk|>\" have the same id 1");
  CHECK(refusal(char_file(), "/added_tokens/1", {{"id", 3}, {"content", "b"}, {"special", true}}) ==
        "t.json: added_tokens: \"<|unk|>\" is missing");
  CHECK(refusal(char_file(), "/added_tokens", json::array()) ==
        "t.json: added_tokens: \"<|endoftext|>\" is missing");
  CHECK(refusal(char_file(), "/added_tokens/2", {{"id", 3}, {"content", "b"}, {"special", true}}) ==
        "t.json: added_tokens: special token \"b\" is not supported");
}

TEST_CASE("a byte vocabulary may have another order, more tokens or fewer bytes") {
  json file = byte_file();
  file["model"]["vocab"]["A"] = 66;
  file["model"]["vocab"]["B"] = 65;
  CHECK(parse_tokenizer_json(file.dump(), "t.json")->encode("AB") == Ids{66, 65});
  CHECK(refusal(byte_file(), "/model/vocab/AB", 257) == "no error");
  file = byte_file();
  file["model"]["vocab"].erase("<|endoftext|>");
  file["added_tokens"][0]["content"] = "<|stop|>";
  CHECK(refusal(file) == "no error");
  file["added_tokens"][0]["content"] = "<|endoftext|>";
  file["model"]["vocab"].erase("\xC3\xBF");
  file["added_tokens"][0]["id"] = 255;
  const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
  CHECK(tokenizer->encode_bytes("A\xFF") == Ids{'A'});
}

TEST_CASE("steps whose ids Headlight would not reproduce are refused, naming the key") {
  const json characters = char_file();
  const json bytes = byte_file();
  CHECK(refusal(characters, "/model/type", "Unigram") == "t.json: model.vocab: expected an array");
  CHECK(refusal(characters, "/normalizer", {{"type", "Nmt"}}) ==
        "t.json: normalizer: type \"Nmt\" is not supported");
  CHECK(refusal(characters, "/model/fuse_unk", true) == "t.json: model.fuse_unk: expected false");
  CHECK(refusal(characters, "/model/unk_token", "a") ==
        "t.json: model.unk_token: expected \"<|unk|>\"");
  CHECK(refusal(characters, "/model/continuing_subword_prefix", "##") ==
        "t.json: model.continuing_subword_prefix: prefixes and suffixes of tokens are not "
        "supported");
  CHECK(refusal(characters, "/decoder", {{"type", "WordPiece"}}) ==
        "t.json: decoder: expected type \"Fuse\", got \"WordPiece\"");
  CHECK(refusal(bytes, "/decoder", {{"type", "Fuse"}}) ==
        "t.json: decoder: expected type \"ByteLevel\", got \"Fuse\"");
  CHECK(refusal(bytes, "/pre_tokenizer", {{"type", "UnicodeScripts"}}) ==
        "t.json: pre_tokenizer: type \"UnicodeScripts\" is not supported");
}

TEST_CASE("a template of bytes may have an end, but no other ids than its tokens") {
  ByteTokenizer tokenizer;
  tokenizer.set_prepends_begin_token(true);
  const json file = json::parse(to_tokenizer_json(tokenizer));
  json single = file["post_processor"]["single"];
  single.push_back(single[0]);
  json around = file;
  around["post_processor"]["single"] = single;
  CHECK(parse_tokenizer_json(around.dump(), "t.json")->encode_prompt("A") == Ids{256, 'A', 256});
  CHECK(refusal(file, "/post_processor/special_tokens/<|endoftext|>/ids", {65}) ==
        "t.json: post_processor.special_tokens: expected ids [256] for <|endoftext|>");
  CHECK(refusal(file, "/post_processor/type", 7) ==
        "t.json: post_processor: \"type\" must be a string, got number");
  CHECK(refusal(file, "/post_processor", "x") ==
        "t.json: post_processor: expected an object, got string");
  CHECK(refusal(file, "/post_processor", {{"type", "ByteLevel"}}) == "no error");
}

TEST_CASE("any value of a wrong type anywhere is refused or has no meaning, but never crashes") {
  ByteTokenizer bytes;
  bytes.set_prepends_begin_token(true);
  int refused = 0;
  for (const json& file : {char_file(), json::parse(to_tokenizer_json(bytes))}) {
    const json leaves = file.flatten();
    for (const auto& leaf : leaves.items()) {
      for (json::json_pointer place(leaf.key()); !place.empty(); place.pop_back()) {
        for (const json& value : {json(), json(-7), json("x"), json::array(), json::object()}) {
          const std::string message = refusal(file, place.to_string().c_str(), value);
          INFO(place.to_string() << " = " << value << ": " << message);
          REQUIRE((message == "no error" || message.starts_with("t.json: ")));
          refused += message == "no error" ? 0 : 1;
        }
      }
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("a file without one of its keys is refused, naming the key") {
  for (const char* key : {"model", "added_tokens", "decoder"}) {
    json file = char_file();
    file.erase(key);
    CHECK(refusal(file) == "t.json: key \"" + std::string(key) + "\" is missing");
  }
  for (const char* key : {"vocab", "merges", "unk_token"}) {
    json file = char_file();
    file["model"].erase(key);
    CHECK(refusal(file) == "t.json: model: key \"" + std::string(key) + "\" is missing");
  }
  json file = char_file();
  file["model"].erase("type");
  CHECK(refusal(file) == "no error");  // older files have no type
  file["model"].erase("merges");
  CHECK(refusal(file) == "t.json: model: key \"type\" is missing");
  for (const char* key : {"id", "content", "special"}) {
    file = char_file();
    file["added_tokens"][0].erase(key);
    CHECK(refusal(file) == "t.json: added_tokens: key \"" + std::string(key) + "\" is missing");
  }
}
}  // namespace tokenizer_file_test
