#include "headlight/views/attention/attention_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/display_text.h"
#include "headlight/base/terminal_width.h"
#include "views/attention/layer_weights.h"
#include "views/report/terminal_text.h"

namespace headlight {
namespace {

constexpr Index kLongestLabel = 14;   // columns of a query's label
constexpr Index kShortestLabel = 4;   // columns left for a label before cells combine tokens
constexpr Index kHighestHeader = 10;  // lines of the keys' labels
constexpr Index kValueCell = 4;       // columns of a cell with a weight in per cent
constexpr Index kPlainCell = 2;       // columns of a cell with a colour or a digit

constexpr int kLevels = 12;
// Colour ramps of a 256-colour terminal, over blue: from nearly the background to the strongest
// contrast with it.
constexpr std::array<int, kLevels> kDarkRamp = {234, 17, 18, 19, 25, 26, 32, 38, 74, 117, 153, 231};
constexpr std::array<int, kLevels> kLightRamp = {231, 195, 153, 117, 74, 38,
                                                 32,  26,  25,  19,  18, 17};
constexpr int kDarkLevels = 7;   // first levels of the dark ramp, where white text is readable
constexpr int kLightLevels = 6;  // first levels of the light ramp, where black text is readable

struct Layout {
  Index tokens = 0;
  Index block = 1;  // tokens in a cell, in each direction
  Index cells = 0;  // cells per side
  Index cell = kPlainCell;
  Index margin = 0;                                       // columns left of the cells
  std::vector<std::vector<std::string>> characters = {};  // of each cell's label, [cells]
  AttentionTextOptions options;
};

Index digits_of(Index number) { return static_cast<Index>(std::to_string(number).size()); }

// Returns the characters of each cell's label: the labels of its `block` tokens, joined.
std::vector<std::vector<std::string>> cell_labels(const std::vector<std::string>& tokens,
                                                  Index block) {
  std::vector<std::vector<std::string>> labels;
  for (std::size_t begin = 0; begin < tokens.size(); begin += static_cast<std::size_t>(block)) {
    const std::size_t end = std::min(tokens.size(), begin + static_cast<std::size_t>(block));
    std::string label;
    for (std::size_t token = begin; token < end; ++token) {
      label += display_label(tokens[token]);
    }
    labels.push_back(terminal_characters(label));
  }
  return labels;
}

// Returns the number of tokens in a cell that leaves room for labels of a readable length.
Index block_for(Index tokens, Index columns) {
  const Index label = std::min(kLongestLabel, columns / 6);
  const Index margin = digits_of(tokens - 1) + label + 3;
  const Index most = std::max<Index>(8, (columns - margin) / kPlainCell);
  return divided_up(tokens, most);
}

Layout layout_of(const AttentionMaps& maps, const AttentionTextOptions& options) {
  Layout layout{.tokens = std::ssize(maps.tokens), .options = options};
  const Index numbers = digits_of(layout.tokens - 1) + 2;
  if (numbers + kShortestLabel + 1 + layout.tokens * kPlainCell > options.columns) {
    layout.block = block_for(layout.tokens, options.columns);
  }
  layout.characters = cell_labels(maps.tokens, layout.block);
  layout.cells = static_cast<Index>(layout.characters.size());
  Index longest = 0;
  for (const auto& characters : layout.characters) {
    longest = std::max(longest, terminal_width(terminal_label(characters, kLongestLabel)));
  }
  layout.margin = numbers + longest + 1;
  if (layout.block == 1 && layout.margin + layout.cells * kValueCell <= options.columns) {
    layout.cell = kValueCell;
  } else {  // shorten the labels to the room beside the cells
    layout.margin = std::clamp(options.columns - layout.cells * kPlainCell, numbers, layout.margin);
  }
  return layout;
}

std::string cell_text(float weight, const Layout& layout) {
  if (layout.cell == kValueCell) {
    const long percent = std::lround(100.0F * weight);
    return pad_left(percent == 0 ? "." : std::to_string(percent), kValueCell - 1) + " ";
  }
  if (layout.options.colours) {
    return "  ";
  }
  const long tenths = std::min(9L, std::lround(10.0F * weight));
  return (tenths == 0 ? std::string(".") : std::to_string(tenths)) + " ";
}

const std::array<int, kLevels>& ramp_of(const Layout& layout) {
  return layout.options.light_ground ? kLightRamp : kDarkRamp;
}

std::string coloured(const std::string& text, float weight, const Layout& layout) {
  if (!layout.options.colours) {
    return text;
  }
  const double value = static_cast<double>(std::min(weight, 1.0F));
  const double strength = layout.tokens <= kLinearScaleTokens ? value : std::sqrt(value);
  const auto level = static_cast<int>(std::lround(strength * (kLevels - 1)));
  const bool black_text = layout.options.light_ground ? level < kLightLevels : level >= kDarkLevels;
  return "\x1b[48;5;" + std::to_string(ramp_of(layout)[static_cast<std::size_t>(level)]) +
         ";38;5;" + (black_text ? "16" : "255") + "m" + text + "\x1b[0m";
}

std::string margin_of(const Layout& layout, Index cell) {
  const std::string number = std::to_string(cell * layout.block);
  const Index digits = digits_of(layout.tokens - 1);
  const Index room = layout.margin - digits - 3;
  if (room < 1) {
    return pad_right(pad_left(number, digits), layout.margin);
  }
  return pad_left(number, digits) + " " +
         pad_right(terminal_label(layout.characters[static_cast<std::size_t>(cell)], room), room) +
         "  ";
}

// Returns the line of token positions above a map whose cells combine several tokens.
std::string position_header(const Layout& layout) {
  constexpr Index kEvery = 5;
  std::string line(static_cast<std::size_t>(layout.margin), ' ');
  for (Index cell = 0; cell < layout.cells; cell += kEvery) {
    line += pad_right(std::to_string(cell * layout.block), kEvery * layout.cell);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

// Returns the keys' labels: on one line if they all fit their columns, otherwise vertical, with the
// last character next to the column.
std::string header(const Layout& layout) {
  Index widest = 0;
  Index highest = 0;
  for (const auto& characters : layout.characters) {
    widest = std::max(widest, terminal_width(terminal_label(characters, kHighestHeader)));
    highest = std::max(highest, static_cast<Index>(characters.size()));
  }
  const std::string margin(static_cast<std::size_t>(layout.margin), ' ');
  std::string out = layout.block > 1 ? position_header(layout) : "";
  if (widest < layout.cell) {
    out += margin;
    for (const auto& characters : layout.characters) {
      out += pad_left(terminal_label(characters, layout.cell - 1), layout.cell - 1) + " ";
    }
    return out + "\n";
  }
  highest = std::min(highest, kHighestHeader);
  for (Index line = 0; line < highest; ++line) {
    out += margin;
    for (const auto& characters : layout.characters) {
      const auto length = static_cast<Index>(characters.size());
      const Index shown = std::min(length, highest);
      const Index at = line - (highest - shown);
      const bool cut = shown < length && at + 1 == highest;
      const std::string character = at < 0 ? ""
                                    : cut  ? "…"
                                           : characters[static_cast<std::size_t>(at)];
      out += pad_right(pad_left(character, layout.cell == kValueCell ? 3 : 1), layout.cell);
    }
    out += "\n";
  }
  return out;
}

std::string note(const Layout& layout) {
  std::string text =
      layout.cell == kValueCell ? "rows are queries, columns keys; per cent of the row"
      : layout.options.colours  ? "rows are queries, columns keys"
                                : "rows are queries, columns keys; tenths, . is under 0.05";
  if (layout.block > 1) {
    const std::string block = std::to_string(layout.block);
    text += "; each cell the largest of " + block + " x " + block;
  }
  return text;
}

std::string scale(const Layout& layout) {
  if (!layout.options.colours) {
    return "";
  }
  std::string out = "  0 ";
  for (const int colour : ramp_of(layout)) {
    out += "\x1b[48;5;" + std::to_string(colour) + "m  ";
  }
  return out + "\x1b[0m 1" + (layout.tokens > kLinearScaleTokens ? " (square root)" : "");
}

}  // namespace

std::string attention_text(const AttentionMaps& maps, const LayerAttention& layer, Index row,
                           const AttentionTextOptions& options) {
  const LayerWeights weights("attention_text", maps, layer);
  require(row >= 0 && row < weights.heads(), "[attention_text] expected a row from 0 to ",
          weights.heads() - 1, ", got ", row);
  const Layout layout = layout_of(maps, options);
  const HeadId id{layer.layer, layer.heads[static_cast<std::size_t>(row)]};
  std::string out = token_text(maps.title) + (maps.title.empty() ? "" : " ") + "head " +
                    head_name(id) + "  " + note(layout) + scale(layout) + "\n";
  const auto score = maps.scores.find(id);
  if (score != maps.scores.end()) {
    const auto percent = static_cast<int>(std::lround(100.0 * score->second.score));
    out += score_label(score->second) + ", score " + std::to_string(percent) + " %\n";
  }
  out += header(layout);
  const std::vector<float> maxima = weights.block_maxima(row, layout.block);
  for (Index query = 0; query < layout.cells; ++query) {
    std::string line = margin_of(layout, query);
    const Index seen = weights.is_causal() ? query + 1 : layout.cells;
    for (Index key = 0; key < seen; ++key) {
      const float weight = maxima[static_cast<std::size_t>(query * layout.cells + key)];
      line += coloured(cell_text(weight, layout), weight, layout);
    }
    out += line.substr(0, line.find_last_not_of(layout.options.colours ? "" : " ") + 1) + "\n";
  }
  return out;
}

}  // namespace headlight
