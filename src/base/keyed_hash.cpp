#include "base/keyed_hash.h"

#include <array>
#include <bit>
#include <cstring>
#include <random>

namespace headlight {
namespace {

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

// The four words of SipHash.
struct SipState {
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t c;
  std::uint64_t d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void absorb(std::uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  }
};

}  // namespace

std::uint64_t process_key() {
  static const std::uint64_t key = random_number();
  return key;
}

std::size_t KeyedHash::operator()(std::string_view text) const {
  static const std::array<std::uint64_t, 2> key{process_key(), random_number()};
  SipState state{key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU,
                 key[0] ^ 0x6c7967656e657261U, key[1] ^ 0x7465646279746573U};
  std::uint64_t word = 0;
  std::size_t offset = 0;
  for (; offset + sizeof(word) <= text.size(); offset += sizeof(word)) {
    std::memcpy(&word, text.data() + offset, sizeof(word));
    state.absorb(word);
  }
  word = 0;
  text.copy(reinterpret_cast<char*>(&word), text.size() - offset, offset);
  state.absorb(word | std::uint64_t{text.size()} << 56U);
  state.c ^= 0xFF;
  for (int i = 0; i < 3; ++i) {
    state.round();
  }
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace headlight
