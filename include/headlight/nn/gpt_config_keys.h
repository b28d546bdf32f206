#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "headlight/nn/gpt_config.h"

// The table of GptConfig's members. Reading, writing, checking and comparing configurations follow
// from its rows.
namespace headlight {

inline constexpr double kLargestScale = 1e6;
inline constexpr double kLargestTheta = 1e12;

// Range of a numeric key.
struct ConfigRange {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool below_most = false;  // `most` itself is not allowed
  bool is_guard = false;    // `most` only prevents overflow; help texts omit it
  bool is_cap = false;      // also 0, for no cap
};

// A member of GptConfig or of its RopeOptions.
using GptConfigMember = std::variant<
    Index GptConfig::*, double GptConfig::*, bool GptConfig::*, std::optional<bool> GptConfig::*,
    std::vector<Index> GptConfig::*, std::vector<std::vector<Index>> GptConfig::*,
    NormPosition GptConfig::*, NormKind GptConfig::*, PositionKind GptConfig::*,
    Activation GptConfig::*, Index RopeOptions::*, double RopeOptions::*, bool RopeOptions::*,
    RotaryStyle RopeOptions::*, RopeScaling RopeOptions::*, std::vector<double> RopeOptions::*>;

struct GptConfigKey {
  const char* name;
  GptConfigMember member;
  std::string_view help = {};  // of the key as a setting of a training; empty: it is none
  // Range of a number, or of each number of a list. If it has no upper bound, validate() checks the
  // number on its own.
  std::optional<ConfigRange> range = {};
  // Returns a value that means the same as the default; null: there is none.
  double (*same_as_default)(const GptConfig& config) = nullptr;
  // Returns whether the model depends on the key; null: always, or if positions are rotated.
  bool (*has_effect)(const GptConfig& config) = nullptr;
  // Returns whether other keys forbid the value, with the message `fault`; null: never.
  bool (*is_refused)(const GptConfig& config) = nullptr;
  const char* fault = "";
  std::string_view follows = {};  // the setting that a value follows that was not given
  // Keys with the value in files of other programs, with blanks. Those inside an object, for
  // example rope_scaling, are listed without the object's name.
  std::string_view file_names = {};
  bool is_gpt2 = false;         // models of type "gpt2" have the key, some by another name
  bool is_basic = false;        // in the short help
  std::string_view group = {};  // heading of this setting and those after it in the help
};

// Returns the key of each member, in the order of config.json and help texts.
std::span<const GptConfigKey> gpt_config_keys();

template <class Config, class Owner, class T>
auto& value_in(Config& config, T Owner::*member) {
  if constexpr (std::is_same_v<Owner, RopeOptions>) {
    return config.rope.*member;
  } else {
    return config.*member;
  }
}

// Calls visit(value) for the value of a key, and returns its result.
template <class Config, class Visit>
decltype(auto) visit_value(const GptConfigKey& key, Config&& config, const Visit& visit) {
  return std::visit([&](auto member) -> decltype(auto) { return visit(value_in(config, member)); },
                    key.member);
}

// Returns whether the key is a member of RopeOptions.
bool is_of_rope(const GptConfigKey& key);

// Returns whether the model of a configuration depends on a key.
bool has_effect(const GptConfigKey& key, const GptConfig& config);

// Sets a key of `to` to its value in `from`.
void copy_value(const GptConfigKey& key, const GptConfig& from, GptConfig& to);

// Returns whether both configurations have the same value of a key.
bool is_equal_in(const GptConfigKey& key, const GptConfig& a, const GptConfig& b);

// Returns a value as text: "true", "0.5", "gelu_new", "1,2,3"; of lists in a list "1,2;3"; without
// elements or value "none".
std::string value_text(const GptConfigKey& key, const GptConfig& config);

}  // namespace headlight
