#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "text/pipeline/regex/regex.h"

namespace headlight {
namespace {

// A hostile expression may need time that grows exponentially with the text.
constexpr std::uint32_t kMostSteps = 200'000;         // of one match
constexpr std::uint32_t kMostMemory = 64U << 10;      // KiB
constexpr std::size_t kLongestExpression = 1U << 14;  // bytes

template <auto kFree>
struct Freeing {
  template <class T>
  void operator()(T* value) const {
    kFree(value);
  }
};

using Code = std::unique_ptr<pcre2_code, Freeing<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freeing<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freeing<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Freeing<pcre2_compile_context_free>>;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 200> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// What Oniguruma reads in another way: hexadecimal digits, sets within sets, dots that match line
// ends.
void require_same_meaning(std::string_view expression, std::string_view where) {
  for (const std::string_view part : {"\\h", "\\H", "&&", "(?m", "\\K", "\\R", "\\X"}) {
    require(expression.find(part) == std::string_view::npos, where, ": pattern ",
            quoted_text(expression), ": ", part, " is not supported");
  }
}

// White space is Unicode's: that of PCRE2 has U+180E, too.
std::string with_white_space(std::string_view expression) {
  std::string result;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char next = expression[i] == '\\' && i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (next == 's' || next == 'S') {
      result += next == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      ++i;
      continue;
    }
    result += expression[i];
    if (next != '\0') {
      result += next;
      ++i;
    }
  }
  return result;
}

}  // namespace

struct Regex::Compiled {
  Code code;
  MatchContext context;

  // The first match from `start` on.
  std::optional<TextSpan> find(pcre2_match_data* data, std::string_view text,
                               std::size_t start) const {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start,
                         options, data, context.get());
    };
    int result = match(PCRE2_NO_UTF_CHECK);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      result = match(PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
    }
    if (result == PCRE2_ERROR_NOMATCH) {
      return std::nullopt;
    }
    require(result > 0, "[encode] the tokenizer's pattern: ", message_of(result));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data);
    return TextSpan{ends[0], ends[1]};
  }

  // Those of valid UTF-8, moved by `offset`.
  void append(std::string_view text, std::size_t offset, std::vector<TextSpan>& spans) const {
    const MatchData data(pcre2_match_data_create_from_pattern(code.get(), nullptr));
    require(data != nullptr, "[encode] no memory to match a pattern");
    std::size_t start = 0;
    bool after_match = false;  // one ended at `start`
    while (start <= text.size()) {
      const std::optional<TextSpan> found = find(data.get(), text, start);
      if (!found) {
        return;
      }
      const bool empty = found->begin == found->end;
      if (empty && after_match && found->end == start) {
        start += start < text.size()
                     ? static_cast<std::size_t>(first_character(text.substr(start)).length)
                     : 1;
        after_match = false;
        continue;
      }
      spans.push_back({found->begin + offset, found->end + offset});
      start = found->end;
      after_match = true;
    }
  }
};

Regex::Regex(std::string_view expression, std::string_view where) {
  require(expression.size() <= kLongestExpression, where, ": a pattern of ", expression.size(),
          " bytes, expected at most ", kLongestExpression);
  require_same_meaning(expression, where);
  const CompileContext options(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(options.get(), PCRE2_NEWLINE_LF);
  const std::string translated = with_white_space(expression);
  int error = 0;
  PCRE2_SIZE place = 0;
  auto compiled = std::make_shared<Compiled>();
  // Oniguruma's ^ and $ are the ends of lines.
  compiled->code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &place, options.get()));
  if (compiled->code == nullptr) {
    fail(where, ": pattern ", quoted_text(expression), ": ", message_of(error), " at byte ", place);
  }
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);  // else it is interpreted
  compiled->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(compiled->context.get(), kMostSteps);
  pcre2_set_heap_limit(compiled->context.get(), kMostMemory);
  compiled_ = std::move(compiled);
}

std::vector<TextSpan> Regex::matches(std::string_view text) const {
  std::vector<TextSpan> spans;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t valid = valid_utf8_prefix(text.substr(begin));
    compiled_->append(text.substr(begin, valid), begin, spans);
    begin += valid;
    if (begin < text.size()) {
      begin += static_cast<std::size_t>(first_character(text.substr(begin)).length);
    }
  }
  return spans;
}

}  // namespace headlight
