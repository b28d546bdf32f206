#pragma once

// std::ssize of libc++ returns ptrdiff_t, which has 32 bits in WebAssembly. Headlight compares it
// with its Index of 64 bits, as on every other machine.
#define ssize ssize_of_32_bits
#include_next <__iterator/size.h>
#undef ssize

namespace std {

template <class Container>
constexpr long long ssize(const Container& container) {
  return static_cast<long long>(container.size());
}

template <class T, ptrdiff_t kSize>
constexpr long long ssize(const T (&)[kSize]) noexcept {
  return kSize;
}

}  // namespace std
