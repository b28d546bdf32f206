#include "datasets/shards/document_index.h"
#include "support/bytes/gguf_bytes.h"
#include "support/test.h"

namespace document_index_test {
constexpr std::int32_t kEnd = 256;

// A token file with an index of its documents.
class Shard {
 public:
  explicit Shard(TokenDtype dtype = TokenDtype::uint16) : dtype_(dtype) {}

  void write(const std::vector<Ids>& documents) const {
    std::string bytes;
    Ids lengths;
    for (const Ids& ids : documents) {
      bytes += token_file_bytes(ids, dtype_);
      lengths.push_back(static_cast<std::int32_t>(ids.size()));
    }
    write_bytes(ids(), bytes);
    write_bytes(index(), document_index_bytes(lengths, dtype_));
  }
  TokenDataset read(TokenDtype dtype = TokenDtype::automatic) const {
    std::vector<std::string> notes;
    TokenDataset dataset = token_file_documents(ids(), ByteTokenizer(), dtype, notes);
    CHECK(notes.empty());
    return dataset;
  }
  // Returns the error of a file whose index has `bytes` at `offset`.
  std::string error_with(std::size_t offset, const std::string& bytes) const {
    write({{1, kEnd}, {2, 3, kEnd}});
    std::string changed = file_contents(index());
    changed.replace(offset, bytes.size(), bytes);
    write_bytes(index(), changed);
    return error_of([&] { read(); });
  }

  fs::path ids() const { return folder_ / "a.bin"; }
  fs::path index() const { return folder_ / "a.idx"; }

