#include "headlight/views/circuit_plot.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "headlight/base/error.h"
#include "views/plot/svg.h"

namespace headlight {
namespace {

constexpr double kMargin = 28;
constexpr double kTitle = 58;  // title and note
constexpr double kColumn = 92;
constexpr double kRow = 40;
constexpr double kBoxWidth = 56;
constexpr double kBoxHeight = 22;
constexpr double kFont = 11;
constexpr const char* kHelps = "#0b62b4";
constexpr const char* kHinders = "#d9660a";

// What stands in one column: all of a layer's heads, its MLP, or an end. Nodes that no kept edge
// touches are left out, and so are columns without any.
struct Layout {
  std::map<std::string, std::pair<double, double>> places;  // of the middle of a node's box
  double width = 0;
  double height = 0;
};

// Columns in the order of the computation.
Index column_of(const CircuitNode& node) {
  switch (node.part) {
    case CircuitPart::embed:
      return -1;
    case CircuitPart::head:
      return 2 * node.layer;
    case CircuitPart::mlp:
      return 2 * node.layer + 1;
    case CircuitPart::logits:
      break;
  }
  return std::numeric_limits<Index>::max();
}

// A head that stands for several that share keys and values is drawn at each of those that write
// or read by themselves; where there is none, at the first.
std::vector<std::string> names_of(const CircuitNode& node,
                                  const std::map<std::string, CircuitNode>& writers) {
  std::vector<std::string> names;
  for (Index head = node.head; head <= node.last && node.part == CircuitPart::head; ++head) {
    CircuitNode one = node;
    one.head = head;
    one.last = head;
    if (writers.count(node_name(one)) > 0) {
      names.push_back(node_name(one));
    }
  }
  if (names.empty()) {
    CircuitNode first = node;
    first.last = first.head;
    names.push_back(node_name(first));
  }
  return names;
}

struct Line {
  std::string from;
  std::string to;
  double score = 0;
  std::string ports;  // "qk"
};

// Edges between the same two nodes are one line, as strong as all together.
std::vector<Line> lines_of(const std::vector<CircuitEdge>& edges, Layout& layout) {
  std::map<std::string, CircuitNode> writers;
  for (const CircuitEdge& edge : edges) {
    if (edge.is_kept) {
      writers.emplace(node_name(edge.from), edge.from);
    }
  }
  std::map<std::pair<std::string, std::string>, Line> lines;
  std::map<Index, std::map<Index, std::string>> columns;  // head number to name
  const auto place = [&](const CircuitNode& node, const std::string& name) {
    const std::size_t dot = name.find('.');
    const bool is_head = node.part == CircuitPart::head;
    columns[column_of(node)][is_head ? std::stoll(name.substr(dot + 1)) : 0] = name;
  };
  for (const CircuitEdge& edge : edges) {
    if (!edge.is_kept) {
      continue;
    }
    place(edge.from, node_name(edge.from));
    for (const std::string& to : names_of(edge.to, writers)) {
      place(edge.to, to);
      Line& line = lines[{node_name(edge.from), to}];
      line.from = node_name(edge.from);
      line.to = to;
      line.score += edge.score;
      line.ports += edge.into ? std::string(name_of(*edge.into)) : "";
    }
  }
  std::size_t tallest = 0;
  for (const auto& [column, nodes] : columns) {
    tallest = std::max(tallest, nodes.size());
  }
  layout.height = kTitle + static_cast<double>(tallest) * kRow + kMargin;
  double x = kMargin + kBoxWidth / 2;
  for (const auto& [column, nodes] : columns) {
    double y = kTitle + (static_cast<double>(tallest - nodes.size()) + 1) * kRow / 2;
    for (const auto& [number, name] : nodes) {
      layout.places[name] = {x, y};
      y += kRow;
    }
    x += kColumn;
  }
  layout.width = x - kColumn + kBoxWidth / 2 + kMargin;
  std::vector<Line> result;
  for (auto& [ends, line] : lines) {
    result.push_back(std::move(line));
  }
  return result;
}

// Thicker and less faint the stronger it is; it leaves on the right and arrives on the left. Lines
// over several columns bend, so that those between nodes of one row can be told apart.
std::string line_svg(const Line& line, const Layout& layout, double strongest) {
  const auto [from_x, from_y] = layout.places.at(line.from);
  const auto [to_x, to_y] = layout.places.at(line.to);
  const double share = std::abs(line.score) / strongest;
  const double start = from_x + kBoxWidth / 2;
  const double end = to_x - kBoxWidth / 2;
  const double bend = std::max(24.0, (end - start) * 0.45);
  const double sag = (end - start) > kColumn ? std::min(60.0, 0.06 * (end - start)) : 0;
  return concat_text(
      "<path d=\"M", svg_number(start), " ", svg_number(from_y), " C", svg_number(start + bend),
      " ", svg_number(from_y + sag), " ", svg_number(end - bend), " ", svg_number(to_y + sag), " ",
      svg_number(end), " ", svg_number(to_y), "\" fill=\"none\" stroke=\"",
      line.score >= 0 ? kHelps : kHinders, "\" stroke-width=\"", svg_number(0.6 + 5.4 * share),
      "\" stroke-opacity=\"", svg_number(0.25 + 0.65 * share), "\"><title>",
      escape_markup(line.from), " to ", escape_markup(line.to),
      line.ports.empty() ? "" : " (" + line.ports + ")", ": ", two_decimals(line.score),
      "</title></path>\n");
}

std::string node_svg(const std::string& name, double x, double y) {
  return concat_text("<rect x=\"", svg_number(x - kBoxWidth / 2), "\" y=\"",
                     svg_number(y - kBoxHeight / 2), "\" width=\"", svg_number(kBoxWidth),
                     "\" height=\"", svg_number(kBoxHeight),
                     "\" rx=\"6\" fill=\"#ffffff\" stroke=\"#5b5b6b\"/>\n",
                     svg_text(x, y + 4, "font-size=\"11\" text-anchor=\"middle\" fill=\"#1b1b28\"",
                              escape_markup(name)));
}

}  // namespace

std::string circuit_svg(const CircuitResult& circuit, const std::string& title,
                        const std::string& note) {
  Layout layout;
  std::vector<Line> lines = lines_of(circuit.edges, layout);
  require(!lines.empty(), "[circuit_svg] expected at least one edge that is kept");
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return std::abs(a.score) < std::abs(b.score); });
  const double strongest = std::max(std::abs(lines.back().score), 1e-12);
  const double width = std::max(
      layout.width, 2 * kMargin + kFont * std::max(1.3 * text_width(title), text_width(note)));
  std::string svg = svg_start(width, layout.height, title);
  svg += svg_text(kMargin, 26, "font-size=\"14\" font-weight=\"bold\" fill=\"#1b1b28\"",
                  escape_markup(title));
  svg += svg_text(kMargin, 44, "font-size=\"11\" fill=\"#5b5b6b\"", escape_markup(note));
  for (const Line& line : lines) {
    svg += line_svg(line, layout, strongest);
  }
  for (const auto& [name, place] : layout.places) {
    svg += node_svg(name, place.first, place.second);
  }
  return svg + "</svg>\n";
}

}  // namespace headlight
