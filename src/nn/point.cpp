#include "headlight/nn/point.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/strings/read_number.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"

namespace headlight {
namespace {

struct HookName {
  std::string_view name;
  Point point;
  PointItems items = PointItems::features;
};

// TransformerLens names, without "blocks.L.".
constexpr HookName kHookNames[] = {{"hook_embed", Point::embed},
                                   {"hook_resid_pre", Point::resid_pre},
                                   {"ln1.hook_scale", Point::ln1_scale},
                                   {"ln1.hook_normalized", Point::ln1_normalized},
                                   {"ln1.hook_out", Point::ln1},
                                   {"attn.hook_q", Point::q, PointItems::heads},
                                   {"attn.hook_k", Point::k, PointItems::key_heads},
                                   {"attn.hook_v", Point::v, PointItems::key_heads},
                                   {"attn.hook_rot_q", Point::rot_q, PointItems::heads},
                                   {"attn.hook_rot_k", Point::rot_k, PointItems::key_heads},
                                   {"attn.hook_attn_scores", Point::attn_scores, PointItems::maps},
                                   {"attn.hook_pattern", Point::pattern, PointItems::maps},
                                   {"attn.hook_z", Point::z, PointItems::heads},
                                   {"attn.hook_result", Point::result, PointItems::heads},
                                   {"hook_attn_out", Point::attn_out},
                                   {"hook_resid_mid", Point::resid_mid},
                                   {"ln2.hook_scale", Point::ln2_scale},
                                   {"ln2.hook_normalized", Point::ln2_normalized},
                                   {"ln2.hook_out", Point::ln2},
                                   {"mlp.hook_pre", Point::mlp_pre},
                                   {"mlp.hook_post", Point::mlp_post},
                                   {"hook_mlp_out", Point::mlp_out},
                                   {"hook_resid_post", Point::resid_post},
                                   {"hook_feature", Point::feature},
                                   {"ln_final.hook_scale", Point::ln_final_scale},
                                   {"ln_final.hook_normalized", Point::ln_final_normalized},
                                   {"ln_final.hook_out", Point::ln_final},
                                   {"logits", Point::logits}};

constexpr auto kOtherNames = std::to_array<Choice<Point>>({{"attn", Point::attn_out},
                                                           {"mlp", Point::mlp_out},
                                                           {"neuron", Point::mlp_post},
                                                           {"head", Point::z}});

const HookName& hook_name_of(Point point) {
  return *std::find_if(std::begin(kHookNames), std::end(kHookNames),
                       [&](const HookName& hook) { return hook.point == point; });
}

template <std::size_t N>
const Choice<Point>* find_name(const std::array<Choice<Point>, N>& choices, std::string_view name) {
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const Choice<Point>& choice) { return choice.name == name; });
  return found == choices.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(std::string_view about, std::string_view text) {
  std::vector<std::string> names(kChoiceNames<Point>.begin(), kChoiceNames<Point>.end());
  const std::string name(text.substr(0, text.find('.')));
  const std::string near = nearest_name(name, names);
  fail_value(about, "expected a point such as resid_post.5, z.5.1 or mlp_post.3.17, got '", text,
             "'", near.empty() || near == name ? "" : "; did you mean " + near + "?");
}

bool starts_number(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text == "*");
}

// Parses a TransformerLens hook name at the start of `rest` and removes it: "NAME" of
// "NAME.LAYERS.ITEMS" or "blocks.LAYERS.NAME" of "blocks.LAYERS.NAME.ITEMS". Returns its point and
// layers; nothing, with `rest` unchanged, if it is not a hook name.
std::optional<PointRange> take_hook_name(std::string_view about, std::string_view& rest) {
  PointRange range;
  std::string_view name = rest;
  constexpr std::string_view kBlocks = "blocks.";
  const bool is_in_block = name.starts_with(kBlocks);
  if (is_in_block) {
    name.remove_prefix(kBlocks.size());
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) {
      return std::nullopt;
    }
    range.layers = parse_range(about, name.substr(0, dot));
    name.remove_prefix(dot + 1);
  }
  for (const HookName& hook : kHookNames) {
    const bool is_it = name.starts_with(hook.name) &&
                       (name.size() == hook.name.size() || name[hook.name.size()] == '.');
    if (is_it && is_in_layer(hook.point) == is_in_block) {
      range.point = hook.point;
      rest = name.substr(hook.name.size());
      return range;
    }
  }
  return std::nullopt;
}

// Parses the remaining ranges: ".4-8.1".
void take_numbers(std::string_view about, std::string_view text, std::string_view rest,
                  bool has_layers, PointRange& range) {
  std::vector<NumberRange> numbers;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    numbers.push_back(parse_range(about, rest.substr(0, dot)));
    rest.remove_prefix(dot);
  }
  const std::size_t layers = has_layers ? 0 : 1;
  if (numbers.size() > layers + 1) {
    refuse(about, text);
  }
  if (!has_layers && !numbers.empty()) {
    range.layers = numbers[0];
  }
  if (numbers.size() == layers + 1) {
    range.items = numbers.back();
  }
}

}  // namespace

bool is_in_layer(Point point) { return point != Point::embed && point < Point::ln_final_scale; }

PointItems items_of(Point point) { return hook_name_of(point).items; }

std::string point_name(Point point, Index layer) {
  const std::string name(hook_name_of(point).name);
  return is_in_layer(point) ? "blocks." + std::to_string(layer) + "." + name : name;
}

NumberRange parse_range(std::string_view about, std::string_view text) {
  if (text == "*") {
    return {};
  }
  const auto refuse_range = [&] {
    fail_value(about, "expected a number or a range such as 3, 4-8 or 4-, got '", text, "'");
  };
  const auto number = [&](std::string_view digits) {
    const Index value = read_number<Index>(digits).value_or(-1);
    if (value < 0) {
      refuse_range();
    }
    return value;
  };
  const std::size_t dash = text.find('-');
  NumberRange range{.first = number(text.substr(0, dash))};
  if (dash == std::string_view::npos) {
    range.last = range.first;
  } else if (dash + 1 < text.size()) {
    range.last = number(text.substr(dash + 1));
    if (*range.last < range.first) {
      refuse_range();
    }
  }
  return range;
}

std::string range_text(const NumberRange& range) {
  if (!range.last) {
    return range.first == 0 ? "*" : std::to_string(range.first) + "-";
  }
  const bool is_one = *range.last == range.first;
  return std::to_string(range.first) + (is_one ? "" : "-" + std::to_string(*range.last));
}

PointRange parse_point(std::string_view about, std::string_view text) {
  std::string_view rest = text;
  if (std::optional<PointRange> range = take_hook_name(about, rest)) {
    // "logits" is both a short and a TransformerLens name. It has no layer index.
    take_numbers(about, text, rest, true, *range);
    return *range;
  }
  PointRange range{.point = Point::z};  // the default for "5.1"
  if (!starts_number(text)) {
    const std::string_view name = text.substr(0, text.find('.'));
    const Choice<Point>* choice = find_name(kChoices<Point>, name);
    choice = choice == nullptr ? find_name(kOtherNames, name) : choice;
    if (choice == nullptr) {
      refuse(about, text);
    }
    range.point = choice->value;
    take_numbers(about, text, text.substr(name.size()), !is_in_layer(range.point), range);
    return range;
  }
  const std::string dotted = "." + std::string(text);
  take_numbers(about, text, dotted, false, range);
  return range;
}

}  // namespace headlight
