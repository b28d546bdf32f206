#include "headlight/show/attention/attention_svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings/display_text.h"
#include "interpret/words.h"
#include "show/attention/layer_weights.h"
#include "show/plot/axes.h"
#include "show/plot/colour_scale.h"
#include "show/plot/svg.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Lengths are in SVG user units (pixels at 100 %).

// Steps of the colour scale: fewer show bands, more only enlarge the file.
constexpr Index kColourLevels = 32;
constexpr Index kAllLevels = 2 * kColourLevels - 1;  // with those of differences below 0

// Orientation of the key labels below their columns.
enum class KeyLabels { flat, slanted, upright };

// Sizes shared by all panels of one figure.
struct PanelLayout {
  Index tokens = 0;
  Index block = 1;           // tokens per cell in each direction
  Index cells = 0;           // cells per side
  double cell = 0.0;         // side of a cell
  double side = 0.0;         // side of the heat map
  double left = 0.0;         // room for the query labels and the axis title
  double bottom = 0.0;       // room for the key labels and the axis title
  double label_size = 0.0;   // font size of token labels
  bool square_root = false;  // colour by the square root of the weight
  bool values = false;       // print the weights in the cells
  bool value_weighted = false;
  AttentionStyle style = {};
  KeyLabels key_labels = KeyLabels::flat;
  std::vector<std::string> labels;  // [T], shortened; empty when they do not fit
};

// Strength of a weight on the colour scale, in [0, 1]; of a difference, of its absolute value.
double weight_strength(double weight, const PanelLayout& layout) {
  const double clamped = std::min(std::abs(weight), 1.0);
  return layout.square_root ? std::sqrt(clamped) : clamped;
}

constexpr Index kLabelledTokens = 64;  // above this, labels are too small to read
constexpr Index kLargestGrid = 256;    // cells per side of a panel
constexpr double kWeightCell = 36.0;   // fits "0.87"
constexpr double kSmallestCell = 10.0;
constexpr double kValueSize = 11.0;   // font size of the weights
constexpr double kPanelSide = 360.0;  // without labels
constexpr double kTickSize = 10.0;
constexpr double kLabelGap = 7.0;
constexpr double kAxisTitle = 20.0;
constexpr double kTicks = 7;       // most steps between position ticks
constexpr double kSlant = 0.7071;  // sine of 45 degrees
constexpr const char* kMutedInk = "#6b6f80";
constexpr const char* kLabelInk = "#33364a";

double cell_size(Index tokens, const NumberFormat& numbers) {
  if (tokens <= kLinearScaleTokens) {
    return std::max(kWeightCell, kValueSize * text_width(numbers.text(1)) + 10);
  }
  return std::clamp(std::floor(480.0 / static_cast<double>(tokens)), kSmallestCell, 24.0);
}

void measure_labels(const AttentionMaps& maps, PanelLayout& layout) {
  layout.label_size = layout.cell >= 16.0 ? 12.0 : layout.cell * 0.85;
  double widest = 0.0;
  for (const std::string& label : cell_labels(maps)) {
    layout.labels.push_back(shorten_text(label, 9.0));
    widest = std::max(widest, text_width(layout.labels.back()) * layout.label_size);
  }
  layout.key_labels = widest <= layout.cell        ? KeyLabels::flat
                      : layout.cell >= kWeightCell ? KeyLabels::slanted
                                                   : KeyLabels::upright;
  const double below = layout.key_labels == KeyLabels::flat ? layout.label_size
                       : layout.key_labels == KeyLabels::slanted
                           ? (widest + layout.label_size) * kSlant
                           : widest;
  layout.left = widest + kLabelGap + kAxisTitle;
  layout.bottom = below + kLabelGap + kAxisTitle;
}

std::string rotation(double degrees, double x, double y) {
  return " transform=\"rotate(" + svg_number(degrees) + " " + svg_number(x) + " " + svg_number(y) +
         ")\"";
}

