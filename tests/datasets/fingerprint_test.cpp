#include "datasets/fingerprint.h"
#include "support/test.h"

TEST_CASE("a fingerprint is XXH3-128 of names, types, shapes and elements with their sizes") {
  // Computed by XXH3_128bits() over the bytes, with 8 bytes of size, little endian, before each
  // piece.
  CHECK(fingerprint(NamedTensors{}) == "99aa06d3014798d86001c324468d497f");
  CHECK(fingerprint(NamedTensors{{"x", floats({1, 2}, {2})}}) ==
        "5786a776553fdebddeb9841424ad9c4d");
}

TEST_CASE("a fingerprint changes with every name, type, shape and bit and with the order") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  const Tensor y = floats({5}, {1});
  const std::vector<NamedTensors> variations{
      {{"x", x}, {"y", y}},
      {{"y", y}, {"x", x}},
      {{"xy", x}, {"", y}},
      {{"x", x}},
      {{"x", floats({1, 2, 3, 4}, {4})}, {"y", y}},
      {{"x", doubles({1, 2, 3, 4}, {2, 2})}, {"y", y}},
      {{"x", floats({1, 2, 3, 4.0000005F}, {2, 2})}, {"y", y}},
      {{"x", floats({1, 3, 2, 4}, {2, 2})}, {"y", y}},
      {{"x", x}, {"y", floats({0}, {1})}},
      {{"x", x}, {"y", floats({-0.0F}, {1})}}};
  std::set<std::string> different;
  for (const NamedTensors& tensors : variations) {
    different.insert(fingerprint(tensors));
  }
  CHECK(different.size() == variations.size());
}

TEST_CASE("a fingerprint sees the elements of a view in their order") {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor turned = x.strided_view({3, 2}, {1, 3});
  CHECK(fingerprint(NamedTensors{{"x", turned}}) ==
        fingerprint({{"x", floats({1, 4, 2, 5, 3, 6}, {3, 2})}}));
}
