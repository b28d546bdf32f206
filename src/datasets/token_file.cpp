#include "headlight/datasets/token_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/strings/lower_case.h"
#include "base/strings/printable.h"
#include "datasets/shards/document_index.h"
#include "datasets/shards/shard_manifest.h"
#include "headlight/base/error.h"
#include "headlight/datasets/nanogpt_vocabulary.h"
#include "storage/input_file.h"

namespace headlight {

static_assert(std::endian::native == std::endian::little, "token files are little endian");

namespace {

constexpr Index kUint16Ids = 65536;

// Width and position of the ids in a file.
struct Layout {
  TokenDtype dtype = TokenDtype::uint16;
  Index begin = 0;   // bytes before the first id
  Index count = 0;   // number of ids
  std::string hint;  // end of the message about an id out of range
};

// Ids that stay in their file. Reads use the system's page cache, as with a mapping. But they do
// not count as this process's memory, and a shrunken file is an Error and not a signal.
class FileTokens final : public TokenSource {
 public:
  FileTokens(std::shared_ptr<const InputFile> file, Layout layout, Index vocab_size)
      : file_(std::move(file)), layout_(std::move(layout)), vocab_size_(vocab_size) {}

  std::string name() const override { return shown(file_->path()); }
  Index size() const override { return layout_.count; }

  void read(Index begin, std::span<std::int32_t> ids) const override {
    const Index offset = layout_.begin + begin * id_bytes(layout_.dtype);
    if (layout_.dtype == TokenDtype::uint32) {
      file_->read(offset, std::as_writable_bytes(ids));
    } else {
      read_uint16(offset, ids);
    }
    file_->require_unchanged();  // a changed file is reported before its wrong ids
    std::uint32_t largest = 0;
    for (const std::int32_t id : ids) {
      largest = std::max(largest, static_cast<std::uint32_t>(id));
    }
    if (static_cast<Index>(largest) >= vocab_size_) {
      fail_id(begin, ids);
    }
  }

 private:
  void read_uint16(Index offset, std::span<std::int32_t> ids) const {
    std::array<std::uint16_t, 4096> numbers;
    while (!ids.empty()) {
      const auto part = std::span(numbers).first(std::min(numbers.size(), ids.size()));
      file_->read(offset, std::as_writable_bytes(part));
      std::copy(part.begin(), part.end(), ids.begin());
      ids = ids.subspan(part.size());
      offset += static_cast<Index>(part.size_bytes());
    }
  }

  [[noreturn]] void fail_id(Index begin, std::span<const std::int32_t> ids) const {
    const auto is_foreign = [&](std::int32_t id) {
      return static_cast<Index>(static_cast<std::uint32_t>(id)) >= vocab_size_;
    };
    const auto found = std::find_if(ids.begin(), ids.end(), is_foreign);
    fail(shown(file_->path()), ": token ", begin + (found - ids.begin()), " has id ",
         static_cast<std::uint32_t>(*found), ", but the tokenizer has the ids 0 to ",
         vocab_size_ - 1, layout_.hint);
  }

  std::shared_ptr<const InputFile> file_;
  Layout layout_;
  Index vocab_size_;  // ids that the file may use
};

// The tokens around each document, and which of them the file lacks.
struct FileEnds {
  DocumentEnds ids;
  bool adds_first = false;
  bool adds_last = false;
};

class DocumentTokens final : public TokenSource {
 public:
  DocumentTokens(TokenSequence file, Index begin, Index length, const FileEnds& ends,
                 std::string name)
      : file_(std::move(file)),
        begin_(begin),
        length_(length),
        ends_(ends),
        name_(std::move(name)) {}

  std::string name() const override { return name_; }
  Index size() const override {
    return length_ + (ends_.adds_first ? 1 : 0) + (ends_.adds_last ? 1 : 0);
  }

  void read(Index begin, std::span<std::int32_t> ids) const override {
    if (ids.empty()) {
      return;
    }
    const Index end = begin + std::ssize(ids);
    const bool has_first = begin == 0;
    const bool has_last = end == size();
    std::span<std::int32_t> own = ids;  // ids from the file
    own = own.subspan(has_first && ends_.adds_first ? 1 : 0);
    own = own.first(own.size() - (has_last && ends_.adds_last && !own.empty() ? 1 : 0));
    file_.read(begin_ + std::max<Index>(0, begin - (ends_.adds_first ? 1 : 0)), own);
    if (has_first && ends_.ids.begin) {
      set_end(ids.front(), ends_.adds_first, *ends_.ids.begin, "begins");
    }
    if (has_last) {
      set_end(ids.back(), ends_.adds_last, ends_.ids.end, "ends");
    }
  }