std::string key_label(const PanelLayout& layout, double centre, const std::string& label) {
  const double below = layout.side + kLabelGap;
  const double third = layout.label_size / 3.0;  // from the middle of a line to its baseline
  if (layout.key_labels == KeyLabels::flat) {
    return svg_text(centre, below + layout.label_size * 0.75, "text-anchor=\"middle\"", label);
  }
  const bool is_slanted = layout.key_labels == KeyLabels::slanted;
  const double y = below + (is_slanted ? third : 0);
  return svg_text(centre + third, y,
                  "text-anchor=\"end\"" + rotation(is_slanted ? -45 : -90, centre + third, y),
                  label);
}

std::string token_labels(const PanelLayout& layout) {
  std::string out = "<g font-size=\"" + svg_number(layout.label_size) + "\" fill=\"" + kLabelInk +
                    "\" xml:space=\"preserve\">\n";
  for (std::size_t i = 0; i < layout.labels.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * layout.cell;
    out += svg_text(-kLabelGap, centre + layout.label_size * 0.35, "text-anchor=\"end\"",
                    layout.labels[i]);
    out += key_label(layout, centre, layout.labels[i]);
  }
  return out + "</g>\n";
}

std::string position_ticks(const PanelLayout& layout) {
  const double pixels = layout.side / static_cast<double>(layout.cells * layout.block);
  std::string marks;
  std::string out = "<g font-size=\"10\" fill=\"" + std::string(kMutedInk) + "\">\n";
  const Index step = std::lround(round_step(static_cast<double>(layout.tokens - 1) / kTicks));
  for (Index position = 0; position < layout.tokens; position += step) {
    const double at = (static_cast<double>(position) + 0.5) * pixels;
    const std::string text = std::to_string(position);
    out += svg_text(-kLabelGap, at + 3.5, "text-anchor=\"end\"", text);
    out += svg_text(at, layout.side + kLabelGap + 8.0, "text-anchor=\"middle\"", text);
    marks +=
        "M-4 " + svg_number(at) + "h4M" + svg_number(at) + " " + svg_number(layout.side) + "v4";
  }
  return out + "</g>\n<path stroke=\"#c9cad3\" d=\"" + marks + "\"/>\n";
}

PanelLayout layout_panels(const AttentionMaps& maps, const AttentionStyle& style) {
  PanelLayout layout;
  layout.style = style;
  layout.tokens = static_cast<Index>(maps.tokens.size());
  layout.value_weighted = maps.value_weighted;
  layout.block = divided_up(layout.tokens, kLargestGrid);
  layout.cells = divided_up(layout.tokens, layout.block);
  layout.values = layout.tokens <= kLinearScaleTokens;
  layout.square_root = layout.tokens > kLinearScaleTokens;
  if (layout.tokens <= kLabelledTokens) {
    layout.cell = cell_size(layout.tokens, style.numbers);
    measure_labels(maps, layout);
  } else {
    layout.cell = std::round(100.0 * kPanelSide / static_cast<double>(layout.cells)) / 100.0;
    layout.left = text_width(std::to_string(layout.tokens)) * kTickSize + kLabelGap + kAxisTitle;
    layout.bottom = kTickSize + kLabelGap + kAxisTitle;
  }
  layout.side = layout.cell * static_cast<double>(layout.cells);
  return layout;
}

// Returns frame, labels and axis titles of a panel, with the heat map's upper left corner at the
// origin. All panels of a figure share them.
std::string panel_axes(const PanelLayout& layout) {
  const std::string side = svg_number(layout.side);
  const std::string centred =
      "text-anchor=\"middle\" font-size=\"11\" fill=\"" + std::string(kMutedInk) + "\"";
  const bool labelled = !layout.labels.empty();
  std::string out = labelled ? token_labels(layout) : position_ticks(layout);
  out += "<path fill=\"none\" stroke=\"#c9cad3\" d=\"M0 0V" + side + "H" + side + "\"/>\n";
  const double x = -layout.left + 10.0;
  out += svg_text(x, layout.side / 2.0, centred + rotation(-90.0, x, layout.side / 2.0),
                  word(layout.style.language, labelled ? "query" : "query_position"));
  out += svg_text(layout.side / 2.0, layout.side + layout.bottom - 4.0, centred,
                  word(layout.style.language, labelled ? "key" : "key_position"));
  return out;
}

