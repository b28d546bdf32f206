#pragma once

#include <functional>

#include "headlight/optim/muon.h"
#include "parity/parity_case.h"

// Runners compute the cases of an op: they take the inputs of a run and add its outputs.
namespace headlight::parity {

using Runner = std::function<void(Run&)>;
using Runners = std::map<std::string, Runner>;  // by the op's name

Runners elementwise_runners();
Runners matmul_runners();
Runners reduce_runners();
Runners softmax_runners();
Runners mask_runners();
Runners layout_runners();
Runners layer_runners();
Runners attention_runners();
Runners module_runners();
Runners gpt2_runners();
Runners family_runners();
Runners muon_runners();

// All of the above.
const Runners& all_runners();

// Options of a case's Muon optimizer.
MuonOptions muon_options(const Run& run);

// Returns an attribute that is a list of sizes.
Shape shape_attribute(const Run& run, const std::string& name);

}  // namespace headlight::parity
