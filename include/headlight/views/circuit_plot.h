#pragma once

#include <string>

#include "headlight/heads/circuit.h"

namespace headlight {

// The kept edges of a circuit as a graph: layers from top to bottom, heads side by side and MLPs
// at the right, a line for all edges between two nodes, the thicker the more they carry, blue for
// the answer and orange against it; what a line carries shows when a pointer rests on it. An SVG on
// a white ground that refers to no other file. Throws Error when no edge is kept.
std::string circuit_svg(const CircuitResult& circuit, const std::string& title,
                        const std::string& note);

}  // namespace headlight
