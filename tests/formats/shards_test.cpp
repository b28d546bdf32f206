#include "headlight/formats/shards/shards.h"
#include "kernels/threads/parallel.h"
#include "support/bytes/compressed.h"
#include "support/test.h"

namespace formats_shards_test {
// Texts of three kinds: JSON lines, some of them empty, a long stream, and a few lines.
class Texts {
 public:
  Texts() {
    std::string lines;
    std::string stream;
    for (int i = 0; i < 400; ++i) {
      const std::string text = i % 7 == 0 ? ""
                                          : "line " + std::string(static_cast<std::size_t>(i % 50),
                                                                  static_cast<char>('a' + i % 26));
      lines += "{\"text\": \"" + text + "\"}\n";
      stream += "word" + std::to_string(i) + (i % 9 == 0 ? "\n" : " ");
    }
    write_bytes(folder_ / "a.jsonl", lines);
    write_bytes(folder_ / "b.txt", stream);
    write_bytes(folder_ / "c.txt", "the end");
  }

  std::vector<TextFile> files() const {
    return find_text_files({(folder_ / "a.jsonl").string(), (folder_ / "b.txt").string(),
                            (folder_ / "c.txt").string()});
  }
  fs::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
};

ShardOptions options_of(Index shard_tokens) { return {.shard_tokens = shard_tokens}; }

// Returns the bytes of all files by name.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != ".lock") {
      result[name] = file_contents(entry.path());
    }
  }
  return result;
}

// Returns every document of the shards, without its end token.
std::vector<Ids> documents_of(const fs::path& folder) {
  std::vector<std::string> notes;
  std::vector<Ids> documents;
  for (const TextFile& file : find_text_files({folder.string()})) {
    const TokenDataset dataset =
        token_file_documents(file.path, ByteTokenizer(), TokenDtype::automatic, notes);
    for (const TokenSequence& sequence : dataset.sequences) {
      documents.push_back(sequence.tokens(1, sequence.size() - 2));
    }
  }
  return documents;
}

struct Killed {};

// Encodes the texts, stopping after every `shards_each` shards and starting again.
ShardResult encode_with_kills(const fs::path& folder, const Texts& texts, ShardOptions options,
                              int shards_each) {
  while (true) {
    int left = shards_each;
    options.on_shard = [&](const Shard&) {
      if (--left == 0) {
        throw Killed();
      }
    };
    try {
      return encode_shards(folder, texts.files(), ByteTokenizer(), options);
    } catch (const Killed&) {
      write_bytes(folder / "shard_000099.bin.tmp.999999999", "left by the one who was killed");
    }
  }
}

TEST_CASE("shards hold the documents of the texts and split only those longer than a shard") {
  const Texts texts;
  const TemporaryFolder folder;
  const ShardResult result =
      encode_shards(folder / "out", texts.files(), ByteTokenizer(), options_of(1000));
  std::vector<std::string> warnings;
  std::vector<Ids> expected;
  for (const TextFile& file : texts.files()) {
    for (Ids ids : token_ids(read_dataset(file, {}, ByteTokenizer(), warnings))) {
      if (ids.front() == ByteTokenizer().end_of_text()) {
        ids = Ids(ids.begin() + 1, ids.end() - 1);
      }
      for (; ids.size() > 999; ids.erase(ids.begin(), ids.begin() + 999)) {
        expected.push_back(Ids(ids.begin(), ids.begin() + 999));  // long documents are cut
      }
      expected.push_back(ids);
    }
  }
  CHECK((documents_of(folder / "out") == expected));
  CHECK(result.documents == static_cast<Index>(expected.size()));
  CHECK(result.found == 0);
  REQUIRE(result.shards.size() > 10);
  for (std::size_t i = 0; i + 1 < result.shards.size(); ++i) {
    CHECK(result.shards[i].tokens <= 1000);
  }
}

TEST_CASE("shards have the same bytes at any thread count", "[long]") {
  const Texts texts;
  const TemporaryFolder folder;
  const std::string text =
      joined(400000, [&](int i) { return "word" + std::to_string(i % 1000) + " "; });
  write_bytes(texts / "c.txt", text);  // several megabytes, for more than one thread
  const Index before = kernels::max_threads();
  encode_shards(folder / "1", texts.files(), ByteTokenizer(), options_of(300000));
  for (const Index threads : {1, 3}) {
    kernels::set_max_threads(threads);
    encode_shards(folder / std::to_string(10 + threads), texts.files(), ByteTokenizer(),
                  options_of(300000));
    CHECK((contents(folder / std::to_string(10 + threads)) == contents(folder / "1")));
  }
  kernels::set_max_threads(before);
}

