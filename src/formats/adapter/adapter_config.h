#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "headlight/base/index.h"

namespace headlight {

// The keys of PEFT's adapter_config.json that change a LoRA adapter's computation.
struct AdapterSettings {
  Index rank = 8;  // of modules without a pattern
  double alpha = 8;
  bool rslora = false;
  bool dora = false;
  bool ties_weights = false;  // changes of the token embedding are also changes of a tied head
  // Patterns of module names with the alpha of the modules that match, in the order of the file.
  std::vector<std::pair<std::string, double>> alphas = {};
  // Ids of the trained tokens by the end of the module's name; "": the token embedding.
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> tokens = {};

  // Returns the alpha of a module: that of the first pattern that matches, as in PEFT. Throws Error
  // for a pattern that is no regular expression.
  double alpha_of(const std::string& module) const;
  // Returns the factor of b a for a module whose update has this rank.
  double scale_of(const std::string& module, Index update_rank) const;
};

// Reads the settings. Throws Error about the key for another kind of adapter, for values that
// Headlight does not compute, and for unknown keys with a value.
AdapterSettings read_adapter_settings(const Json& config);

}  // namespace headlight
