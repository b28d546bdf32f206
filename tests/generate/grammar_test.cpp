#include "generate/grammar/grammar_state.h"
#include "generate/word_tokenizer.h"
#include "support/test.h"

namespace grammar_test {
struct Case {
  const char* grammar;
  std::vector<std::string> matching;
  std::vector<std::string> others;
};

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

std::string error_of(const std::string& grammar) {
  return test::error_of([&] { Grammar{grammar}; });
}

// Returns the bytes that may follow a text, from a vocabulary of single bytes.
std::string next_bytes(const Grammar& grammar, std::string_view text) {
  static const TokenTrie kBytes{ByteTokenizer()};
  GrammarState state(grammar);
  state.advance(text);
  const std::span<const char> allowed = state.allowed(kBytes);
  std::string bytes;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (allowed[byte] != 0) {
      bytes += static_cast<char>(byte);
    }
  }
  return bytes;
}

std::vector<int> allowed_ids(GrammarState& state, const TokenTrie& tokens) {
  std::vector<int> ids;
  const std::span<const char> allowed = state.allowed(tokens);
  for (std::size_t id = 0; id < allowed.size(); ++id) {
    if (allowed[id] != 0) {
      ids.push_back(static_cast<int>(id));
    }
  }
  return ids;
}

TEST_CASE("a grammar matches the texts of its notation", "[generate]") {
  const std::vector<Case> cases{
      {R"(root ::= "yes" | "no")", {"yes", "no"}, {"", "ye", "yesno", "YES"}},
      {R"(root ::= "a" "b"?  "c"*)", {"a", "ab", "abc", "accc"}, {"b", "abb", "acb"}},
      {R"(root ::= ("ab" | "c")+)", {"ab", "cab", "ccc"}, {"", "a", "abb"}},
      {R"(root ::= "ab"{2} [0-9]{1,3} "x"{2,} "y"{0})",
       {"abab1xx", "abab123xxxx"},
       {"abb1xx", "abab1234xx", "abab1x", "abab1xxy"}},
      {R"(root ::= [^a-c\n] .)", {"d\n", "\xC3\xA9\xF0\x9F\x98\x80"}, {"aa", "\nx", "d", "d\xFF"}},
      {R"(root ::= [\x41\u00e9\U0001F600\]\\-])",
       {"A", "\xC3\xA9", "\xF0\x9F\x98\x80", "]", "\\", "-"},
       {"B", "^"}},
      {R"(root ::= "\"\\\t\x41\u00E9" [a-])",
       {"\"\\\tA\xC3\xA9-",
        "\"\\\tA\xC3\xA9"
        "a"},
       {""}},
      {R"(root ::= "")", {""}, {"a"}},
      {R"(root ::= "a" (("b")) () "c")", {"abc"}, {"ac"}},
      {R"(root ::= ([a]* [b]?)*)", {"", "a", "aabba"}, {"c"}},
      {"# a comment\nroot ::= # another\n  item (\"-\"\n item)* # last\n\nitem ::=\n  [0-9]\n | "
       "\"x\"",
       {"1", "x-2"},
       {"1-", "-"}},
      {"root ::= a \"!\"\na ::=\nb ::= \"unused\"", {"!"}, {"unused!"}},
      {"root ::= \"(\" root \")\" root |", {"", "()", "(())()"}, {"(", ")(", "(()"}},
      {"root ::= under_score2-x\r\nunder_score2-x ::= \"a\" |\r\n \"b\"\r\n", {"a", "b"}, {""}},
      {R"(root ::= [\u0370-\U00010330])",
       {"\xCD\xB0", "\xE2\x82\xAC", "\xF0\x90\x8C\xB0"},
       {"\xCD\xAF", "\xF0\x90\x8C\xB1", "\xED\xA0\x80", "\xC0\xB0"}},
      {R"(root ::= "x" [^\x00-\U0010FFFF] | "y")", {"y"}, {"x"}},
  };
  for (const Case& one : cases) {
    const Grammar grammar(one.grammar);
    for (const std::string& text : one.matching) {
      INFO(one.grammar << " with " << text);
      CHECK(grammar.matches(text));
    }
    for (const std::string& text : one.others) {
      INFO(one.grammar << " with " << text);
      CHECK(!grammar.matches(text));
    }
  }
}