 private:
  TokenDtype dtype_;
  TemporaryFolder folder_;
};

std::string number(Index value, std::size_t bytes) { return gguf_number(value).substr(0, bytes); }

TEST_CASE("an index of documents has the bytes that Megatron-LM writes") {
  const std::string header = std::string("MMIDIDX\0\0", 9) + number(1, 8);
  const std::string rest = number(2, 8) + number(3, 8) + number(2, 4) + number(5, 4);
  CHECK(document_index_bytes(Ids{2, 5}, TokenDtype::uint16) ==
        header + "\x08" + rest + number(0, 8) + number(4, 8) + number(0, 8) + number(1, 8) +
            number(2, 8));
  CHECK(document_index_bytes(Ids{2, 5}, TokenDtype::uint32) ==
        header + "\x04" + rest + number(0, 8) + number(8, 8) + number(0, 8) + number(1, 8) +
            number(2, 8));
  CHECK(document_index_path("a/b.bin") == "a/b.idx");
}

TEST_CASE(
    "documents of a token file lie between end-of-text tokens wherever the file stores them") {
  const TokenSequences expected{{kEnd, 1, 2, kEnd}, {kEnd, 3, kEnd}, {kEnd, 4, 5, 6, kEnd}};
  for (const TokenDtype dtype : {TokenDtype::uint16, TokenDtype::uint32}) {
    const Shard shard(dtype);
    for (const auto& documents :
         {std::vector<Ids>{{1, 2, kEnd}, {3, kEnd}, {4, 5, 6, kEnd}},
          std::vector<Ids>{{kEnd, 1, 2}, {kEnd, 3}, {kEnd, 4, 5, 6}},
          std::vector<Ids>{{kEnd, 1, 2, kEnd}, {kEnd, 3, kEnd}, {kEnd, 4, 5, 6, kEnd}},
          std::vector<Ids>{{1, 2}, {3}, {4, 5, 6}}}) {
      shard.write(documents);
      const TokenDataset dataset = shard.read();
      CHECK(dataset.sequences == expected);
      CHECK(dataset.documents);
      CHECK(dataset.end_of_text == kEnd);
      CHECK(dataset.token_count == 12);
      CHECK(bytes_in_memory(dataset) == 0);
      for (Index begin = 0; begin < 5; ++begin) {
        for (Index count = 0; begin + count <= 5; ++count) {
          REQUIRE(dataset.sequences[2].tokens(begin, count) ==
                  TokenSequence{kEnd, 4, 5, 6, kEnd}.tokens(begin, count));
        }
      }
    }
  }
}

TEST_CASE("documents that end with another token than the first are refused") {
  const Shard shard;
  shard.write({{1, kEnd}, {2, 3}, {4, kEnd}});
  const TokenDataset dataset = shard.read();
  CHECK(contains(
      error_of([&] { dataset.sequences[1].tokens(0, 3); }),
      "a.bin: the document at token 2 ends with token 3, other documents in the file with 256"));
}

TEST_CASE("an index of more documents than one read buffer holds is read") {
  const Shard shard;
  std::vector<Ids> documents;
  for (std::int32_t d = 0; d < 40000; ++d) {
    documents.push_back(Ids(static_cast<std::size_t>(1 + d % 3), d % 256));
    documents.back().push_back(kEnd);
  }
  shard.write(documents);
  const TokenDataset dataset = shard.read();
  REQUIRE(dataset.sequences.size() == 40000);
  for (const std::size_t d : {0U, 16383U, 16384U, 39999U}) {
    Ids expected = documents[d];
    expected.insert(expected.begin(), kEnd);
    CHECK(dataset.sequences[d] == TokenSequence(expected));
  }
}

TEST_CASE("an index that is damaged or belongs to another file is refused") {
  const Shard shard;
  CHECK(contains(shard.error_with(0, "X"),
                 "a.idx: is not an index of documents in Megatron-LM's format"));
  CHECK(contains(shard.error_with(9, number(2, 8)), "a.idx: version 2 is not supported"));
  CHECK(contains(shard.error_with(17, number(7, 1)), "a.idx: expected ids of type 8 (uint16)"));
  for (const Index count : {Index{0}, Index{3}, Index{-1}, Index{1} << 60}) {
    CHECK(contains(shard.error_with(18, number(count, 8)), "a.idx: is damaged: it lists "));
  }
  CHECK(
      contains(shard.error_with(26, number(2, 8)),
               "a.idx: expected documents of one sequence each, got 2 sequences and 1 documents"));
  CHECK(contains(shard.error_with(34, number(0, 4)), "a.idx: document 0 has 0 tokens"));
  CHECK(contains(shard.error_with(34, number(-1, 4)), "a.idx: document 0 has -1 tokens"));
  CHECK(contains(shard.error_with(34, number(3, 4)),
                 "a.idx: document 1 begins at byte 4, expected 6"));
  CHECK(contains(shard.error_with(38, number(4, 4)), "a.bin: expected 6 uint16 ids according to "));
  shard.write({{1, kEnd}});
  CHECK(contains(error_of([&] { shard.read(TokenDtype::uint32); }), "a.idx, got uint32"));
  fs::resize_file(shard.index(), 40);
  check_error([&] { shard.read(); }, {"a.idx: is damaged: it lists 1 documents, but has 40"});
  fs::remove(shard.index());
  CHECK_FALSE(has_documents(shard.ids()));
  CHECK(contains(error_of([&] { shard.read(); }), "a.idx"));
}

TEST_CASE("the documents of token files are read on demand") {
  const Shard shard;
  shard.write({{1, kEnd}, {2, 3, kEnd}});
  const TextFile file{.path = shard.ids().string()};
  std::vector<std::string> warnings;
  const auto read = [&](const TextFormat& format) {
    return read_dataset(file, format, ByteTokenizer(), warnings);
  };
  CHECK(read({}).sequences == TokenSequences{{1, kEnd, 2, 3, kEnd}});
  CHECK(read({.token_documents = true}).sequences.size() == 2);
  CHECK(read({.split = {.mode = DocumentSplit::line}}).sequences.size() == 2);
  fs::remove(shard.index());
  CHECK_FALSE(read({.token_documents = true}).documents);
}

TEST_CASE("an index or a token file that changes while it is read is an error") {
  const Shard shard;
  shard.write({{1, kEnd}, {2, 3, kEnd}});
  const auto later = fs::last_write_time(shard.ids()) + std::chrono::seconds(1);
  for (const fs::path& path : {shard.ids(), shard.index()}) {
    shard.write({{1, kEnd}, {2, 3, kEnd}});
    const TokenDataset dataset = shard.read();
    CHECK(dataset.sequences[1].size() == 4);
    fs::last_write_time(path, later);
    CHECK(contains(error_of([&] { dataset.sequences[1].tokens(0, 4); }),
                   path.filename().string() +
                       ": changed while it was in use: another program has written to it"));
    fs::resize_file(path, fs::file_size(path) + 2);
    CHECK(contains(error_of([&] { dataset.sequences[1].tokens(0, 4); }),
                   path.filename().string() + ": changed while it was in use: it had "));
    fs::resize_file(path, 1);
    CHECK(contains(error_of([&] { dataset.sequences[1].tokens(0, 4); }),
                   path.filename().string() + ": is cut off: it ends at byte "));
  }
}

TEST_CASE("a folder of shards is read as its token files sorted by name and its validation files") {
  const TemporaryFolder folder;
  for (const char* name : {"b_train_2.bin", "b_train_1.bin", ".hidden.bin", "b_train_1.idx"}) {
    write_bytes(folder / name, "ids");
  }
  const auto paths_of = [&](std::string_view token_file = "train.bin") {
    return mapped<std::string>(
        find_text_files({folder.path().string()}, token_file),
        [&](const TextFile& file) { return fs::path(file.path).filename().string(); });
  };
  using Names = std::vector<std::string>;
  CHECK(paths_of() == Names{"b_train_1.bin", "b_train_2.bin"});
  write_bytes(folder / "b_val_0.bin", "ids");
  CHECK(paths_of() == Names{"b_train_1.bin", "b_train_2.bin"});
  CHECK(paths_of("val.bin") == Names{"b_val_0.bin"});
  CHECK(find_text_files({folder.path().string()})[1].validation_paths ==
        Names{(folder / "b_val_0.bin").string()});
  write_bytes(folder / "notes.txt", "text");
  CHECK(paths_of() == Names{"notes.txt"});
  write_bytes(folder / "shards.json", "{}");
  CHECK(paths_of() == Names{"b_train_1.bin", "b_train_2.bin"});
}
}  // namespace document_index_test
