#include "headlight/datasets/token_file.h"

#include <algorithm>

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/datasets/dataset.h"

namespace headlight::fuzz {
namespace {

// Tokenizer with a number of ids and no other function.
class AnyTokenizer final : public Tokenizer {
 public:
  explicit AnyTokenizer(Index vocab_size) : Tokenizer(0), vocab_size_(vocab_size) {}
  std::string_view kind() const override { return "any"; }
  Index vocab_size() const override { return vocab_size_; }
  std::vector<std::int32_t> encode_bytes(std::string_view, const EncodeOptions&) const override {
    return {};
  }
  std::string token_bytes(std::int32_t) const override { return "x"; }

 private:
  Index vocab_size_;
};

}  // namespace

// The first byte sets the vocabulary size. The second selects the expected id width, and whether
// the file gets a header of llm.c.
void token_file(std::string_view input) {
  static const MemoryFile file;
  const AnyTokenizer tokenizer(1 + 521 * static_cast<Index>(take_byte(input)));
  const unsigned mode = take_byte(input);
  const auto dtype = static_cast<TokenDtype>(mode % 3);
  std::string bytes(input);
  if ((mode & 64U) != 0 && bytes.size() >= 12) {
    bytes.insert(12, std::string(1012, '\0'));
  }
  file.write(bytes);
  accepted([&] {
    TokenFile found = open_token_file(file.path(), tokenizer, dtype);
    const auto width = static_cast<std::size_t>(found.dtype == TokenDtype::uint32 ? 4 : 2);
    const auto count = static_cast<std::size_t>(found.ids.size());
    demand(count * width == bytes.size() || count * width + 1024 == bytes.size(), "ids were lost");
    const std::vector<std::int32_t> ids = found.ids.take();
    demand(std::all_of(ids.begin(), ids.end(),
                       [&](auto id) { return id >= 0 && id < tokenizer.vocab_size(); }),
           "an id is out of range");
    demand(token_file_bytes(ids, found.dtype) == bytes.substr(bytes.size() - count * width),
           "ids are not what the file says");
  });
}

}  // namespace headlight::fuzz