TEST_CASE("a fault in a grammar is reported with its line", "[generate]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "grammar: has no rule 'root'"},
      {"a ::= \"b\"", "grammar: has no rule 'root'"},
      {"root ::= \"a\"\n\nb = c", "grammar: line 3: expected '::=' after the rule name, got '='"},
      {"root ::= a\n", "grammar: line 1: the rule 'a' is not defined"},
      {"root ::= \"a",
       "grammar: line 1: expected '\"' at the end of the text, got the end of the "
       "grammar"},
      {"root ::= \"a\n\"",
       "grammar: line 1: expected '\"' at the end of the text, got the end of "
       "the line"},
      {"root ::= [a",
       "grammar: line 1: expected ']' at the end of the characters, got the end of "
       "the grammar"},
      {"root ::= [z-a]", "grammar: line 1: a range of characters ends before it begins"},
      {"root ::= (\"a\"\n\n",
       "grammar: line 3: expected ')' at the end of the group, got the end "
       "of the grammar"},
      {"root ::= \"a\")", "grammar: line 1: expected the end of the rule, got ')'"},
      {"root ::= \"\\q\"",
       "grammar: line 1: expected one of n r t \" \\ [ ] - xNN uNNNN UNNNNNNNN "
       "after '\\', got 'q'"},
      {"root ::= \"\\xg\"", "grammar: line 1: expected a hexadecimal digit, got 'g'"},
      {"root ::= \"\\uD800\"", "grammar: line 1: an escape is not a character of Unicode"},
      {"root ::= \"a\"{3,2}", "grammar: line 1: a repetition has a maximum below its minimum"},
      {"root ::= \"a\"{}", "grammar: line 1: expected a number of repetitions, got '}'"},
      {"root ::= \"a\"{1",
       "grammar: line 1: expected '}' at the end of the repetition, got the "
       "end of the grammar"},
      {"root ::= *", "grammar: line 1: expected a rule, a text, '[', '.' or '(', got '*'"},
      {"root ::= \"a\"\nroot ::= \"b\"", "grammar: line 2: the rule 'root' is defined twice"},
      {"root ::= <think>", "grammar: line 1: expected a rule, a text, '[', '.' or '(', got '<'"},
      {"root ::= \"\xFF\"", "grammar: invalid UTF-8 at byte 10"},
      {"root ::= \"x\" root", "grammar: no text matches the rule 'root'"},
      {"root ::= a\na ::= b \"x\"\nb ::= a | \"y\"",
       "grammar: the rule 'a' may begin with itself (left recursion): let it begin with a "
       "character"},
      {"root ::= \"x\"? [b]{0,2} root | \"y\"",
       "grammar: the rule 'root' may begin with itself (left recursion): let it begin with a "
       "character"},
  };
  for (const auto& [grammar, message] : cases) {
    INFO(grammar);
    CHECK(error_of(grammar) == message);
  }
}

