#include "headlight/show/plot/circuit_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "show/plot/svg.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

constexpr double kCircuitMargin = 28;
constexpr double kTitle = 58;  // title and note
constexpr double kColumn = 76;
constexpr double kRow = 54;
constexpr double kBoxWidth = 56;
constexpr double kBoxHeight = 22;
constexpr double kFont = 11;
constexpr const char* kHelps = "#0b62b4";
constexpr const char* kHinders = "#d9660a";

// Positions of the nodes: layers from top to bottom, heads from left to right by number, then MLPs.
// Nodes without a kept edge and layers without nodes are omitted.
struct CircuitLayout {
  std::map<std::string, std::pair<double, double>> centres;  // node name -> centre of its box
  double width = 0;
  double height = 0;
};

// Returns the row of a node; rows are in the order of the computation.
Index row_of(const CircuitNode& node) {
  return node.part == CircuitPart::embed    ? -1
         : node.part == CircuitPart::logits ? std::numeric_limits<Index>::max()
                                            : node.layer;
}

// Returns the names under which a node is drawn. A node of several heads that share keys and values
// is drawn at each of these heads that also writes an edge; if none does, at the first head.
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
  std::string port;  // input of the reading head: "q"; empty: a whole node
};

void position_nodes(const std::map<Index, std::map<std::string, Index>>& rows,
                    CircuitLayout& layout) {
  std::map<Index, double> columns;  // head number -> x; -1: MLPs
  for (const auto& [row, nodes] : rows) {
    for (const auto& [name, number] : nodes) {
      columns[number] = 0;
    }
  }
  columns.erase(-1);
  double x = kCircuitMargin + kBoxWidth / 2;
  for (auto& [number, position] : columns) {
    position = x;
    x += kColumn;
  }
  columns[-1] = x;  // MLPs
  layout.width = x + kBoxWidth / 2 + kCircuitMargin + 40;
  double y = kTitle + kRow / 2;
  for (const auto& [row, nodes] : rows) {
    const bool is_end = row < 0 || row == std::numeric_limits<Index>::max();
    for (const auto& [name, number] : nodes) {
      layout.centres[name] = {is_end ? layout.width / 2 : columns.at(number), y};
    }
    y += kRow;
  }
  layout.height = y - kRow / 2 + kCircuitMargin;
}

// Returns a line for each kept edge, and positions the nodes. An edge into several heads that share
// keys and values has a line to each of them.
std::vector<Line> lines_of(const std::vector<CircuitEdge>& edges, CircuitLayout& layout) {
  std::map<std::string, CircuitNode> writers;
  for (const CircuitEdge& edge : edges) {
    if (edge.is_kept) {
      writers.emplace(node_name(edge.from), edge.from);
    }
  }
  std::vector<Line> lines;
  std::map<Index, std::map<std::string, Index>> rows;  // row -> name -> head number; others: -1
  const auto add_node = [&](const CircuitNode& node, const std::string& name) {
    const bool is_head = node.part == CircuitPart::head;
    rows[row_of(node)][name] = is_head ? std::stoll(name.substr(name.find('.') + 1)) : -1;
  };
  for (const CircuitEdge& edge : edges) {
    if (!edge.is_kept) {
      continue;
    }
    add_node(edge.from, node_name(edge.from));
    for (const std::string& to : names_of(edge.to, writers)) {
      add_node(edge.to, to);
      lines.push_back({.from = node_name(edge.from),
                       .to = to,
                       .score = edge.score,
                       .port = edge.into ? std::string(name_of(*edge.into)) : ""});
    }
  }
  position_nodes(rows, layout);
  return lines;
}

// Returns where a line enters its box, from the centre: query, key and value from left to right.
double port_offset(std::string_view port) {
  constexpr double kPort = 17;
  return port == "q" ? -kPort : port == "v" ? kPort : 0;
}

// Returns the name of an input of a head beside the end of its line.
std::string port_svg(const Line& line, const CircuitLayout& layout) {
  const auto [x, y] = layout.centres.at(line.to);
  return line.port.empty()
             ? ""
             : svg_text(x + port_offset(line.port) + 3, y - kBoxHeight / 2 - 2,
                        "font-size=\"8\" fill=\"#5b5b6b\" stroke=\"#fff\" stroke-width=\"2\" "
                        "paint-order=\"stroke\"",
                        line.port);
}