bool looks_ahead(const std::vector<float>& maxima, Index cells) {
  for (Index row = 0; row < cells; ++row) {
    const auto begin = maxima.begin() + row * cells;
    if (std::any_of(begin + row + 1, begin + cells, [](float w) { return w != 0.0F; })) {
      return true;
    }
  }
  return false;
}

// A command of a path, without memory of its own: large figures have millions.
class PathCommand {
 public:
  PathCommand& add(char letter) {
    *end_++ = letter;
    return *this;
  }
  PathCommand& add(Index number) {
    end_ = std::to_chars(end_, bytes_.data() + bytes_.size(), number).ptr;
    return *this;
  }
  std::string_view text() const {
    return {bytes_.data(), static_cast<std::size_t>(end_ - bytes_.data())};
  }

 private:
  std::array<char, 48> bytes_;  // two letters and two numbers
  char* end_ = bytes_.data();
};

// SVG path data of horizontal runs of cells, as short as possible. A run is a stroke of width 1
// along its row: half the bytes of a rectangle.
class RunPath {
 public:
  void add(Index row, Index column, Index length) {
    PathCommand absolute;
    absolute.add('M').add(column).add(' ').add(row);
    PathCommand relative;
    relative.add('m').add(column - column_);
    if (row >= row_) {
      relative.add(' ');
    }
    relative.add(row - row_);
    const bool is_shorter = !data_.empty() && relative.text().size() < absolute.text().size();
    data_ += (is_shorter ? relative : absolute).text();
    data_ += PathCommand().add('h').add(length).text();
    row_ = row;
    column_ = column + length;
  }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
  Index row_ = 0;
  Index column_ = 0;
};

// Returns 0 to kColourLevels - 1, or for a difference below 0 kColourLevels to kAllLevels - 1.
Index colour_level(double weight, const PanelLayout& layout) {
  const Index level =
      std::lround(weight_strength(weight, layout) * static_cast<double>(kColourLevels - 1));
  return weight < 0 && level > 0 ? level + kColourLevels - 1 : level;
}

Colour level_colour(Index level, const AttentionStyle& style) {
  const Index strength = level < kColourLevels ? level : level - (kColourLevels - 1);
  const double share = static_cast<double>(strength) / static_cast<double>(kColourLevels - 1);
  return style.differences ? diverging_colour(level < kColourLevels ? share : -share)
                           : map_colour(share, Background::light, style.colours);
}

// Returns one path for each colour level except 0, which is the background.
std::string level_paths(const std::vector<float>& maxima, const PanelLayout& layout) {
  std::vector<RunPath> paths(static_cast<std::size_t>(kAllLevels));
  for (Index row = 0; row < layout.cells; ++row) {
    const auto level_at = [&](Index column) {
      return colour_level(maxima[static_cast<std::size_t>(row * layout.cells + column)], layout);
    };
    for (Index begin = 0, level = level_at(0); begin < layout.cells;) {
      Index end = begin + 1;
      Index next = 0;
      while (end < layout.cells && (next = level_at(end)) == level) {
        ++end;
      }
      paths[static_cast<std::size_t>(level)].add(row, begin, end - begin);
      begin = end;
      level = next;
    }
  }
  std::string out;
  for (Index level = 1; level < kAllLevels; ++level) {
    const std::string& data = paths[static_cast<std::size_t>(level)].data();
    if (!data.empty()) {
      out += "<path stroke=\"#" + hex_digits(level_colour(level, layout.style)) + "\" d=\"" + data +
             "\"/>\n";
    }
  }
  return out;
}

