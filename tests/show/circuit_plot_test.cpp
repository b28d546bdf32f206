#include "headlight/show/plot/circuit_plot.h"
#include "support/test.h"

CircuitNode head(Index layer, Index number) {
  return {.part = CircuitPart::head, .layer = layer, .head = number, .last = number};
}

// Starts of the lines' paths: "M84 97 C84 111 67 122 67 140".
std::multiset<std::string> paths_of(const std::string& svg) {
  std::multiset<std::string> paths;
  for (std::size_t at = svg.find("<path d=\""); at != svg.npos;
       at = svg.find("<path d=\"", at + 1)) {
    paths.insert(svg.substr(at + 9, svg.find('"', at + 9) - at - 9));
  }
  return paths;
}

TEST_CASE("a circuit has a line of its own for each kept edge") {
  CircuitResult circuit;
  for (const Point point : {Point::q, Point::k, Point::v}) {
    circuit.edges.push_back(
        {.from = head(0, 1), .to = head(1, 0), .into = point, .score = 0.5, .is_kept = true});
  }
  circuit.edges.push_back(
      {.from = head(1, 0), .to = {.part = CircuitPart::logits}, .score = -0.2, .is_kept = true});
  circuit.edges.push_back({.from = head(0, 0), .to = head(1, 0), .into = Point::q, .score = 1});
  const std::string svg = circuit_svg(circuit, "Circuit", "4 of 5 edges");
  const std::multiset<std::string> paths = paths_of(svg);
  CHECK(paths.size() == 4);
  CHECK(std::set<std::string>(paths.begin(), paths.end()).size() == 4);
  CHECK(has_parts(svg, {"0.1 to 1.0 (q): 0.50", "0.1 to 1.0 (k): 0.50", "0.1 to 1.0 (v): 0.50",
                        "1.0 to logits: -0.20", ">q</text>", ">k</text>", ">v</text>"}));
}
