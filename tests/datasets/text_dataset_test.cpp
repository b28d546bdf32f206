#include "support/models/marked_bytes.h"
#include "support/test.h"

namespace text_dataset_test {
constexpr std::int32_t kEnd = 256;  // of ByteTokenizer

TextFile file_of(const std::string& name, const std::string& bytes) {
  return {.path = name, .held = std::make_shared<const std::string>(bytes)};
}

TokenDataset read(const TextFile& file, const TextFormat& format = {}) {
  std::vector<std::string> warnings;
  return read_dataset(file, format, ByteTokenizer(), warnings);
}

Ids ids_of(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<std::string> warnings_of(const std::string& name, const std::string& text,
                                     DocumentSplit mode) {
  std::vector<std::string> warnings;
  read_dataset(file_of(name, text), {.split = {.mode = mode}}, ByteTokenizer(), warnings);
  return warnings;
}

TEST_CASE("a text encoded in chunks gives the same ids as the whole text") {
  REQUIRE(ByteTokenizer().end_of_text() == kEnd);
  const TokenDataset stream = read(file_of("a.txt", "ab\r\nc"));
  CHECK(stream.sequences == std::vector<TokenSequence>{ids_of("ab\nc")});
  CHECK_FALSE(stream.documents);
  std::string text;
  while (text.size() < std::size_t{9} << 20) {
    text += "a word ";
  }
  const TokenDataset parts = read(file_of("a.txt", text));
  REQUIRE(parts.sequences.size() == 1);
  CHECK((parts.sequences[0] == ids_of(text)));
  CHECK(parts.token_count == static_cast<Index>(text.size()));
}

TEST_CASE("documents and JSON Lines are separated by end-of-text tokens") {
  const TokenDataset lines = read(file_of("a.txt", "a\n\nb\n"), {.split = {DocumentSplit::line}});
  CHECK(lines.documents);
  CHECK(lines.sequences == std::vector<TokenSequence>{{kEnd, 'a', kEnd}, {kEnd, 'b', kEnd}});
  const TokenDataset rows = read(file_of("a.jsonl", "\"a\"\n\"\"\n{\"text\": \"b\"}\n"));
  CHECK(rows.documents);
  CHECK(rows.sequences == lines.sequences);
}

TEST_CASE("a document that ends with the name of the end token has one end") {
  ByteTokenizer tokenizer;
  for (const bool reads_names : {false, true}) {
    tokenizer.set_reads_special(reads_names);
    std::vector<std::string> warnings;
    const TokenDataset data =
        read_dataset(file_of("a.jsonl", "\"a<|endoftext|>\"\n\"b\"\n"), {}, tokenizer, warnings);
    CHECK(data.sequences == std::vector<TokenSequence>{{kEnd, 'a', kEnd}, {kEnd, 'b', kEnd}});
    CHECK(warnings.empty());
  }
}

TEST_CASE("documents begin with the begin token if prompts of the model do") {
  constexpr std::int32_t kBegin = 257;
  MarkedBytes tokenizer({"<s>"});  // with a separate begin token, as in Llama and Gemma
  tokenizer.set_begin_of_text(kBegin);
  const auto ids = [&](BeginToken begin, DocumentSplit mode) {
    std::vector<std::string> warnings;
    const TextFormat format{.split = {.mode = mode}, .begin = begin};
    return token_ids(read_dataset(file_of("a.txt", "x\ny\n"), format, tokenizer, warnings));
  };
  const std::vector<Ids> with{{kBegin, 'x', kEnd}, {kBegin, 'y', kEnd}};
  const std::vector<Ids> without{{'x', kEnd}, {'y', kEnd}};
  const std::vector<Ids> stream{{kBegin, 'x', '\n', 'y', '\n'}};
  CHECK(ids(BeginToken::automatic, DocumentSplit::line) == without);
  CHECK(ids(BeginToken::on, DocumentSplit::line) == with);
  CHECK(ids(BeginToken::on, DocumentSplit::none) == stream);
  tokenizer.set_prepends_begin_token(true);
  CHECK(ids(BeginToken::automatic, DocumentSplit::line) == with);
  CHECK(ids(BeginToken::off, DocumentSplit::line) == without);
  CHECK(ids(BeginToken::automatic, DocumentSplit::none) == stream);
}

TEST_CASE("a separator spelled out in the text causes a warning unless the text is split there") {
  const std::string text = "one<|endoftext|>two";
  const std::vector<std::string> advice{
      "a.txt: '<|endoftext|>' in the text is read as plain text; --documents token splits the text "
      "there"};
  CHECK(warnings_of("a.txt", text, DocumentSplit::none) == advice);
  CHECK(warnings_of("a.txt", text, DocumentSplit::line) == advice);
  CHECK(warnings_of("a.txt", text, DocumentSplit::token).empty());
  CHECK(warnings_of("a.txt", "one<|endof|>two", DocumentSplit::none).empty());
  CHECK(warnings_of("a.jsonl", "\"<|endoftext|>a\"", DocumentSplit::none) ==
        std::vector<std::string>{"a.jsonl: names of special tokens are read as plain text: "
                                 "'<|endoftext|>' (1); --special_tokens on reads them as tokens"});
  // The separator crosses the border between two reads.
  const std::string before((std::size_t{4} << 20) - 5, 'x');
  CHECK(warnings_of("a.txt", before + text, DocumentSplit::none) == advice);
}

TEST_CASE("names of special tokens in a text are read where the tokenizer reads them") {
  ByteTokenizer tokenizer;
  tokenizer.set_reads_special(true);
  std::vector<std::string> warnings;
  const auto read_special = [&](const TextFile& file) {
    return token_ids(read_dataset(file, {}, tokenizer, warnings));
  };
  const std::vector<Ids> expected{{'a', kEnd, 'b'}};
  CHECK(read_special(file_of("a.txt", "a<|endoftext|>b")) == expected);
  // Names stay whole across the border between two reads.
  std::string text;
  while (text.size() < (std::size_t{4} << 20) - 5) {
    text += "word\n";
  }
  const std::vector<Ids> long_ids = read_special(file_of("a.txt", text + "<|endoftext|>x"));
  REQUIRE(long_ids.size() == 1);
  CHECK(long_ids[0].size() == text.size() + 2);
  CHECK(long_ids[0][text.size()] == kEnd);
  CHECK(warnings.empty());
}

TEST_CASE("tables that are read as plain text get one line of warning") {
  const auto check = [](const std::string& name, const std::string& text, const std::string& look) {
    const std::string line =
        name + ": looks like " + look +
        ", but is read as plain text, markup included; to read its texts alone, " +
        (is_table_name(name) ? "name their column with --jsonl COLUMN"
                             : "convert them to JSON lines and name their key with --jsonl KEY");
    for (const DocumentSplit mode : {DocumentSplit::none, DocumentSplit::line}) {
      const std::vector<std::string> expected{line};
      CHECK(warnings_of(name, text, mode) ==
            (look.empty() ? std::vector<std::string>() : expected));
    }
  };
  check("a.json", "[\n  {\"story\": \"b\"}\n]\n", "a JSON array");
  check("a.json", "[\n  {\"text\": \"b\"}\n]\n", "");
  check("a.txt", "\xEF\xBB\xBF[\"one\", \"two\"]", "a JSON array");
  check("a.json", "[1, 2]", "a JSON array");
  check("a.json", "{\"story\": \"b\"}\n", "JSON");
  check("-x", "{\"text\": \"b\"}\n", "JSON");
  check("a.CSV", "one two", "CSV");
  check("a.csv.gz.csv", "one two", "CSV");
  check("a.tsv", "one\ttwo", "a table with tabs");
  check("a.txt", "id,\"text\"\r\n1,\"a, b\"\r\n", "CSV");
  for (const char* text : {"[Chapter 1]\n", "[[link]]", "{x}", "one, two\nthree, four\n", "one,two",
                           "one,two\nthree\n", "a\nb,c\n"}) {
    check("a.txt", text, "");
  }
  check("a.jsonl", "{\"text\": \"b\"}\n", "");
}

TEST_CASE("Hangul in decomposed form gets one line of warning") {
  const std::string decomposed = "\u1112\u1161\u11ab";
  const auto lines = [](const std::string& text) {
    return warnings_of("a.txt", text, DocumentSplit::none);
  };
  CHECK(lines("a " + decomposed) ==
        std::vector<std::string>{"a.txt: contains decomposed Hangul (NFD), which most models have "
                                 "not learned; convert it with uconv -x nfc"});
  CHECK(lines("\ud55c\u3131\u3161\u1ea5").empty());  // a syllable, single letters
  CHECK(warnings_of("a.jsonl", "\"" + decomposed + "\"", DocumentSplit::none).size() == 1);
}

TEST_CASE("a token file without an index is one stream and is not split into documents") {
  const TemporaryFolder folder;
  write_bytes(folder / "a.bin", std::string("a\0b\0", 4));
  const TextFile file{.path = (folder / "a.bin").string()};
  CHECK(read(file).sequences == std::vector<TokenSequence>{{'a', 'b'}});
  CHECK(error_of([&] { read(file, {.split = {DocumentSplit::line}}); }) ==
        "documents: " + file.path +
            " contains one stream of token ids; set documents = none, or add an index of its "
            "documents (.idx)");
}

TEST_CASE("files without tokens are skipped unless there are no others") {
  const TextFile empty = file_of("empty.txt", "");
  std::vector<std::string> warnings;
  CHECK(read_datasets({empty, file_of("a.txt", "a")}, {}, ByteTokenizer(), warnings).size() == 1);
  const auto refusal = [&](const std::vector<TextFile>& files, DocumentSplit mode) {
    return error_of(
        [&] { read_datasets(files, {.split = {.mode = mode}}, ByteTokenizer(), warnings); });
  };
  CHECK(refusal({empty}, DocumentSplit::none) == "empty.txt: is empty");
  CHECK(refusal({empty, empty, empty}, DocumentSplit::none) == "empty.txt and 2 more: are empty");
  CHECK(refusal({file_of("a.txt", "\n\n")}, DocumentSplit::line) ==
        "a.txt: documents: expected at least one document in the text, got none");
}

TEST_CASE("characters are learned from all files") {
  const CharTokenizer tokenizer =
      learn_characters({file_of("a.txt", "ba"), file_of("b.jsonl", "\"ca\"")}, {});
  CHECK(tokenizer.vocab_size() == 5);
  CHECK(tokenizer.encode("abc") == Ids{2, 3, 4});
  CHECK(error_of([] { learn_characters({file_of("a.txt", "")}, {}); }) == "a.txt: is empty");
}
}  // namespace text_dataset_test
