#include "formats/chat_template/tail_match.h"
#include "support/test.h"

std::string random_text(std::size_t length, std::mt19937& random) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    text += static_cast<char>('a' + random() % 2);
  }
  return text;
}

// The same search, comparing byte by byte.
std::size_t plain_length(const std::string& text, const std::string& answer) {
  std::size_t best = 0;
  std::size_t most = 0;
  for (std::size_t length = 1; length <= text.size(); ++length) {
    std::size_t same = 0;
    while (same < length && same < answer.size() &&
           text[length - 1 - same] == answer[answer.size() - 1 - same]) {
      ++same;
    }
    if (same > most) {
      most = same;
      best = length;
    }
  }
  return best;
}

TEST_CASE("the end of an answer is found behind the longest equal tail") {
  CHECK(length_to_tail("yes.<end> no", "<think>sure</think>yes.") == 4);
  CHECK(length_to_tail("yes. yes.", "oh yes.") == 9);
  CHECK(length_to_tail("yes. yes.", "yes.") == 4);  // of equal tails the first
  CHECK(length_to_tail("aaaa", "aa") == 2);
  CHECK(length_to_tail("abc", "xyz") == 0);
  CHECK(length_to_tail("", "a") == 0);
  CHECK(length_to_tail("a", "") == 0);
  CHECK(length_to_tail("", "") == 0);
}

TEST_CASE("the linear search for a tail finds the place of a plain one") {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random() % 24, random);
    const std::string answer = random_text(random() % 12, random);
    INFO(text << " " << answer);
    REQUIRE(length_to_tail(text, answer) == plain_length(text, answer));
  }
}
