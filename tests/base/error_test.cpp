#include "headlight/base/error.h"

#include <limits>
#include <sstream>

#include "headlight/tensor/tensor.h"
#include "support/catch.h"

using namespace headlight;

TEST_CASE("messages have the numbers that streams write") {
  for (const double number :
       {0.0, -0.0, 1.0, 0.1, 1.0 / 3, 123456.0, 1234567.0, 1e-5, 1e15, 1e300, -2.5e-7,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    std::ostringstream expected;
    expected << number << " " << static_cast<float>(number);
    CHECK(concat_text(number, " ", static_cast<float>(number)) == expected.str());
  }
  CHECK(concat_text(std::numeric_limits<Index>::min(), ' ', 18446744073709551615U, ' ', true,
                    false) == "-9223372036854775808 18446744073709551615 10");
}

TEST_CASE("messages are made of text, shapes and types of elements") {
  const std::string text = "b";
  CHECK(concat_text("a", text, std::string_view("c"), 'd', static_cast<const char*>("e")) ==
        "abcde");
  CHECK(concat_text(Shape{4, 8}, Shape{}, DType::bfloat16) == "[4, 8][]bfloat16");
  std::ostringstream streamed;
  streamed << Shape{4, 8} << DType::int32;
  CHECK(streamed.str() == "[4, 8]int32");
}