// Returns the path from the bottom of one box to the top of another, or from side to side within a
// layer. Lines over several layers bend to the right, to pass beside the boxes between.
std::string path_of(const Line& line, const CircuitLayout& layout) {
  const auto [from_x, from_y] = layout.centres.at(line.from);
  const auto [box_x, to_y] = layout.centres.at(line.to);
  const double to_x = box_x + port_offset(line.port);
  const auto at = [](double x, double y) { return svg_number(x) + " " + svg_number(y); };
  if (from_y == to_y) {
    const double start = from_x + kBoxWidth / 2;
    const double end = to_x - kBoxWidth / 2;
    const double swing = to_x - from_x > kColumn ? kRow / 2 : 0;
    return "M" + at(start, from_y) + " C" + at(start + 12, from_y + swing) + " " +
           at(end - 12, to_y + swing) + " " + at(end, to_y);
  }
  const double start = from_y + kBoxHeight / 2;
  const double end = to_y - kBoxHeight / 2;
  const double bend = std::max(14.0, (end - start) * 0.35);
  const double swing = end - start > kRow ? std::min(90.0, 20 + 0.07 * (end - start)) : 0;
  return "M" + at(from_x, start) + " C" + at(from_x + swing, start + bend) + " " +
         at(to_x + swing, end - bend) + " " + at(to_x, end);
}

// Returns the line; width and opacity grow with |score| / strongest.
std::string line_svg(const Line& line, const CircuitLayout& layout, double strongest) {
  const double share = std::abs(line.score) / strongest;
  return concat_text("<path d=\"", path_of(line, layout), "\" data-from=\"", line.from,
                     "\" data-to=\"", line.to, line.score >= 0 ? "" : "\" class=\"against",
                     "\" fill=\"none\" stroke=\"", line.score >= 0 ? kHelps : kHinders,
                     "\" stroke-width=\"", svg_number(0.6 + 5.4 * share), "\" stroke-opacity=\"",
                     svg_number(0.18 + 0.72 * std::sqrt(share)), "\"><title>",
                     escape_markup(line.from), " to ", escape_markup(line.to),
                     line.port.empty() ? "" : " (" + line.port + ")", ": ",
                     fixed_number(line.score, 2), "</title></path>\n");
}

std::string node_svg(const std::string& name, double x, double y) {
  return concat_text(
      "<g data-node=\"", name, "\"><rect x=\"", svg_number(x - kBoxWidth / 2), "\" y=\"",
      svg_number(y - kBoxHeight / 2), "\" width=\"", svg_number(kBoxWidth), "\" height=\"",
      svg_number(kBoxHeight), "\" rx=\"6\" fill=\"#ffffff\" stroke=\"#5b5b6b\"/>\n",
      svg_text(x, y + 4, "font-size=\"11\" text-anchor=\"middle\" fill=\"#1b1b28\"", name),
      "</g>\n");
}

}  // namespace

std::string circuit_svg(const CircuitResult& circuit, const std::string& title,
                        const std::string& note) {
  CircuitLayout layout;
  std::vector<Line> lines = lines_of(circuit.edges, layout);
  require(!lines.empty(), "[circuit_svg] expected at least one edge that is kept");
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return std::abs(a.score) < std::abs(b.score); });
  const double strongest = std::max(std::abs(lines.back().score), 1e-12);
  const double width =
      std::max(layout.width,
               2 * kCircuitMargin + std::max(14 * bold_width(title), kFont * text_width(note)));
  std::string svg = svg_start(width, layout.height, title);
  svg +=
      svg_text(kCircuitMargin, 26, "font-size=\"14\" font-weight=\"bold\" fill=\"#1b1b28\"", title);
  svg += svg_text(kCircuitMargin, 44, "font-size=\"11\" fill=\"#5b5b6b\"", note);
  for (const Line& line : lines) {
    svg += line_svg(line, layout, strongest);
  }
  for (const Line& line : lines) {
    svg += port_svg(line, layout);
  }
  for (const auto& [name, centre] : layout.centres) {
    svg += node_svg(name, centre.first, centre.second);
  }
  return svg + "</svg>\n";
}

}  // namespace headlight
