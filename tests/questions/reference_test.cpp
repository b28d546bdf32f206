#include <cstdlib>

#include "questions/question.h"
#include "support/test.h"

// docs/questions.md lists the parameters and answers of all questions. Written anew by this test
// with HEADLIGHT_WRITE_REFERENCE=1 in the environment.

std::string escaped_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) {
    text.insert(at, 1, '\\');
  }
  return text;
}

// What a parameter takes, and its default.
std::string takes(const Parameter& parameter) {
  constexpr std::array<std::string_view, 15> kNames{"",
                                                    "a number",
                                                    "a number",
                                                    "a number or a share",
                                                    "",
                                                    "a text",
                                                    "texts",
                                                    "a range",
                                                    "a text or ids",
                                                    "a text or ids",
                                                    "pairs",
                                                    "",
                                                    "a file",
                                                    "a file or folder to write",
                                                    "texts or files"};
  const bool is_name = parameter.kind == ValueKind::name || parameter.kind == ValueKind::metric;
  std::string text = is_name ? listed(parameter.choices)
                             : std::string(kNames.at(static_cast<std::size_t>(parameter.kind)));
  if (!parameter.fallback.is_null()) {
    const Json& fallback = parameter.fallback;
    text += " (" + (fallback.is_string() ? fallback.text() : fallback.dump()) + ")";
  }
  return text;
}

std::string reference_of(const Question& question) {
  std::string text =
      concat_text("\n## ", question.name, "\n\n", question.summary,
                  "\n\n| Parameter | Takes (default) | Meaning |\n| --- | --- | --- |\n");
  for (const Parameter& parameter : question.parameters) {
    text += concat_text("| `", parameter.name, "` | ", escaped_cell(takes(parameter)), " | ",
                        escaped_cell(parameter.help), " |\n");
  }
  text += "\n| Key of the answer | Meaning |\n| --- | --- |\n";
  for (const ResultKey& fact : question.facts) {
    text += concat_text("| `", fact.name, "` | ", escaped_cell(std::string(fact.meaning)), " |\n");
  }
  for (const ResultKey& column : question.columns) {
    text += concat_text("| `", question.rows, "[]`: `", column.name, "` | ",
                        escaped_cell(std::string(column.meaning)), " |\n");
  }
  return text;
}

TEST_CASE("docs/questions.md describes the questions as they are") {
  std::string text =
      "# Questions about a model\n\n"
      "Each is a command with its parameters as options, a request (`POST /api/NAME`) with them as "
      "members (those without files),\nand a method of Python's `Model` with them as arguments. "
      "The "
      "answers have the same keys: `--json` prints them, responses\nhold them, and Python has them "
      "in "
      "`Result.summary` and in arrays. [heads.md](heads.md) explains the measures.\n";
  for (const Question* question : questions()) {
    text += reference_of(*question);
  }
  const std::filesystem::path file =
      std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "docs/questions.md";
  if (std::getenv("HEADLIGHT_WRITE_REFERENCE") != nullptr) {
    std::ofstream(file) << text;
  }
  CHECK(file_contents(file) == text);
}
