#include <algorithm>
#include <iostream>

#include "fault/campaigns.h"

namespace headlight::fault {

void Tally::count(const std::string& what, long number) {
  const auto known = std::find_if(figures_.begin(), figures_.end(),
                                  [&](const Figure& figure) { return figure.what == what; });
  if (known == figures_.end()) {
    figures_.push_back({what, number});
  } else {
    known->number += number;
  }
}

void Tally::problem(const std::string& text, const std::string& before) {
  if (!text.empty()) {
    problems_.push_back(before + text);
  }
}

bool Tally::report() const {
  std::cout << name_ << ":";
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    std::cout << (i == 0 ? " " : ", ") << figures_[i].number << " " << figures_[i].what;
  }
  std::cout << (problems_.empty() ? "" : ", " + std::to_string(problems_.size()) + " PROBLEMS")
            << "\n";
  constexpr std::size_t kShown = 20;
  constexpr std::size_t kLength = 500;
  for (std::size_t i = 0; i < std::min(kShown, problems_.size()); ++i) {
    std::cout << "  " << problems_[i].substr(0, kLength) << "\n";
  }
  std::cout.flush();
  return problems_.empty();
}
}  // namespace headlight::fault
