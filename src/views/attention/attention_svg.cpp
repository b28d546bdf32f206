#include "headlight/views/attention_svg.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/display_text.h"
#include "views/attention/attention_figure.h"
#include "views/plot/colour_scale.h"
#include "views/plot/svg.h"

namespace headlight {
namespace {

constexpr double kMargin = 24.0;
constexpr double kHeader = 76.0;      // title, subtitle and legend
constexpr double kPanelTitle = 24.0;  // above each heat map
constexpr double kGap = 30.0;         // between panels
constexpr double kLegendWidth = 190.0;
constexpr double kSmallestWidth = 560.0;  // holds a title beside the legend

struct Figure {
  PanelLayout panel;
  Index columns = 0;
  Index rows = 0;
  double slot_width = 0.0;   // of a panel with its labels
  double slot_height = 0.0;  // with labels and title
  double width = 0.0;
  double height = 0.0;
};

// The most square arrangement among those that leave the fewest places empty.
Index column_count(Index heads) {
  const auto root = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(heads))));
  Index best = root;
  for (Index columns = root; columns <= root + 2 && columns <= heads; ++columns) {
    const auto empty = [&](Index count) { return (count - heads % count) % count; };
    best = empty(columns) < empty(best) ? columns : best;
  }
  return best;
}

Figure layout_figure(const AttentionMaps& maps, Index heads) {
  Figure figure;
  figure.panel = layout_panels(maps.tokens);
  figure.columns = column_count(heads);
  figure.rows = (heads + figure.columns - 1) / figure.columns;
  const PanelLayout& panel = figure.panel;
  figure.slot_width = panel.left + std::max(panel.side, 150.0);
  figure.slot_height = kPanelTitle + panel.side + panel.bottom;
  const auto columns = static_cast<double>(figure.columns);
  const auto rows = static_cast<double>(figure.rows);
  figure.width = std::max(2.0 * kMargin + columns * figure.slot_width + (columns - 1.0) * kGap,
                          kSmallestWidth);
  figure.height = kMargin + kHeader + rows * figure.slot_height + (rows - 1.0) * kGap + kMargin;
  return figure;
}

std::string counted(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string subtitle(const PanelLayout& panel, Index heads) {
  std::string text = counted(heads, "head") + ", " + counted(panel.tokens, "token");
  if (panel.block > 1) {
    const std::string block = std::to_string(panel.block);
    text += "; each cell the maximum of " + block + " × " + block;
  }
  return text;
}

std::string header(const AttentionMaps& maps, const LayerAttention& layer, const Figure& figure) {
  const double room = figure.width - 2.0 * kMargin - kLegendWidth - kGap;
  const std::string number = " · Layer " + std::to_string(layer.layer);
  const std::string model = printable_text(maps.title.empty() ? "Attention" : maps.title);
  const std::string title = shorten_text(model, room / 17.0 - text_width(number)) + number;
  const std::string small = shorten_text(
      subtitle(figure.panel, static_cast<Index>(layer.heads.size())), room / 12.0 * 1.15);
  return svg_text(kMargin, kMargin + 16.0, "font-size=\"18\" font-weight=\"600\" fill=\"#1d2030\"",
                  title) +
         svg_text(kMargin, kMargin + 37.0, "font-size=\"12\" fill=\"#6b6f80\"", small);
}

// The colour bar with ticks at weights that are easy to name.
std::string legend(const Figure& figure) {
  const std::string small = "font-size=\"10\" fill=\"#6b6f80\" text-anchor=\"";
  const double step = kLegendWidth / static_cast<double>(kColourLevels);
  std::string out = "<g class=\"legend\" transform=\"translate(" +
                    svg_number(figure.width - kMargin - kLegendWidth) + " " + svg_number(kMargin) +
                    ")\">\n";
  out += svg_text(
      0.0, 9.0, small + "start\"",
      figure.panel.square_root ? "Attention weight (square-root scale)" : "Attention weight");
  for (Index level = 0; level < kColourLevels; ++level) {
    const double strength = static_cast<double>(level) / static_cast<double>(kColourLevels - 1);
    out += "<rect shape-rendering=\"crispEdges\" x=\"" +
           svg_number(static_cast<double>(level) * step) + "\" y=\"16\" width=\"" +
           svg_number(step) + "\" height=\"10\" fill=\"#" +
           hex_digits(attention_colour(strength, Ground::light)) + "\"/>\n";
  }
  const std::array<double, 5> linear = {0.0, 0.25, 0.5, 0.75, 1.0};
  const std::array<double, 5> root = {0.0, 0.05, 0.25, 0.5, 1.0};
  for (const double weight : figure.panel.square_root ? root : linear) {
    const char* anchor = weight == 0.0 ? "start\"" : weight == 1.0 ? "end\"" : "middle\"";
    out += svg_text(weight_strength(weight, figure.panel) * kLegendWidth, 38.0, small + anchor,
                    svg_number(weight));
  }
  return out + "</g>\n";
}

std::string panel(const Figure& figure, Index place, const std::string& name,
                  const std::string& title, const std::string& content) {
  const auto column = static_cast<double>(place % figure.columns);
  const auto row = static_cast<double>(place / figure.columns);
  const double x = kMargin + figure.panel.left + column * (figure.slot_width + kGap);
  const double y = kMargin + kHeader + kPanelTitle + row * (figure.slot_height + kGap);
  return "<g class=\"head\" data-head=\"" + name + "\" transform=\"translate(" + svg_number(x) +
         " " + svg_number(y) + ")\">\n" +
         svg_text(0.0, -10.0, "font-size=\"13\" font-weight=\"600\" fill=\"#1d2030\"", title) +
         content + "</g>\n";
}

}  // namespace

std::string attention_svg(const AttentionMaps& maps, const LayerAttention& layer) {
  const LayerWeights weights("attention_svg", maps, layer);
  const Figure figure = layout_figure(maps, weights.heads());
  const std::string number = std::to_string(layer.layer);
  std::string out =
      svg_start(figure.width, figure.height,
                maps.title + " · Layer " + number + ": attention weights of every head");
  out += header(maps, layer, figure) + legend(figure);
  const std::string axes = panel_axes(figure.panel);
  for (Index h = 0; h < weights.heads(); ++h) {
    const std::string head = std::to_string(layer.heads[static_cast<std::size_t>(h)]);
    out += panel(figure, h, number + "." + head, "Layer " + number + " · Head " + head,
                 panel_cells(weights.head(h), figure.panel) + axes);
  }
  return out + "</svg>\n";
}

}  // namespace headlight
