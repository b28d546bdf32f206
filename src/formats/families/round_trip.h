#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "headlight/nn/gpt_config.h"

// What a file says of a model is what reading it gives.
namespace headlight {

// Returns the configuration with a number in each field for which canonical() has a default.
GptConfig spelled_out(const GptConfig& config);

// Why files of a program cannot hold a model.
struct Refusal {
  std::string text = {};  // about the first key; "": they can
  std::size_t keys = 0;   // number of keys with another value
};

// Returns why reading what was written for a model does not give it: "norm = post cannot be
// expressed: llama has pre". `written_and_read` returns what it gives, or throws Error. Numbers may
// differ by the relative tolerance.
Refusal round_trip_refusal(const GptConfig& config, double tolerance, std::string_view reader,
                           const std::function<GptConfig()>& written_and_read);

}  // namespace headlight