TEST_CASE("an encoding that is repeatedly killed and resumed writes the same bytes", "[long]") {
  const Texts texts;
  const TemporaryFolder folder;
  struct Kills {
    Index shard_tokens;
    int shards_each;  // shards between two kills
  };
  for (const auto& [shard_tokens, shards_each] : {Kills{40, 16}, Kills{150, 3}, Kills{1000, 1}}) {
    const std::string name = std::to_string(shard_tokens);
    encode_shards(folder / name, texts.files(), ByteTokenizer(), options_of(shard_tokens));
    const ShardResult result = encode_with_kills(folder / (name + ".killed"), texts,
                                                 options_of(shard_tokens), shards_each);
    CHECK((contents(folder / (name + ".killed")) == contents(folder / name)));
    CHECK(result.found > 0);
  }
}

TEST_CASE("compressed texts give the shards of plain ones") {
  const Texts texts;
  const TemporaryFolder folder;
  const std::string lines = file_contents(texts / "a.jsonl");
  write_bytes(texts / "a.jsonl.gz", test::gzip(lines));
  write_bytes(texts / "a.jsonl.zst", test::zstandard(lines));
  const auto encode = [&](const std::string& name) {
    encode_shards(folder / name, find_text_files({(texts / name).string()}), ByteTokenizer(),
                  options_of(500));
    return documents_of(folder / name);
  };
  const std::vector<Ids> expected = encode("a.jsonl");
  CHECK((encode("a.jsonl.gz") == expected));
  CHECK((encode("a.jsonl.zst") == expected));
}

TEST_CASE("shards of other texts or settings or program versions are refused") {
  const Texts texts;
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  const auto encode = [&](const ShardOptions& options) {
    return encode_shards(out, texts.files(), ByteTokenizer(), options);
  };
  const ShardResult first = encode(options_of(1000));
  const ShardResult again = encode(options_of(1000));
  CHECK(again.found == std::ssize(first.shards));
  CHECK(again.tokens == first.tokens);
  CHECK(contains(error_of([&] { encode(options_of(999)); }),
                 "shards.json: the shards were begun with shard_tokens = 1000, now 999"));
  ShardOptions lines = options_of(1000);
  lines.format.split.mode = DocumentSplit::line;
  CHECK(contains(error_of([&] { encode(lines); }), "documents = \"none\", now \"line\""));
  CHECK(contains(error_of([&] { encode(options_of(1)); }), "shard_tokens: expected 2 to "));
  CHECK(contains(error_of([&] {
                   encode_shards(out, find_text_files({(texts / "b.txt").string()}),
                                 ByteTokenizer(), options_of(1000));
                 }),
                 "the shards were begun with 3 texts, now 1"));
  fs::resize_file(out / "shard_000000.bin", 10);
  CHECK(contains(error_of([&] { encode(options_of(1000)); }), "shard_000000.bin: expected "));
  write_bytes(texts / "b.txt", "another text");
  CHECK(contains(error_of([&] { encode(options_of(1000)); }), "b.txt: has changed since "));
  fs::create_directory(folder / "other");
  write_bytes(folder / "other" / "thesis.txt", "years of work");
  check_error(
      [&] { encode_shards(folder / "other", texts.files(), ByteTokenizer(), options_of(1000)); },
      {"contains thesis.txt and no shards; choose another folder"});
  write_bytes(out / "shards.json", "{\"version\": 2}");
  CHECK(contains(error_of([&] { encode(options_of(1000)); }), "shards.json: version: expected 1"));
}

TEST_CASE("shards are read only if they match their manifest") {
  const Texts texts;
  const TemporaryFolder folder;
  const ShardResult result =
      encode_shards(folder / "out", texts.files(), ByteTokenizer(), options_of(1000));
  const fs::path first = folder / "out" / "shard_000000.bin";
  CHECK(open_token_file(first, ByteTokenizer()).ids.size() == result.shards.front().tokens);
  BpeTrainer trainer({.vocab_size = 258});
  trainer.feed("aaaa aaaa aaaa");
  const BpeTokenizer other(trainer.finish());
  CHECK(contains(error_of([&] { open_token_file(first, other); }),
                 "shard_000000.bin: its ids were made with another tokenizer"));
  fs::resize_file(first, 1000);
  check_error([&] { open_token_file(first, ByteTokenizer()); }, {"shard_000000.bin: expected "});
  fs::remove(folder / "out" / "shard_000000.idx");
  CHECK(contains(error_of([&] { open_token_file(first, ByteTokenizer()); }),
                 "shard_000000.bin: has 500 tokens, "));
  fs::copy_file(first, folder / "out" / "more.bin");
  CHECK(contains(error_of([&] { open_token_file(folder / "out" / "more.bin", ByteTokenizer()); }),
                 "is not listed in "));
  ShardOptions options = options_of(1000);
  options.on_shard = [](const Shard&) { throw Killed(); };
  CHECK_THROWS_AS(encode_shards(folder / "half", texts.files(), ByteTokenizer(), options), Killed);
  CHECK(contains(
      error_of([&] { open_token_file(folder / "half" / "shard_000000.bin", ByteTokenizer()); }),
      "shards.json: the encoding is not finished"));
}
}  // namespace formats_shards_test
