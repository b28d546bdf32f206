#include <cstdint>

#include "fuzz/targets.h"

// Entry point for libFuzzer. Each target compiles it with its name in HEADLIGHT_FUZZ_TARGET.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headlight::fuzz::HEADLIGHT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