 private:
  void set_end(std::int32_t& id, bool adds, std::int32_t wanted, const char* what) const {
    id = adds ? wanted : id;
    require(id == wanted, name_, ": the document at token ", begin_, " ", what, " with token ", id,
            ", other documents in the file with ", wanted,
            wanted == ends_.ids.end ? " (end of text)" : " (beginning of text)");
  }

  TokenSequence file_;
  Index begin_;
  Index length_;
  FileEnds ends_;
  std::string name_;
};

class FileDocuments final : public SequenceSource {
 public:
  FileDocuments(TokenSequence file, std::shared_ptr<const DocumentIndex> index,
                const DocumentEnds& ends, std::string name)
      : file_(std::move(file)), index_(std::move(index)), ends_{ends}, name_(std::move(name)) {
    Index first = 0;
    index_->lengths(0, {&first, 1});
    ends_.adds_first = ends.begin && file_.tokens(0, 1).front() != *ends.begin;
    ends_.adds_last = first == 1 || file_.tokens(first - 1, 1).front() != ends.document_end();
  }

  Index size() const override { return index_->count(); }

  TokenSequence at(Index number) const override {
    Index length = 0;
    index_->lengths(number, {&length, 1});
    return TokenSequence(
        std::make_shared<DocumentTokens>(file_, index_->begin(number), length, ends_, name_));
  }

  void lengths(Index first, std::span<Index> lengths) const override {
    index_->lengths(first, lengths);
    const Index added = (ends_.adds_first ? 1 : 0) + (ends_.adds_last ? 1 : 0);
    for (Index& length : lengths) {
      length += added;
    }
  }

 private:
  TokenSequence file_;
  std::shared_ptr<const DocumentIndex> index_;
  FileEnds ends_;
  std::string name_;
};

// Header of llm.c: 256 numbers of 32 bits. Three are used: magic number, version and id count.
constexpr Index kHeaderBytes = 1024;

std::optional<Layout> read_header(const InputFile& file) {
  struct Kind {
    std::int32_t magic;
    std::int32_t version;
    TokenDtype dtype;
  };
  constexpr Kind kKinds[] = {{20240520, 1, TokenDtype::uint16},   // GPT-2's tokenizer
                             {20240801, 7, TokenDtype::uint32}};  // Llama 3's tokenizer
  std::array<std::int32_t, 3> numbers{};
  if (file.size() < kHeaderBytes) {
    return std::nullopt;
  }
  file.read(0, std::as_writable_bytes(std::span(numbers)));
  for (const Kind& kind : kKinds) {
    if (numbers[0] == kind.magic) {
      require(numbers[1] == kind.version, shown(file.path()), ": version ", numbers[1],
              " of llm.c's token files is not supported, expected ", kind.version);
      return Layout{.dtype = kind.dtype, .begin = kHeaderBytes, .count = numbers[2], .hint = ""};
    }
  }
  return std::nullopt;
}

// Returns `declared`, the layout according to `source`. Throws Error if the file or `wanted`
// differs.
Layout checked_layout(const InputFile& file, const Layout& declared, const std::string& source,
                      TokenDtype wanted) {
  const std::string name = shown(file.path());
  require(wanted == TokenDtype::automatic || wanted == declared.dtype, name,
          ": expected token_dtype ", name_of(declared.dtype), ", as in ", source, ", got ",
          name_of(wanted));
  const Index bytes = file.size() - declared.begin;
  require(declared.count >= 0 && bytes == declared.count * id_bytes(declared.dtype), name,
          ": expected ", declared.count, " ", name_of(declared.dtype), " ids according to ", source,
          ", got ", bytes, " bytes");
  return declared;
}

// Statistics of a file, read as 32-bit and as 16-bit numbers.
struct Survey {
  Index words = 0;      // 32-bit words
  Index zero_low = 0;   // words whose first half is 0
  Index zero_high = 0;  // words whose second half is 0
  std::uint32_t largest_word = 0;
  std::uint32_t largest_half = 0;

