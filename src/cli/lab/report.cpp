#include "cli/lab/report.h"

#include "base/json.h"
#include "views/report/terminal_text.h"

namespace headlight::cli::lab {
namespace {

constexpr std::size_t kColumns = 79;

constexpr Text kFindings{"What the numbers of this run show", "이번 실행의 숫자가 보여 주는 것"};

std::string underlined(const std::string& title) {
  std::string line;
  for (std::size_t i = 0; i < display_width(title); ++i) {
    line += "─";
  }
  return title + "\n" + line + "\n";
}

}  // namespace

std::string Report::words(const Text& text, const std::vector<std::string>& values) const {
  std::string filled = language_ == Language::korean ? text.ko : text.en;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string mark = "{" + std::to_string(i) + "}";
    for (std::size_t at = filled.find(mark); at != std::string::npos;
         at = filled.find(mark, at + values[i].size())) {
      filled.replace(at, mark.size(), values[i]);
    }
  }
  return filled;
}

void Report::heading(const Text& text, const std::vector<std::string>& values) {
  body_ += underlined(words(text, values));
}

void Report::paragraph(const Text& text, const std::vector<std::string>& values) {
  body_ += wrapped(words(text, values), kColumns) + "\n";
}

void Report::table(const Table& table) { body_ += table.text() + "\n"; }

void Report::block(const std::string& lines) { body_ += lines + "\n"; }

void Report::figure(const std::string& file, std::string svg) { figures_[file] = std::move(svg); }

void Report::claim(const Claim& claim, const std::vector<std::string>& values) {
  findings_.push_back(
      {claim.id, claim.holds, words(claim.holds ? claim.if_so : claim.if_not, values)});
}

std::string Report::text() const {
  std::string text = body_;
  if (!findings_.empty()) {
    text += underlined(words(kFindings));
    for (const Finding& finding : findings_) {
      text += wrapped((finding.holds ? "✓ " : "✗ ") + finding.text, kColumns, 2);
    }
  }
  return text;
}

Json Report::json() const {
  Json claims = Json::array();
  for (const Finding& finding : findings_) {
    claims.push_back({{"id", finding.id}, {"holds", finding.holds}, {"text", finding.text}});
  }
  return {{"values", values_}, {"claims", claims}};
}

}  // namespace headlight::cli::lab
