#include <iostream>
#include <span>

#include "parity/table.h"

// headlight_parity DIR [--json]: computes all cases of a folder. Exit code 1 if a case differs, 2
// if there is no case or an error.
int main(int count, char** arguments) {
  std::string folder;
  bool json = false;
  for (const std::string argument :
       std::span(arguments, static_cast<std::size_t>(count)).subspan(1)) {
    if (argument == "--json") {
      json = true;
    } else {
      folder = argument;
    }
  }
  if (folder.empty()) {
    std::cerr << "usage: headlight_parity DIR [--json]\n";
    return 2;
  }
  try {
    const auto verdicts = headlight::parity::judge_folder(folder);
    json ? headlight::parity::print_json(std::cout, verdicts)
         : headlight::parity::print_table(std::cout, verdicts);
    return headlight::parity::all_passed(verdicts) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "headlight_parity: " << error.what() << "\n";
    return 2;
  }
}