// Returns the outline of the cells that may hold weight, in units of cells: the whole square or, if
// no query looks ahead, a staircase.
std::string ground_path(Index cells, bool ahead) {
  const std::string size = std::to_string(cells);
  std::string path = "M0 0";
  if (ahead) {
    path += "h" + size + "v" + size;
  }
  for (Index row = 0; row < cells && !ahead; ++row) {
    path += "h1v1";
  }
  return path + "H0z";
}

// Returns white lines between the cells, for cells that are large enough to read one by one.
std::string grid_path(Index cells, bool ahead) {
  std::string path;
  for (Index line = 1; line < cells; ++line) {
    const std::string at = std::to_string(line);
    path += "M0 " + at + "H" + std::to_string(ahead ? cells : line + 1);
    path += "M" + at + " " + std::to_string(ahead ? 0 : line - 1) + "V" + std::to_string(cells);
  }
  return path;
}

// Returns the text colour of a weight; weights that print as 0.00 are faint.
std::string value_ink(double weight, Colour cell) {
  if (needs_white_text(cell)) {
    return "#fff";
  }
  return std::abs(weight) < 0.005 ? "#7d8194" : "#1d2030";
}

std::string cell_values(const float* weights, const PanelLayout& layout) {
  std::string out = "<g font-size=\"11\" text-anchor=\"middle\">\n";
  for (Index query = 0; query < layout.tokens; ++query) {
    for (Index key = 0; key < layout.tokens; ++key) {
      const float weight = weights[query * layout.tokens + key];
      if (key > query && weight == 0.0F) {
        continue;
      }
      const std::string ink =
          value_ink(weight, level_colour(colour_level(weight, layout), layout.style));
      out += "<text class=\"value\" x=\"" +
             svg_number((static_cast<double>(key) + 0.5) * layout.cell) + "\" y=\"" +
             svg_number((static_cast<double>(query) + 0.5) * layout.cell + 4.0) + "\" fill=\"" +
             ink + "\">" + layout.style.numbers.text(weight) + "</text>\n";
    }
  }
  return out + "</g>\n";
}

// Returns the cells of row `head`; the heat map's upper left corner is the origin.
std::string panel_cells(const LayerWeights& weights, Index head, const PanelLayout& layout) {
  const std::vector<float> maxima = weights.block_maxima(head, layout.block);
  const bool ahead = looks_ahead(maxima, layout.cells);
  const std::string scale = "scale(" + svg_number(layout.cell) + ")";
  std::string out = "<path transform=\"" + scale + "\" fill=\"#" +
                    hex_digits(level_colour(0, layout.style)) + "\" d=\"" +
                    ground_path(layout.cells, ahead) + "\"/>\n";
  // The strokes overlap by 2 %, so that the background does not show between rows.
  out += "<g transform=\"" + scale + "translate(0 .5)\" fill=\"none\" stroke-width=\"1.02\" " +
         "shape-rendering=\"crispEdges\">\n" + level_paths(maxima, layout) + "</g>\n";
  if (layout.cell >= 9.0) {
    out += "<path transform=\"" + scale + "\" fill=\"none\" stroke=\"#fff\" stroke-width=\"" +
           svg_number(1.0 / layout.cell) + "\" d=\"" + grid_path(layout.cells, ahead) + "\"/>\n";
  }
  return layout.values ? out + cell_values(weights.head(head), layout) : out;
}

constexpr double kPageMargin = 24.0;
constexpr double kHeader = 76.0;      // title, subtitle and legend
constexpr double kPanelTitle = 24.0;  // above each heat map
constexpr double kPanelGap = 30.0;    // between panels
constexpr double kTitleSize = 18.0;
constexpr double kLegendWidth = 190.0;
constexpr double kSmallestWidth = 560.0;  // holds a title beside the legend

struct Figure {
  PanelLayout panel;
  Index columns = 0;
  Index rows = 0;
  double slot_width = 0.0;   // width of a panel with its labels
  double slot_height = 0.0;  // height of a panel with its labels and title
  double width = 0.0;
  double height = 0.0;
};

