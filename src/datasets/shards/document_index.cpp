#include "datasets/shards/document_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr std::uint64_t kVersion = 1;
constexpr std::uint8_t kInt32 = 4;  // Megatron's type numbers
constexpr std::uint8_t kUint16 = 8;
constexpr Index kIndexHeaderBytes = 34;
constexpr Index kLengthBytes = 4;
constexpr Index kOffsetBytes = 8;
constexpr Index kAtOnce = Index{1} << 14;

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

template <class Number>
void append(std::string& bytes, Number number) {
  std::array<char, sizeof number> raw{};
  std::memcpy(raw.data(), &number, sizeof number);
  bytes.append(raw.data(), raw.size());
}

}  // namespace

DocumentIndex::DocumentIndex(const std::filesystem::path& path) : file_(path) {
  const std::string name = shown(path);
  std::array<std::byte, kIndexHeaderBytes> header{};
  const bool is_long = file_.size() >= kIndexHeaderBytes;
  if (is_long) {
    file_.read(0, header);
  }
  require(is_long && std::memcmp(header.data(), kMagic.data(), kMagic.size()) == 0, name,
          ": is not an index of documents in Megatron-LM's format");
  const auto version = number_at<std::uint64_t>(header, 9);
  require(version == kVersion, name, ": version ", version, " is not supported, expected ",
          kVersion);
  const auto type = number_at<std::uint8_t>(header, 17);
  require(type == kInt32 || type == kUint16, name, ": expected ids of type ", int{kUint16},
          " (uint16) or ", int{kInt32}, " (int32), got ", int{type});
  dtype_ = type == kInt32 ? TokenDtype::uint32 : TokenDtype::uint16;
  count_ = number_at<Index>(header, 18);
  const auto ends = number_at<Index>(header, 26);
  const Index most = (file_.size() - kIndexHeaderBytes) / (kLengthBytes + 2 * kOffsetBytes);
  require(count_ >= 1 && count_ <= most, name, ": is damaged: it lists ", count_,
          " documents, but has ", file_.size(), " bytes");
  require(ends == count_ + 1, name, ": expected documents of one sequence each, got ", count_,
          " sequences and ", ends - 1, " documents");
  add_up();
}

void DocumentIndex::add_up() {
  std::vector<Index> lengths_here(static_cast<std::size_t>(std::min(kAtOnce, count_)));
  std::vector<Index> offsets(lengths_here.size());
  for (Index first = 0; first < count_; first += kAtOnce) {
    const auto size = static_cast<std::size_t>(std::min(kAtOnce, count_ - first));
    lengths(first, std::span(lengths_here).first(size));
    file_.read(entry_offset(first), std::as_writable_bytes(std::span(offsets).first(size)));
    for (std::size_t i = 0; i < size; ++i) {
      const Index document = first + static_cast<Index>(i);
      require(lengths_here[i] >= 1, shown(path()), ": document ", document, " has ",
              lengths_here[i], " tokens, expected at least 1");
      require(offsets[i] == token_count_ * id_bytes(dtype_), shown(path()), ": document ", document,
              " begins at byte ", offsets[i], ", expected ", token_count_ * id_bytes(dtype_),
              ", where the previous document ends");
      token_count_ += lengths_here[i];
    }
  }
}

void DocumentIndex::lengths(Index first, std::span<Index> lengths) const {
  std::array<std::int32_t, 1024> numbers;
  for (; !lengths.empty(); first += std::ssize(numbers)) {
    const auto part = std::span(numbers).first(std::min(numbers.size(), lengths.size()));
    file_.read(kIndexHeaderBytes + first * kLengthBytes, std::as_writable_bytes(part));
    std::copy(part.begin(), part.end(), lengths.begin());
    lengths = lengths.subspan(part.size());
  }
  file_.require_unchanged();
}

Index DocumentIndex::begin(Index document) const {
  Index offset = 0;
  file_.read(entry_offset(document), std::as_writable_bytes(std::span(&offset, 1)));
  file_.require_unchanged();
  return offset / id_bytes(dtype_);
}

Index DocumentIndex::entry_offset(Index document) const {
  return kIndexHeaderBytes + count_ * kLengthBytes + document * kOffsetBytes;
}

std::filesystem::path document_index_path(const std::filesystem::path& token_file) {
  return std::filesystem::path(token_file).replace_extension(".idx");
}

std::string document_index_bytes(std::span<const std::int32_t> lengths, TokenDtype dtype) {
  const Index count = std::ssize(lengths);
  std::string bytes(kMagic);
  append(bytes, kVersion);
  append(bytes, dtype == TokenDtype::uint32 ? kInt32 : kUint16);
  append(bytes, count);
  append(bytes, count + 1);
  for (const std::int32_t length : lengths) {
    append(bytes, length);
  }
  Index offset = 0;
  for (const std::int32_t length : lengths) {
    append(bytes, offset);
    offset += length * id_bytes(dtype);
  }
  for (Index document = 0; document <= count; ++document) {
    append(bytes, document);
  }
  return bytes;
}

}  // namespace headlight
