#include "formats/gguf/gguf_keys.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings/printable.h"
#include "formats/gguf/gguf_header.h"
#include "headlight/base/error.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {
namespace {

template <class T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// Returns the value as an Index; nothing if it is not an integer or does not fit.
template <class T>
std::optional<Index> integer_of(const T& value) {
  if constexpr (kIsInteger<T>) {
    return std::in_range<Index>(value) ? std::optional(static_cast<Index>(value)) : std::nullopt;
  }
  return std::nullopt;
}

// Returns the integer, or the common integer of a list.
std::optional<Index> common_integer(const GgufValue& value) {
  const auto of_list = [](const auto& list) -> std::optional<Index> {
    if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>) {
      return std::nullopt;
    } else {
      const bool same = !list.empty() && std::all_of(list.begin(), list.end(), [&](auto element) {
        return element == list.front();
      });
      return same ? integer_of<typename std::decay_t<decltype(list)>::value_type>(list.front())
                  : std::nullopt;
    }
  };
  if (const auto* list = std::get_if<GgufArray>(&value)) {
    return std::visit(of_list, *list);
  }
  return std::visit([](const auto& number) { return integer_of(number); }, value);
}

double shortest_decimal(float value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  double result = 0;
  std::from_chars(text.data(), end, result);
  return result;
}

std::string value_text(const GgufValue& value) {
  const auto text = [](const auto& plain) -> std::string {
    using T = std::decay_t<decltype(plain)>;
    if constexpr (std::is_same_v<T, GgufArray>) {
      return "a list";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return in_quotes(plain);
    } else if constexpr (std::is_same_v<T, bool>) {
      return plain ? "true" : "false";
    } else {
      return concat_text(+plain);
    }
  };
  return std::visit(text, value);
}

// True for 0 and false, which switch nothing on.
bool is_nothing(const GgufValue& value) {
  return std::visit(
      [](const auto& plain) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(plain)>>) {
          return plain == 0;
        }
        return false;
      },
      value);
}

// Keys that do not change a model's function.
constexpr std::array<std::string_view, 4> kIgnoredGgufKeys{"tensor_data_layout", "pooling_type",
                                                           "rope.scaling.original_context_length",
                                                           "rope.scaling.finetuned"};

}  // namespace

GgufKeys::GgufKeys(const GgufFile& file, std::string_view architecture)
    : file_(file), prefix_(std::string(architecture) + ".") {}

std::string GgufKeys::whole(std::string_view key) const { return prefix_ + std::string(key); }

const GgufValue* GgufKeys::find(std::string_view key) {
  const GgufValue* found = file_.find_value(whole(key));
  read_keys_.add(key, found != nullptr);
  return found;
}

Index GgufKeys::size(std::string_view key) {
  require_value(find(key) != nullptr, whole(key), "is missing");
  const Index size = integer(key, 0);
  require_value(size >= 1, whole(key), "expected 1 to ", kLargestSize, ", got ", size);
  return size;
}

Index GgufKeys::integer(std::string_view key, Index fallback) {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return fallback;
  }
  const std::optional<Index> number = common_integer(*value);
  require_value(number.has_value() || !std::holds_alternative<GgufArray>(*value), whole(key),
                "expected the same whole number for all layers");
  require_value(number && *number >= 0 && *number <= kLargestSize, whole(key),
                "expected a whole number from 0 to ", kLargestSize, ", got ", value_text(*value));
  return *number;
}

double GgufKeys::number(std::string_view key, std::optional<double> fallback) {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    require_value(fallback.has_value(), whole(key), "is missing");
    return *fallback;
  }
  if (const auto* single = std::get_if<float>(value)) {
    return shortest_decimal(*single);
  }
  const auto* number = std::get_if<double>(value);
  const std::optional<Index> integer = common_integer(*value);
  require_value(number != nullptr || integer, whole(key), "expected a number, got ",
                value_text(*value));
  return number != nullptr ? *number : static_cast<double>(*integer);
}

bool GgufKeys::boolean(std::string_view key, bool fallback) {
  const GgufValue* value = find(key);
  const bool* found = value == nullptr ? &fallback : std::get_if<bool>(value);
  require_value(found != nullptr, whole(key), "expected true or false");
  return *found;
}

std::string GgufKeys::text(std::string_view key, std::string_view fallback) {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return std::string(fallback);
  }
  const auto* found = std::get_if<std::string>(value);
  require_value(found != nullptr, whole(key), "expected a text");
  return *found;
}

void GgufKeys::require_all_known() const {
  for (const auto& [key, value] : file_.metadata()) {
    if (!key.starts_with(prefix_) || is_nothing(value)) {
      continue;
    }
    const std::string_view rest = std::string_view(key).substr(prefix_.size());
    const bool idle =
        std::find(kIgnoredGgufKeys.begin(), kIgnoredGgufKeys.end(), rest) != kIgnoredGgufKeys.end();
    require_value(idle || read_keys_.contains(rest), escaped(key), value_text(value),
                  " is not supported");
  }
}

}  // namespace headlight
