#include "support/test.h"

namespace dtype_test {
float rounded(float value) { return static_cast<float>(BFloat16(value)); }

TEST_CASE("every type has a size and a name that parses back") {
  CHECK(element_size(DType::float32) == 4);
  CHECK(element_size(DType::float64) == 8);
  CHECK(element_size(DType::bfloat16) == 2);
  CHECK(element_size(DType::int32) == 4);
  CHECK(element_size(DType::boolean) == 1);
  CHECK(name_of(DType::boolean) == "bool");
  for (const DType dtype :
       {DType::float32, DType::float64, DType::bfloat16, DType::int32, DType::boolean}) {
    CHECK(parse_name<DType>("dtype", name_of(dtype)) == dtype);
  }
  std::ostringstream out;
  out << DType::bfloat16;
  CHECK(out.str() == "bfloat16");
}

TEST_CASE("the floating-point types are float32 and float64 and bfloat16") {
  CHECK(is_floating(DType::float32));
  CHECK(is_floating(DType::float64));
  CHECK(is_floating(DType::bfloat16));
  CHECK_FALSE(is_floating(DType::int32));
  CHECK_FALSE(is_floating(DType::boolean));
}

TEST_CASE("dispatch_floating picks float or double and refuses other types by name") {
  const auto size = [](DType dtype) {
    return dispatch_floating(dtype, "f", [](auto zero) { return sizeof(zero); });
  };
  CHECK(size(DType::float32) == 4);
  CHECK(size(DType::float64) == 8);
  check_error([&] { size(DType::int32); }, {"[f]", "float32", "int32"});
  check_error([&] { size(DType::bfloat16); }, {"[f]", "bfloat16"});
}

TEST_CASE("bfloat16 keeps values with eight significant bits") {
  for (const float value : {0.0F, 1.0F, -1.0F, 1.0078125F, 255.0F, 0x1p-126F, 0x1p100F}) {
    CHECK(rounded(value) == value);
  }
  CHECK(std::signbit(rounded(-0.0F)));
  CHECK(BFloat16(1.0F).bits == 0x3F80);
}

TEST_CASE("bfloat16 rounds to the nearest value and ties to even") {
  const float step = 0x1p-7F;  // between neighbours in [1, 2)
  CHECK(rounded(1 + 0.49F * step) == 1.0F);
  CHECK(rounded(1 + 0.51F * step) == 1 + step);
  CHECK(rounded(1 + 0.5F * step) == 1.0F);                // a tie: 1 is even
  CHECK(rounded(1 + 1.5F * step) == 1 + 2 * step);        // a tie: 1 + step is odd
  CHECK(rounded(-(1 + 1.5F * step)) == -(1 + 2 * step));  // the same below 0
  CHECK(rounded(2.0F - 0.25F * step) == 2.0F);            // carries into the exponent
  CHECK(rounded(0x1p-149F) == 0.0F);
}

TEST_CASE("bfloat16 keeps infinities and NaN and overflows to infinity") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(kInfinity) == kInfinity);
  CHECK(rounded(-kInfinity) == -kInfinity);
  CHECK(rounded(std::numeric_limits<float>::max()) == kInfinity);
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  // A NaN whose only payload bit would be cut off must not turn into infinity.
  CHECK(std::isnan(rounded(std::bit_cast<float>(0x7F800001U))));
  CHECK(std::isnan(rounded(std::bit_cast<float>(0xFFFFFFFFU))));
}
}  // namespace dtype_test