// Returns the number of columns, near the square root, that leaves the fewest empty cells.
Index column_count(Index heads) {
  const auto root = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(heads))));
  Index best = root;
  for (Index columns = root; columns <= root + 2 && columns <= heads; ++columns) {
    const auto empty = [&](Index count) { return (count - heads % count) % count; };
    best = empty(columns) < empty(best) ? columns : best;
  }
  return best;
}

// Title of a figure without a layer's number.
std::string whole_title(const AttentionMaps& maps, Language language) {
  return printable_text(maps.title.empty() ? word(language, "attention") : maps.title);
}

Figure layout_figure(const AttentionMaps& maps, Index heads, const AttentionStyle& style) {
  Figure figure;
  figure.panel = layout_panels(maps, style);
  figure.columns = column_count(heads);
  figure.rows = divided_up(heads, figure.columns);
  const PanelLayout& panel = figure.panel;
  figure.slot_width = panel.left + std::max(panel.side, 150.0);
  figure.slot_height = kPanelTitle + panel.side + panel.bottom;
  const auto columns = static_cast<double>(figure.columns);
  const auto rows = static_cast<double>(figure.rows);
  figure.width =
      std::max(2.0 * kPageMargin + columns * figure.slot_width + (columns - 1.0) * kPanelGap,
               kSmallestWidth);
  if (!style.names_layer) {
    const double title = bold_width(whole_title(maps, style.language)) * kTitleSize;
    figure.width = std::max(figure.width, 2.0 * kPageMargin + title + kPanelGap + kLegendWidth);
  }
  figure.height =
      kPageMargin + kHeader + rows * figure.slot_height + (rows - 1.0) * kPanelGap + kPageMargin;
  return figure;
}

std::string subtitle(const PanelLayout& panel, Index heads, TextUnit unit) {
  const Language language = panel.style.language;
  std::string text;
  if (panel.style.names_heads) {
    text = say(language, "counted_heads", {{"count", grouped(heads)}}) + ", ";
  }
  text += counted_cells(panel.tokens, unit, language);
  if (panel.block > 1) {
    const std::string block = std::to_string(panel.block);
    text += say(language, "cell_maximum", {{"block", block + " × " + block}});
  }
  return text;
}

std::string header(const AttentionMaps& maps, const LayerAttention& layer, const Figure& figure) {
  const AttentionStyle& style = figure.panel.style;
  const double room = figure.width - 2.0 * kPageMargin - kLegendWidth - kPanelGap;
  std::string title = whole_title(maps, style.language);
  if (style.names_layer) {
    const std::string number = " · " + say(style.language, "layer_name", {{"layer", layer.layer}});
    title = shorten_bold(title, room / kTitleSize - bold_width(number)) + number;
  }
  const std::string small =
      shorten_text(subtitle(figure.panel, std::ssize(layer.heads), maps.unit), room / 12.0 * 1.15);
  return svg_text(
             kPageMargin, kPageMargin + 16.0,
             "font-size=\"" + svg_number(kTitleSize) + "\" font-weight=\"600\" fill=\"#1d2030\"",
             title) +
         svg_text(kPageMargin, kPageMargin + 37.0, "font-size=\"12\" fill=\"#6b6f80\"", small);
}

// Returns the position of a weight on the colour bar, 0 to 1.
double legend_position(double weight, const PanelLayout& panel) {
  const double strength = weight_strength(weight, panel);
  return panel.style.differences ? (1 + (weight < 0 ? -strength : strength)) / 2 : strength;
}

std::string legend_word(const PanelLayout& panel) {
  const std::string name = panel.style.differences ? "difference"
                           : panel.value_weighted  ? "value_weight"
                                                   : "weight";
  return word(panel.style.language, (panel.square_root ? "root_" : "") + name);
}