TEST_CASE("hostile grammars end soon with one error", "[generate]") {
  const auto begin = std::chrono::steady_clock::now();
  const std::string many_names = [] {
    std::string text = "root ::= r0";
    for (int i = 0; i < 20'000; ++i) {
      text += "\nr" + std::to_string(i) + " ::= r" + std::to_string(i + 1);
    }
    return text + "\nr20000 ::= r0";
  }();
  const std::vector<std::string> hostile{
      "root ::= " + repeated("(", 100'000),
      "root ::= \"a\"" + repeated("{1000}", 1000) + repeated("{1000", 10),
      "root ::= [a-z]{99999999999999999999}",
      "root ::= \"abc\"{100000}{100000} [^a]{100000} [^b]{100000}",
      "root ::= " + repeated("\"x\" ", 300'000),
      "root ::= " + std::string(500'000, 'a'),
      "root ::= [" + repeated("a-b", 300'000) + "]" + repeated(" [^\\u0100-\\u0101]", 20'000),
      many_names,
      std::string(2'000'000, ' '),
      "root ::= \"" + repeated("\\", 500'001),
  };
  for (const std::string& grammar : hostile) {
    INFO(grammar.substr(0, 40));
    const std::string message = error_of(grammar);
    CHECK(message.starts_with("grammar: "));
    CHECK(message.find('\n') == std::string::npos);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("texts that a grammar reads in too many ways end soon with one error", "[generate]") {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> ambiguous{
      "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"",
      "root ::= a{0,1000}\na ::= \"a\"{0,1000}",
  };
  for (const std::string& text : ambiguous) {
    INFO(text);
    const Grammar grammar(text);
    CHECK_THROWS_WITH(grammar.matches(std::string(10'000, 'a')),
                      "grammar: can read the text in too many ways");
  }
  // Many ways to the same place cost nothing.
  CHECK(Grammar("root ::= (\"a\" | \"a\" | [a-c] | (\"a\"*)*)*").matches(std::string(10'000, 'a')));
  CHECK(!Grammar("root ::= a{0,10}\na ::= \"a\"{0,10}").matches(std::string(101, 'a')));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a grammar forgets what it no longer needs in a long text", "[generate]") {
  const Grammar grammar("root ::= \"[\" root \"]\" | \"x\"{0,50000}");
  CHECK(grammar.matches(std::string(50'000, 'x')));
  CHECK(!grammar.matches(std::string(50'001, 'x')));
  const std::string open(100'000, '[');
  CHECK(grammar.matches(open + "xx" + std::string(100'000, ']')));
  CHECK(!grammar.matches(open + "xx" + std::string(100'001, ']')));
}

TEST_CASE("characters may end between tokens", "[generate]") {
  const Grammar letters(R"(root ::= "x"? [à-ü€])");  // C3 A0 to C3 BC, E2 82 AC
  CHECK(next_bytes(letters, "") == "x\xC3\xE2");
  CHECK(next_bytes(letters, "x\xE2") == "\x82");
  CHECK(next_bytes(letters, "x\xE2\x82") == "\xAC");
  const std::string second = next_bytes(letters, "\xC3");
  CHECK(second.size() == 0xBC - 0xA0 + 1);
  CHECK(second.front() == '\xA0');
  CHECK(second.back() == '\xBC');
  const Grammar any("root ::= [^a]");
  const std::string first = next_bytes(any, "");
  CHECK(first.size() == 127 + (0xDF - 0xC2 + 1) + 16 + 5);  // no 80 to C1, no F5 to FF
  CHECK(next_bytes(any, "\xED").back() == '\x9F');          // no surrogates
  CHECK_THROWS_WITH(GrammarState(letters).advance("\xC3\x80"),
                    "grammar: the text does not match after the last token");
}

TEST_CASE("allowed tokens are the same when they are prepared in parts", "[generate]") {
  const WordTokenizer tokenizer;
  const TokenTrie tokens(tokenizer);
  const Grammar grammar(R"(root ::= ("a" | "b" | " " | "é"){0,300})");
  GrammarState at_once(grammar, {0});
  GrammarState in_parts(grammar, {0});
  for (int i = 0; i < 3; ++i) {
    int parts = 1;
    while (!in_parts.prepare(tokens, 1)) {
      ++parts;
    }
    CHECK(parts > 1);
    CHECK(allowed_ids(in_parts, tokens) == allowed_ids(at_once, tokens));
    in_parts.advance("a");
    at_once.advance("a");
  }
}

TEST_CASE("tokens are allowed if all their bytes continue the text", "[generate]") {
  const WordTokenizer tokenizer;
  const TokenTrie tokens(tokenizer);
  const TokenTrie first(tokenizer, TokenTrie::Position::start_of_text);
  const Grammar grammar(R"(root ::= "a" "b"? (" " "a"* "é"?)?)");
  GrammarState state(grammar, {0});
  CHECK(allowed_ids(state, first) == std::vector<int>{1, 2, 3});
  CHECK(allowed_ids(state, tokens) == std::vector<int>{2});
  state.advance("a");
  CHECK(allowed_ids(state, tokens) == std::vector<int>{0, 1, 4, 6});
  CHECK((state.can_end() && !state.is_complete()));
  state.advance(" \xC3");
  CHECK(!state.can_end());
  CHECK_THROWS_WITH(state.allowed(tokens),
                    "grammar: no token of the vocabulary can continue the text");
  state.advance("\xA9");
  CHECK((state.can_end() && state.is_complete()));
  CHECK(allowed_ids(state, tokens) == std::vector<int>{0});
}
}  // namespace grammar_test
