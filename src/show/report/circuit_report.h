#pragma once

#include <string>

#include "headlight/interpret/circuit/circuit.h"
#include "show/result/result.h"

// Output of `headlight circuit`.
namespace headlight {

// "12 of 340 edges, faithfulness 0.83"
std::string circuit_summary(const CircuitResult& result);

// Returns float64 score [E] and curve_faithfulness [P], int32 kept [E] and curve_edges [P]. Texts:
// from, to and into of each edge.
ResultArrays circuit_arrays(const CircuitResult& result);

// Returns the kept edges and the curve of faithfulness; nothing if no edge is kept.
std::vector<ResultGrid> circuit_grids(const CircuitResult& result);

}  // namespace headlight
