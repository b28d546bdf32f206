#include "tokenizers/added_tokens.h"
#include "support/test.h"

// Joins the parts: plain text as "TEXT", a token as its id in brackets.
std::string parts(const AddedTokenMatcher& matcher, std::string_view text) {
  std::string result;
  for (const TextSegment& segment : matcher.split(text, true)) {
    result += segment.id < 0 ? "\"" + std::string(segment.text) + "\""
                             : "[" + std::to_string(segment.id) + "]";
  }
  return result;
}

std::vector<AddedToken> tokens_of(const std::vector<std::string>& contents) {
  std::vector<AddedToken> tokens;
  for (const std::string& content : contents) {
    tokens.push_back({.content = content, .id = static_cast<std::int32_t>(tokens.size())});
  }
  return tokens;
}

// Reference implementation: tries every token at every position.
std::string slow_parts(const std::vector<std::string>& contents, std::string_view text) {
  std::string result;
  std::string plain;
  const auto end_plain = [&] {
    result += plain.empty() ? "" : "\"" + plain + "\"";
    plain.clear();
  };
  while (!text.empty()) {
    std::size_t longest = contents.size();
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const bool longer =
          longest == contents.size() || contents[i].size() >= contents[longest].size();
      if (!contents[i].empty() && text.starts_with(contents[i]) && longer) {
        longest = i;
      }
    }
    if (longest == contents.size()) {
      plain += text[0];
      text.remove_prefix(1);
      continue;
    }
    end_plain();
    result += "[" + std::to_string(longest) + "]";
    text.remove_prefix(contents[longest].size());
  }
  end_plain();
  return result;
}

TEST_CASE("the longest of several added tokens at one position is found") {
  const AddedTokenMatcher matcher(tokens_of({"ab", "a", "abcd", "b", "", "zz", "ab"}));
  CHECK(parts(matcher, "abc") == "[6]\"c\"");
  CHECK(parts(matcher, "abcdz") == "[2]\"z\"");
  CHECK(parts(matcher, "aabb") == "[1][6][3]");
  CHECK(parts(matcher, "czz") == "\"c\"[5]");
  CHECK(parts(matcher, "").empty());
  CHECK(parts(AddedTokenMatcher({}), "ab") == "\"ab\"");
}

TEST_CASE("added tokens of random bytes are found as by an exhaustive search") {
  std::mt19937 random(1);
  const auto word = [&](std::size_t most, unsigned letters) {
    std::string result;
    for (std::size_t i = random() % (most + 1); i > 0; --i) {
      result += static_cast<char>('\xFE' + static_cast<char>(random() % letters));
    }
    return result;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> contents(random() % 20);
    for (std::string& content : contents) {
      content = word(6, 3);
    }
    const AddedTokenMatcher matcher(tokens_of(contents));
    const std::string text = word(60, 4);
    REQUIRE(parts(matcher, text) == slow_parts(contents, text));
  }
}

TEST_CASE("matching long added tokens and long runs of blanks takes linear time") {
  std::vector<std::string> contents;
  for (std::size_t size = 2; size < AddedTokenMatcher::kLongest; ++size) {
    contents.push_back(std::string(size, 'a') + "b");
  }
  const AddedTokenMatcher matcher(tokens_of(contents));
  CHECK(matcher.split(std::string(1 << 20, 'a'), true).size() == 1);
  AddedToken blank{.content = " ", .lstrip = true, .rstrip = true};
  const AddedTokenMatcher blanks({blank});
  CHECK(blanks.split(std::string(1 << 20, ' '), true).size() == 1 << 20);
}
