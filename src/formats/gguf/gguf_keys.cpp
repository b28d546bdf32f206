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
    : prefix_(std::string(architecture) + "."), file_(&file) {}

GgufKeys::GgufKeys(std::string_view architecture)
    : prefix_(std::string(architecture) + "."),
      writes_(true),
      written_{{"general.architecture", std::string(architecture)}} {}

GgufKeys GgufKeys::read_again() const {
  GgufKeys keys = *this;
  keys.writes_ = false;
  return keys;
}

std::string GgufKeys::whole(std::string_view key) const { return prefix_ + std::string(key); }

const GgufValue* GgufKeys::find(std::string_view key) {
  if (writes_) {
    return nullptr;
  }
  const GgufValue* found = nullptr;
  if (file_ != nullptr) {
    found = file_->find_value(whole(key));
  } else {
    const auto entry = std::ranges::find(written_, whole(key), &GgufMetadata::value_type::first);
    found = entry == written_.end() ? nullptr : &entry->second;
  }
  read_keys_.add(key, found != nullptr);
  return found;
}

void GgufKeys::write(std::string_view key, GgufValue value) {
  if (writes_) {
    written_.emplace_back(whole(key), std::move(value));
  }
}

void GgufKeys::write_size(std::string_view key, Index value) {
  write(key, static_cast<std::uint32_t>(value));
}

void GgufKeys::size(std::string_view key, Index& value) {
  if (writes_) {
    write_size(key, value);
    return;
  }
  require_value(find(key) != nullptr, whole(key), "is missing");
  value = read_integer(key, 0);
  require_value(value >= 1, whole(key), "expected 1 to ", kLargestSize, ", got ", value);
}

void GgufKeys::number(std::string_view key, double& value, std::optional<double> fallback) {
  if (writes_) {
    write(key, static_cast<float>(value));
    return;
  }
  require_value(fallback || find(key) != nullptr, whole(key), "is missing");
  value = read_number(key, fallback.value_or(0));
}

void GgufKeys::positive(std::string_view key, double& value, double fallback) {
  if (!writes_ || value > 0) {
    number(key, value, fallback);
  }
}

void GgufKeys::boolean(std::string_view key, bool& value, bool fallback) {
  write(key, value);
  value = writes_ ? value : read_boolean(key, fallback);
}

void GgufKeys::bias(std::string_view tensor, std::optional<bool>& has_bias) {
  const std::string name = concat_text("blk.0.", tensor, ".bias");
  if (writes_ && has_bias.value_or(false)) {
    biases_.push_back(name);
  }
  has_bias = file_ != nullptr ? file_->find_tensor(name) != nullptr
                              : std::ranges::count(biases_, name) > 0;
}

void GgufKeys::factors(std::vector<float>& values, Index head_width) {
  if (writes_) {
    factors_ = values;
  }
  const GgufTensor* tensor = file_ == nullptr ? nullptr : file_->find_tensor(kGgufRopeFactors);
  if (tensor == nullptr) {
    values = factors_;
    return;
  }
  require_value(tensor->shape == Shape{head_width / 2}, kGgufRopeFactors, "expected shape ",
                Shape{head_width / 2}, ", got ", tensor->shape);
  const Tensor read = file_->read(*tensor);
  values.assign(read.data<float>(), read.data<float>() + read.numel());
}

Index GgufKeys::read_integer(std::string_view key, Index fallback) {
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

double GgufKeys::read_number(std::string_view key, double fallback) {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return fallback;
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

bool GgufKeys::read_boolean(std::string_view key, bool fallback) {
  const GgufValue* value = find(key);
  const bool* found = value == nullptr ? &fallback : std::get_if<bool>(value);
  require_value(found != nullptr, whole(key), "expected true or false");
  return *found;
}

std::string GgufKeys::read_text(std::string_view key, std::string_view fallback) {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return std::string(fallback);
  }
  const auto* found = std::get_if<std::string>(value);
  require_value(found != nullptr, whole(key), "expected a text");
  return *found;
}

void GgufKeys::require_all_known() const {
  for (const auto& [key, value] : file_->metadata()) {
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
