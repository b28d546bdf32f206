#include "parity/table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

namespace headlight::parity {
namespace {

constexpr int kNameWidth = 44;

struct Row {
  Index cases = 0;
  bool passed = true;
  const CaseVerdict* tightest = nullptr;
};

// Returns the error as a share of its limit.
double used(const CaseVerdict& verdict) {
  return verdict.limit > 0 ? verdict.error / verdict.limit : verdict.error;
}

std::map<std::string, Row> rows_of(const std::vector<CaseVerdict>& verdicts) {
  std::map<std::string, Row> rows;
  for (const CaseVerdict& verdict : verdicts) {
    Row& row = rows[verdict.rung];
    ++row.cases;
    row.passed = row.passed && verdict.passed;
    if (row.tightest == nullptr || used(verdict) > used(*row.tightest)) {
      row.tightest = &verdict;
    }
  }
  return rows;
}

Json case_json(const CaseVerdict& verdict) {
  Json result{{"name", verdict.name},         {"rung", verdict.rung},   {"error", verdict.error},
              {"elements", verdict.elements}, {"limit", verdict.limit}, {"passed", verdict.passed}};
  if (!verdict.passed) {
    result["trouble"] = verdict.trouble;
  }
  return result;
}

}  // namespace

bool all_passed(const std::vector<CaseVerdict>& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const CaseVerdict& verdict) { return verdict.passed; });
}

void print_table(std::ostream& out, const std::vector<CaseVerdict>& verdicts) {
  out << std::left << std::setw(kNameWidth) << "what"
      << " | cases | largest error | limit   | verdict\n";
  out << std::setprecision(2) << std::scientific;
  for (const auto& [rung, row] : rows_of(verdicts)) {
    out << std::left << std::setw(kNameWidth) << rung << " | " << std::right << std::setw(5)
        << row.cases << " | " << std::setw(13) << row.tightest->error << " | " << std::setw(7)
        << std::setprecision(1) << row.tightest->limit << std::setprecision(2) << " | "
        << (row.passed ? "passed" : "FAILED") << "\n";
  }
  for (const CaseVerdict& verdict : verdicts) {
    if (!verdict.passed) {
      out << verdict.name << ": " << verdict.trouble << "\n";
    }
  }
}

void print_json(std::ostream& out, const std::vector<CaseVerdict>& verdicts) {
  Json cases = Json::array();
  for (const CaseVerdict& verdict : verdicts) {
    cases.push_back(case_json(verdict));
  }
  out << Json{{"passed", all_passed(verdicts)}, {"cases", cases}}.dump() << "\n";
}

}  // namespace headlight::parity
