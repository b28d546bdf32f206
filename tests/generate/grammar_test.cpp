#include <ctime>

#include "generate/grammar/grammar_state.h"
#include "generate/grammar_rows.h"
#include "generate/word_tokenizer.h"
#include "support/test.h"

namespace grammar_test {
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

TEST_CASE("a grammar matches the texts of its notation, or its faults are reported") {
  check_grammars("generate/grammars.txt", "grammar: ", [](const std::string& grammar) {
    return std::make_unique<const Grammar>(grammar);
  });
  CHECK(error_of("") == "grammar: has no rule 'root'");
  CHECK(error_of("root ::= \"\xFF\"") == "grammar: invalid UTF-8 at byte 10");
  CHECK_FALSE(Grammar("root ::= [^a] .").matches("d\xFF"));
  const Grammar letters("root ::= [\\u0370-\\U00010330]");
  CHECK_FALSE(letters.matches("\xED\xA0\x80"));  // half of a pair
  CHECK_FALSE(letters.matches("\xC0\xB0"));
}

TEST_CASE("hostile grammars end soon with one error") {
  const std::clock_t begin = std::clock();  // of the processor: other programs do not count
  const std::string many_names = [] {
    const std::string text = "root ::= r0" + joined(20'000, [&](int i) {
                               return "\nr" + std::to_string(i) + " ::= r" + std::to_string(i + 1);
                             });
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
  CHECK(std::clock() - begin < 10 * CLOCKS_PER_SEC);
}

TEST_CASE("texts that a grammar reads in too many ways end soon with one error") {
  const std::clock_t begin = std::clock();  // of the processor: other programs do not count
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
  CHECK(std::clock() - begin < 20 * CLOCKS_PER_SEC);
}

TEST_CASE("a grammar forgets what it no longer needs in a long text") {
  const Grammar grammar("root ::= \"[\" root \"]\" | \"x\"{0,50000}");
  CHECK(grammar.matches(std::string(50'000, 'x')));
  CHECK(!grammar.matches(std::string(50'001, 'x')));
  const std::string open(100'000, '[');
  CHECK(grammar.matches(open + "xx" + std::string(100'000, ']')));
  CHECK(!grammar.matches(open + "xx" + std::string(100'001, ']')));
}

TEST_CASE("characters may end between tokens") {
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

TEST_CASE("allowed tokens are the same when they are prepared in parts") {
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

TEST_CASE("tokens are allowed if all their bytes continue the text") {
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