std::vector<double> legend_ticks(const PanelLayout& panel) {
  if (panel.style.differences) {
    const double middle = panel.square_root ? 0.25 : 0.5;
    return {-1, -middle, 0, middle, 1};
  }
  return panel.square_root ? std::vector<double>{0, 0.05, 0.25, 0.5, 1}
                           : std::vector<double>{0, 0.25, 0.5, 0.75, 1};
}

// Returns the colour bar with ticks at round weights.
std::string legend(const Figure& figure) {
  const PanelLayout& panel = figure.panel;
  const std::string small = "font-size=\"10\" fill=\"#6b6f80\" text-anchor=\"";
  const Index levels = panel.style.differences ? kAllLevels : kColourLevels;
  const double step = kLegendWidth / static_cast<double>(levels);
  std::string out = "<g class=\"legend\" transform=\"translate(" +
                    svg_number(figure.width - kPageMargin - kLegendWidth) + " " +
                    svg_number(kPageMargin) + ")\">\n";
  out += svg_text(0.0, 9.0, small + "start\"", legend_word(panel));
  for (Index index = 0; index < levels; ++index) {
    const Index below = panel.style.differences ? kColourLevels - 1 - index : 0;  // levels below 0
    const Index level = below > 0 ? below + kColourLevels - 1 : index - (levels - kColourLevels);
    out += "<rect shape-rendering=\"crispEdges\" x=\"" +
           svg_number(static_cast<double>(index) * step) + "\" y=\"16\" width=\"" +
           svg_number(step) + "\" height=\"10\" fill=\"#" +
           hex_digits(level_colour(level, panel.style)) + "\"/>\n";
  }
  const std::vector<double> ticks = legend_ticks(panel);
  for (const double weight : ticks) {
    const char* anchor = weight == ticks.front()  ? "start\""
                         : weight == ticks.back() ? "end\""
                                                  : "middle\"";
    out += svg_text(legend_position(weight, panel) * kLegendWidth, 38.0, small + anchor,
                    svg_number(weight));
  }
  return out + "</g>\n";
}

std::string panel(const Figure& figure, Index index, const std::string& name,
                  const std::string& title, const std::string& content) {
  const auto column = static_cast<double>(index % figure.columns);
  const Index row_number = index / figure.columns;
  const auto row = static_cast<double>(row_number);
  const double x = kPageMargin + figure.panel.left + column * (figure.slot_width + kPanelGap);
  const double y = kPageMargin + kHeader + kPanelTitle + row * (figure.slot_height + kPanelGap);
  return "<g class=\"head\" data-head=\"" + name + "\" transform=\"translate(" + svg_number(x) +
         " " + svg_number(y) + ")\">\n" +
         svg_text(0.0, -10.0, "font-size=\"13\" font-weight=\"600\" fill=\"#1d2030\"", title) +
         content + "</g>\n";
}

}  // namespace

std::string attention_svg(const AttentionMaps& maps, const LayerAttention& layer,
                          const AttentionStyle& style) {
  const LayerWeights weights("attention_svg", maps, layer, style.differences);
  const Figure figure = layout_figure(maps, weights.heads(), style);
  const std::string number = std::to_string(layer.layer);
  const std::string name = say(style.language, "layer_name", {{"layer", layer.layer}});
  std::string out = svg_start(
      figure.width, figure.height,
      (style.names_layer ? maps.title + " · " + name : whole_title(maps, style.language)) +
          (style.names_heads ? concat_text(": ", word(style.language,
                                                      style.differences ? "differences" : "figure"))
                             : ""));
  out += header(maps, layer, figure) + legend(figure);
  const std::string axes = panel_axes(figure.panel);
  for (Index h = 0; h < weights.heads(); ++h) {
    const std::string head = std::to_string(layer.heads[static_cast<std::size_t>(h)]);
    const std::string title =
        (style.names_layer ? name + " · " : "") +
        (style.names_heads ? concat_text(word(style.language, "head"), " ", head) : "");
    out +=
        panel(figure, h, number + "." + head, title, panel_cells(weights, h, figure.panel) + axes);
  }
  return out + "</svg>\n";
}

}  // namespace headlight
