#pragma once

// Included only by files that are compiled once per instruction set.
namespace headlight::kernels {
namespace {

// Bytes of the widest vector of the instruction set.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

}  // namespace
}  // namespace headlight::kernels
