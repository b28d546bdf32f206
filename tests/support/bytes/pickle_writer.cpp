#include "support/bytes/pickle_writer.h"
#include "support/test.h"

namespace headlight {

void PickleWriter::append(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    code_ += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

void PickleWriter::text(std::string_view value) {
  code_ += 'X';
  append(value.size(), 4);
  code_ += value;
}

void PickleWriter::integer(Index value) {
  using Small = std::numeric_limits<std::int32_t>;
  if (value >= Small::min() && value <= Small::max()) {
    code_ += 'J';
    append(static_cast<std::uint64_t>(value), 4);
  } else {
    code_ += "\x8a\x08";  // 8 bytes of two's complement follow
    append(static_cast<std::uint64_t>(value), 8);
  }
}

void PickleWriter::number(double value) {
  code_ += 'G';
  append(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)), 8);  // the only big-endian value
}

void PickleWriter::integers(const Shape& values) {
  begin_tuple();
  for (const Index value : values) {
    integer(value);
  }
  end_tuple();
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  code_ += 'c';
  code_ += module;
  code_ += '\n';
  code_ += name;
  code_ += '\n';
}

std::string PickleWriter::finish() { return std::move(code_) + '.'; }

void write_nanogpt_vocabulary(const std::filesystem::path& path, const CharTokenizer& tokenizer) {
  const auto count = static_cast<std::int32_t>(tokenizer.vocab_size());
  PickleWriter pickle;
  pickle.begin_dictionary();
  pickle.text("vocab_size");
  pickle.integer(count);
  pickle.text("itos");
  pickle.begin_dictionary();
  for (std::int32_t id = 0; id < count; ++id) {
    pickle.integer(id);
    pickle.text(tokenizer.token_bytes(id));
  }
  pickle.end_dictionary();
  pickle.text("stoi");
  pickle.begin_dictionary();
  for (std::int32_t id = 0; id < count; ++id) {
    if (tokenizer.special_name(id).empty()) {
      pickle.text(tokenizer.token_bytes(id));
      pickle.integer(id);
    }
  }
  pickle.end_dictionary();
  pickle.end_dictionary();
  write_file(path, pickle.finish());
}

}  // namespace headlight
