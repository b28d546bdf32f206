#include "generate/stop_filter.h"
#include "support/test.h"

// Returns the output of a filter for a text in pieces of `size` bytes.
std::string filtered(const std::vector<std::string>& stops, const std::string& text,
                     std::size_t size) {
  StopFilter filter(stops);
  std::string result;
  for (std::size_t i = 0; i < text.size(); i += size) {
    result += filter.push(text.substr(i, size));
  }
  return result + filter.finish();
}

TEST_CASE("text that may begin a stop text is held back until that is decided") {
  StopFilter filter({"END"});
  CHECK(filter.push("the E").compare("the ") == 0);
  CHECK(filter.push("N").empty());
  CHECK(filter.push("").empty());
  CHECK(filter.push("E") == "EN");
  CHECK(filter.push("ND and more").empty());
  CHECK(filter.found());
  CHECK(filter.push("anything").empty());
  CHECK(filter.finish().empty());
}

TEST_CASE("text held back is delivered when the text ends") {
  StopFilter filter({"END"});
  CHECK(filter.push("xEN") == "x");
  CHECK(filter.finish() == "EN");
  CHECK_FALSE(filter.found());
}

TEST_CASE("without stop texts everything passes at once") {
  StopFilter filter({});
  CHECK(filter.push("abc") == "abc");
  CHECK_FALSE(filter.found());
}

TEST_CASE("the stop text that ends first applies however the text is split into pieces") {
  for (std::size_t size = 1; size <= 12; ++size) {
    INFO(size);
    CHECK(filtered({"ab c", "b"}, "xxab cd", size) == "xxa");
    CHECK(filtered({"cd", "bcd"}, "abcde", size) == "a");
    CHECK(filtered({"bcd", "cd"}, "abcde", size) == "a");
    CHECK(filtered({"aab"}, "aaaab", size) == "aa");
    CHECK(filtered({"ababac"}, "abababac!", size) == "ab");
    CHECK(filtered({"aaaa"}, "aaabaaaaa", size) == "aaab");
    CHECK(filtered({"abcabd"}, "abcabcabd", size) == "abc");
    CHECK(filtered({"zz"}, "abcz", size) == "abcz");
    CHECK(filtered({"abc"}, "abc", size).empty());
  }
}
