#pragma once

#include <string>

#include "headlight/interpret/circuit/circuit.h"

namespace headlight {

// Returns the kept edges of a circuit as an SVG graph: layers from top to bottom, heads side by
// side, MLPs at the right. One line represents all edges between two nodes; its width grows with
// the sum of their scores. Lines are blue for a positive sum (towards the answer), orange for a
// negative one. A line's tooltip shows the sum. The background is white, and the SVG refers to no
// other file. Throws Error if no edge is kept.
std::string circuit_svg(const CircuitResult& circuit, const std::string& title,
                        const std::string& note);

}  // namespace headlight
