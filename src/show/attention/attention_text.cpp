#include "headlight/show/attention/attention_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings/display_text.h"
#include "headlight/base/terminal_width.h"
#include "interpret/words.h"
#include "show/attention/layer_weights.h"
#include "show/plot/colour_scale.h"
#include "show/report/parts/terminal_text.h"

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
  bool values = false;                                    // cells show weights
  Index margin = 0;                                       // columns left of the cells
  std::vector<std::vector<std::string>> characters = {};  // of each cell's label, [cells]
  AttentionTextOptions options;
};

Index digits_of(Index number) { return static_cast<Index>(std::to_string(number).size()); }

// Returns the characters of each cell's label: the labels of its `block` tokens, joined.
std::vector<std::vector<std::string>> joined_labels(const std::vector<std::string>& labels,
                                                    Index block) {
  std::vector<std::vector<std::string>> joined;
  for (std::size_t begin = 0; begin < labels.size(); begin += static_cast<std::size_t>(block)) {
    const std::size_t end = std::min(labels.size(), begin + static_cast<std::size_t>(block));
    std::string label;
    for (std::size_t token = begin; token < end; ++token) {
      label += labels[token];
    }
    joined.push_back(terminal_characters(label));
  }
  return joined;
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
  layout.characters = joined_labels(cell_labels(maps), layout.block);
  layout.cells = static_cast<Index>(layout.characters.size());
  Index longest = 0;
  for (const auto& characters : layout.characters) {
    longest = std::max(longest, terminal_width(terminal_label(characters, kLongestLabel)));
  }
  layout.margin = numbers + longest + 1;
  const Index value_cell =
      options.own_numbers ? terminal_width(options.style.numbers.text(1)) + 1 : kValueCell;
  layout.values = layout.block == 1 && layout.margin + layout.cells * value_cell <= options.columns;
  if (layout.values) {
    layout.cell = value_cell;
  } else {  // shorten the labels to the room beside the cells
    layout.margin = std::clamp(options.columns - layout.cells * kPlainCell, numbers, layout.margin);
  }
  return layout;
}

std::string cell_text(float weight, const Layout& layout) {
  if (layout.values && layout.options.own_numbers) {
    const std::string number = layout.options.style.numbers.text(static_cast<double>(weight));
    return pad_left(number, layout.cell - 1) + " ";
  }
  if (layout.values) {
    const long percent = std::lround(100.0F * weight);
    return pad_left(percent == 0 ? "." : std::to_string(percent), kValueCell - 1) + " ";
  }
  if (layout.options.colours) {
    return "  ";
  }
  const long tenths = std::min(9L, std::lround(10.0F * weight));
  return (tenths == 0 ? std::string(".") : std::to_string(tenths)) + " ";
}

// Background and text colour of a level on a 256-colour terminal.
struct LevelColours {
  int background;
  bool black_text;
};

LevelColours level_colours(int level, const AttentionTextOptions& options) {
  const bool light = options.light_ground;
  if (options.style.colours == ColourMap::headlight) {
    return {(light ? kLightRamp : kDarkRamp)[static_cast<std::size_t>(level)],
            light ? level < kLightLevels : level >= kDarkLevels};
  }
  const Colour colour =
      map_colour(static_cast<double>(level) / (kLevels - 1),
                 light ? Background::light : Background::dark, options.style.colours);
  return {terminal_colour(colour), !needs_white_text(colour)};
}

std::string coloured(const std::string& text, float weight, const Layout& layout) {
  if (!layout.options.colours) {
    return text;
  }
  const double value = static_cast<double>(std::min(weight, 1.0F));
  const double strength = layout.tokens <= kLinearScaleTokens ? value : std::sqrt(value);
  const LevelColours colours =
      level_colours(static_cast<int>(std::lround(strength * (kLevels - 1))), layout.options);
  return "\x1b[48;5;" + std::to_string(colours.background) + ";38;5;" +
         (colours.black_text ? "16" : "255") + "m" + text + "\x1b[0m";
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
      out += pad_right(pad_left(character, layout.values ? layout.cell - 1 : 1), layout.cell);
    }
    out += "\n";
  }
  return out;
}

std::string note(const Layout& layout) {
  const Language language = layout.options.style.language;
  std::string text = word(language, "map_axes");
  if (layout.values && !layout.options.own_numbers) {
    text += word(language, "map_percent");
  } else if (!layout.values && !layout.options.colours) {
    text += word(language, "map_tenths");
  }
  if (layout.block > 1) {
    const std::string block = std::to_string(layout.block);
    text += say(language, "cell_maximum", {{"block", block + " × " + block}});
  }
  return text;
}

std::string scale(const Layout& layout) {
  if (!layout.options.colours) {
    return "";
  }
  std::string out = "  0 ";
  for (int level = 0; level < kLevels; ++level) {
    out += "\x1b[48;5;" + std::to_string(level_colours(level, layout.options).background) + "m  ";
  }
  return out + "\x1b[0m 1" +
         (layout.tokens <= kLinearScaleTokens
              ? ""
              : word(layout.options.style.language, "map_square_root"));
}

}  // namespace

std::string attention_text(const AttentionMaps& maps, const LayerAttention& layer, Index row,
                           const AttentionTextOptions& options) {
  const LayerWeights weights("attention_text", maps, layer);
  require(row >= 0 && row < weights.heads(), "[attention_text] expected a row from 0 to ",
          weights.heads() - 1, ", got ", row);
  const Layout layout = layout_of(maps, options);
  const HeadId id{layer.layer, layer.heads[static_cast<std::size_t>(row)]};
  const Language language = options.style.language;
  std::string out = token_text(maps.title) + (maps.title.empty() ? "" : " ") +
                    say(language, "map_of_head", {{"head", head_name(id)}}) + "  " + note(layout) +
                    scale(layout) + "\n";
  const auto score = maps.scores.find(id);
  if (score != maps.scores.end()) {
    const auto percent = static_cast<int>(std::lround(100.0 * score->second.score));
    out += score_label(score->second, language) +
           say(language, "map_score", {{"percent", percent}}) + "\n";
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