  void add(std::span<const std::uint32_t> more) {
    std::uint32_t low_zeros = 0;
    std::uint32_t high_zeros = 0;
    for (const std::uint32_t word : more) {
      const std::uint32_t low = word & 0xFFFFU;
      const std::uint32_t high = word >> 16;
      low_zeros += low == 0 ? 1 : 0;
      high_zeros += high == 0 ? 1 : 0;
      largest_word = std::max(largest_word, word);
      largest_half = std::max(largest_half, std::max(low, high));
    }
    words += std::ssize(more);
    zero_low += low_zeros;
    zero_high += high_zeros;
  }
  void add_zeros(Index count) {
    words += count;
    zero_low += count;
    zero_high += count;
  }
};

// Surveys all bytes from `begin` on. Skips the holes of a sparse file, which are zeros of any size.
Survey survey(const InputFile& file, Index begin) {
  constexpr Index kWord = 4;
  constexpr std::size_t kWordsAtOnce = std::size_t{1} << 18;
  Survey result;
  const auto all = static_cast<std::size_t>((file.size() - begin) / kWord);
  std::vector<std::uint32_t> words(std::min(kWordsAtOnce, all));
  Index offset = begin;
  while (file.size() - offset >= kWord) {
    const Index left = (file.size() - offset) / kWord;
    const Index hole = std::min(left, (file.next_data(offset) - offset) / kWord);
    result.add_zeros(hole);
    offset += hole * kWord;
    const auto part =
        std::span(words).first(std::min(kWordsAtOnce, static_cast<std::size_t>(left - hole)));
    file.read(offset, std::as_writable_bytes(part));
    result.add(part);
    offset += static_cast<Index>(part.size_bytes());
  }
  if (file.size() - offset >= 2) {
    std::uint16_t last = 0;
    file.read(offset, std::as_writable_bytes(std::span(&last, 1)));
    result.largest_half = std::max<std::uint32_t>(result.largest_half, last);
  }
  return result;
}

// Guesses the width of ids in a file without header, for a vocabulary that fits 16 bits.
TokenDtype likely_dtype(const InputFile& file, const Survey& seen) {
  constexpr Index kFewWords = 8;
  const bool whole_words = file.size() % 4 == 0 && seen.words > 0;
  if (!whole_words) {
    return TokenDtype::uint16;
  }
  const bool enough = seen.words >= kFewWords && 2 * seen.zero_low <= seen.words;
  if (seen.zero_high == seen.words) {
    require(enough, shown(file.path()),
            ": the ids can have 16 or 32 bits; set token_dtype = uint16 (as nanoGPT writes them) "
            "or uint32");
    return TokenDtype::uint32;
  }
  // A file of 32-bit ids from a larger vocabulary should fail as out of range, rather than be read
  // as twice as many ids.
  const bool mostly_narrow = 4 * seen.zero_high >= 3 * seen.words;
  return enough && mostly_narrow && 4 * seen.zero_low <= seen.words ? TokenDtype::uint32
                                                                    : TokenDtype::uint16;
}

Layout plain_layout(const InputFile& file, const Survey& seen, TokenDtype wanted,
                    Index vocab_size) {
  Layout layout{.dtype = wanted, .begin = 0, .count = 0, .hint = ""};
  if (wanted == TokenDtype::automatic) {
    layout.dtype = vocab_size > kUint16Ids ? TokenDtype::uint32 : likely_dtype(file, seen);
  }
  const bool wide = layout.dtype == TokenDtype::uint32;
  if (wide && wanted == TokenDtype::automatic) {
    layout.hint = concat_text(" (the ids were read as 32-bit ones because ",
                              vocab_size > kUint16Ids ? "the vocabulary is above 65536"
                                                      : "most second 16-bit numbers are 0",
                              "; token_dtype = uint16 reads 16-bit ones)");
  }
  const Index width = id_bytes(layout.dtype);
  require(file.size() % width == 0, shown(file.path()), ": ", file.size(),
          " bytes are not a whole number of ", 8 * width, "-bit token ids", layout.hint);
  layout.count = file.size() / width;
  return layout;
}

struct SurveyedLayout {
  Layout layout;
  Index largest = 0;         // id
  bool is_declared = false;  // the layout was not guessed
};

// Reads the ids of a file once. `index` is its index of documents, or null.
SurveyedLayout survey_layout(const InputFile& file, TokenDtype dtype, const DocumentIndex* index,
                             Index vocab_size) {
  const std::optional<Layout> header = index == nullptr ? read_header(file) : std::nullopt;
  const Survey seen = survey(file, header ? kHeaderBytes : 0);
  SurveyedLayout result;
  if (index != nullptr) {
    const Layout layout{
        .dtype = index->dtype(), .begin = 0, .count = index->token_count(), .hint = ""};
    result.layout = checked_layout(file, layout, shown(index->path()), dtype);
  } else {
    result.layout = header ? checked_layout(file, *header, "llm.c's header", dtype)
                           : plain_layout(file, seen, dtype, vocab_size);
  }
  const bool is_wide = result.layout.dtype == TokenDtype::uint32;
  result.largest = is_wide ? seen.largest_word : seen.largest_half;
  result.is_declared = index != nullptr || header || dtype != TokenDtype::automatic;
  return result;
}

// Returns the index of documents beside a token file, or null.
std::unique_ptr<const DocumentIndex> index_beside(const std::filesystem::path& path) {
  return has_documents(path) ? std::make_unique<DocumentIndex>(document_index_path(path)) : nullptr;
}

// Opens a token file. `index` is its index of documents, or null.
TokenFile open_with_index(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          TokenDtype dtype, const DocumentIndex* index) {
  const auto file = std::make_shared<const InputFile>(path);
  const Index listed = require_same_vocabulary(path, tokenizer);
  const Index vocab_size = tokenizer.vocab_size();
  const auto [layout, largest, is_declared] = survey_layout(*file, dtype, index, vocab_size);
  verify_against_manifest(path, layout.count, tokenizer);
  // nanoGPT's files have no special tokens; beside Headlight's there is a tokenizer.json.
  std::error_code error;
  const bool is_own = std::filesystem::exists(path.parent_path() / "tokenizer.json", error);
  const Index allowed = is_own ? vocab_size : listed;
  const bool wide = layout.dtype == TokenDtype::uint32;
  TokenFile result{.ids = {}, .dtype = layout.dtype, .note = ""};
  if (wide && !is_declared && vocab_size <= kUint16Ids) {
    result.note = shown(path) +
                  ": read as 32-bit ids, because every second 16-bit number is 0 (token_dtype = "
                  "uint16 reads 16-bit ones)";
  }
  result.ids = TokenSequence(std::make_shared<FileTokens>(file, layout, allowed));
  if (largest >= allowed) {
    result.ids.for_each_part([](std::span<const std::int32_t>) {});  // throws Error naming the id
  }
  return result;
}

}  // namespace

Index id_bytes(TokenDtype dtype) { return dtype == TokenDtype::uint32 ? 4 : 2; }

TokenDtype token_dtype_for(Index vocab_size) {
  return vocab_size > kUint16Ids ? TokenDtype::uint32 : TokenDtype::uint16;
}

bool is_token_file(const std::filesystem::path& path) {
  return lower_case(path.extension().string()) == ".bin";
}

bool has_documents(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(document_index_path(path), error);
}

TokenFile open_token_file(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          TokenDtype dtype) {
  return open_with_index(path, tokenizer, dtype, index_beside(path).get());
}

Index id_count(const std::filesystem::path& path, TokenDtype dtype) {
  return survey_layout(InputFile(path), dtype, index_beside(path).get(), kUint16Ids).largest + 1;
}

DocumentEnds document_ends(const Tokenizer& tokenizer, BeginToken begin) {
  const std::optional<std::int32_t> first = tokenizer.begin_token();
  const std::optional<std::int32_t> last = tokenizer.end_token();
  const bool begins = begin == BeginToken::automatic
                          ? first == last || tokenizer.prepends_begin_token()
                          : begin == BeginToken::on;
  return {begins ? first : std::nullopt, last.value_or(-1)};
}

TokenDataset token_file_dataset(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                TokenDtype dtype, std::vector<std::string>& notes,
                                BeginToken begin) {
  TokenFile file = open_token_file(path, tokenizer, dtype);
  require(!file.ids.empty(), shown(path), ": is empty");
  if (!file.note.empty()) {
    notes.push_back(std::move(file.note));
  }
  return stream_dataset(std::move(file.ids), document_ends(tokenizer, begin));
}

TokenDataset token_file_documents(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                  TokenDtype dtype, std::vector<std::string>& notes,
                                  BeginToken begin) {
  const DocumentEnds ends = document_ends(tokenizer, begin);
  const auto index = std::make_shared<const DocumentIndex>(document_index_path(path));
  TokenFile file = open_with_index(path, tokenizer, dtype, index.get());
  if (!file.note.empty()) {
    notes.push_back(std::move(file.note));
  }
  TokenDataset dataset{.sequences = TokenSequences(std::make_shared<FileDocuments>(
                           std::move(file.ids), index, ends, shown(path))),
                       .documents = true,
                       .end_of_text = ends.end,
                       .window_begin = ends.window_begin()};
  dataset.sequences.for_each_lengths([&](std::span<const Index> lengths) {
    dataset.token_count = std::accumulate(lengths.begin(), lengths.end(), dataset.token_count);
  });
  return dataset;
}

std::string token_file_bytes(std::span<const std::int32_t> ids, TokenDtype dtype) {
  std::string bytes;
  bytes.reserve(ids.size() * static_cast<std::size_t>(id_bytes(dtype)));
  for (const std::int32_t id : ids) {
    for (Index byte = 0; byte < id_bytes(dtype); ++byte) {
      bytes += static_cast<char>((id >> (8 * byte)) & 0xFF);
    }
  }
  return bytes;
}

}  // namespace headlight
