#include <iostream>

#include "cli/bench/bench.h"

// Prints the line of `headlight bench --signature` and the hash of each part.
int main() {
  const headlight::cli::BenchReport report = headlight::cli::bench_signature();
  std::cout << report.text << report.json.dump() << "\n";
}
