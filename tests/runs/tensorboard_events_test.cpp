#include "runs/logs/tensorboard_events.h"
#include "support/test.h"

std::string hex(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

TEST_CASE("checksums have the values of RFC 3720") {
  CHECK(crc32c("123456789") == 0xE3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  CHECK(crc32c("") == 0);
}

// The RecordWriter of tensorboard 2.21 writes these bytes for the same events.
TEST_CASE("records have the bytes that TensorBoard's own writer makes") {
  CHECK(hex(tensorboard_version(1.5)) ==
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
  const std::array<NamedScalar, 2> scalars{{{"train/loss", 2.5}, {"a", -0.0625}}};
  CHECK(hex(tensorboard_scalars(1e9, 300, scalars)) ==
        "2b00000000000000861bc34b090000000065cdcd4110ac022a1d0a110a0a747261696e2f6c6f7373"
        "15000020400a080a016115000080bd95a167ef"
        "");
}
