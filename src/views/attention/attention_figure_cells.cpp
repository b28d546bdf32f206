#include <algorithm>
#include <cmath>

#include "views/attention/attention_figure.h"
#include "views/plot/colour_scale.h"
#include "views/plot/svg.h"

namespace headlight {
namespace {

// [cells, cells], the largest weight of every block.
std::vector<float> block_maxima(const float* weights, const PanelLayout& layout) {
  std::vector<float> maxima(static_cast<std::size_t>(layout.cells * layout.cells), 0.0F);
  for (Index query = 0; query < layout.tokens; ++query) {
    for (Index key = 0; key < layout.tokens; ++key) {
      const Index cell = query / layout.block * layout.cells + key / layout.block;
      float& largest = maxima[static_cast<std::size_t>(cell)];
      largest = std::max(largest, weights[query * layout.tokens + key]);
    }
  }
  return maxima;
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

// Collects horizontal runs of cells as the shortest path data; a run is a stroke of width 1 along
// its row, which takes half the bytes of a rectangle.
class RunPath {
 public:
  void add(Index row, Index column, Index length) {
    const std::string absolute = "M" + std::to_string(column) + " " + std::to_string(row);
    const Index across = column - column_;
    const std::string relative =
        "m" + std::to_string(across) + (row < row_ ? "" : " ") + std::to_string(row - row_);
    data_ += !data_.empty() && relative.size() < absolute.size() ? relative : absolute;
    data_ += "h" + std::to_string(length);
    row_ = row;
    column_ = column + length;
  }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
  Index row_ = 0;
  Index column_ = 0;
};

Index colour_level(double weight, const PanelLayout& layout) {
  return std::lround(weight_strength(weight, layout) * static_cast<double>(kColourLevels - 1));
}

Colour level_colour(Index level) {
  return attention_colour(static_cast<double>(level) / static_cast<double>(kColourLevels - 1),
                          Ground::light);
}

// One path per colour level. Level 0 is the ground and needs none.
std::string level_paths(const std::vector<float>& maxima, const PanelLayout& layout) {
  std::vector<RunPath> paths(static_cast<std::size_t>(kColourLevels));
  for (Index row = 0; row < layout.cells; ++row) {
    const auto level_at = [&](Index column) {
      return colour_level(maxima[static_cast<std::size_t>(row * layout.cells + column)], layout);
    };
    for (Index begin = 0; begin < layout.cells;) {
      const Index level = level_at(begin);
      Index end = begin + 1;
      while (end < layout.cells && level_at(end) == level) {
        ++end;
      }
      paths[static_cast<std::size_t>(level)].add(row, begin, end - begin);
      begin = end;
    }
  }
  std::string out;
  for (Index level = 1; level < kColourLevels; ++level) {
    const std::string& data = paths[static_cast<std::size_t>(level)].data();
    if (!data.empty()) {
      out += "<path stroke=\"#" + hex_digits(level_colour(level)) + "\" d=\"" + data + "\"/>\n";
    }
  }
  return out;
}

// The cells that may hold weight, in units of cells: all of them, or the staircase of the past.
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

// White lines that set apart cells large enough to be read one by one.
std::string grid_path(Index cells, bool ahead) {
  std::string path;
  for (Index line = 1; line < cells; ++line) {
    const std::string at = std::to_string(line);
    path += "M0 " + at + "H" + std::to_string(ahead ? cells : line + 1);
    path += "M" + at + " " + std::to_string(ahead ? 0 : line - 1) + "V" + std::to_string(cells);
  }
  return path;
}

// Weights that print as 0.00 are written faintly, so that the others stand out.
std::string value_ink(double weight, Colour cell) {
  if (needs_white_text(cell)) {
    return "#fff";
  }
  return weight < 0.005 ? "#7d8194" : "#1d2030";
}

std::string cell_values(const float* weights, const PanelLayout& layout) {
  std::string out = "<g font-size=\"11\" text-anchor=\"middle\">\n";
  for (Index query = 0; query < layout.tokens; ++query) {
    for (Index key = 0; key < layout.tokens; ++key) {
      const float weight = weights[query * layout.tokens + key];
      if (key > query && weight == 0.0F) {
        continue;
      }
      const std::string ink = value_ink(weight, level_colour(colour_level(weight, layout)));
      out += "<text class=\"value\" x=\"" +
             svg_number((static_cast<double>(key) + 0.5) * layout.cell) + "\" y=\"" +
             svg_number((static_cast<double>(query) + 0.5) * layout.cell + 4.0) + "\" fill=\"" +
             ink + "\">" + two_decimals(weight) + "</text>\n";
    }
  }
  return out + "</g>\n";
}

}  // namespace

double weight_strength(double weight, const PanelLayout& layout) {
  const double clamped = std::clamp(weight, 0.0, 1.0);
  return layout.square_root ? std::sqrt(clamped) : clamped;
}

std::string panel_cells(const float* weights, const PanelLayout& layout) {
  const std::vector<float> maxima = block_maxima(weights, layout);
  const bool ahead = looks_ahead(maxima, layout.cells);
  const std::string scale = "scale(" + svg_number(layout.cell) + ")";
  std::string out = "<path transform=\"" + scale + "\" fill=\"#" + hex_digits(level_colour(0)) +
                    "\" d=\"" + ground_path(layout.cells, ahead) + "\"/>\n";
  // The strokes overlap a little so that no ground shines through between rows.
  out += "<g transform=\"" + scale + "translate(0 .5)\" fill=\"none\" stroke-width=\"1.02\" " +
         "shape-rendering=\"crispEdges\">\n" + level_paths(maxima, layout) + "</g>\n";
  if (layout.cell >= 9.0) {
    out += "<path transform=\"" + scale + "\" fill=\"none\" stroke=\"#fff\" stroke-width=\"" +
           svg_number(1.0 / layout.cell) + "\" d=\"" + grid_path(layout.cells, ahead) + "\"/>\n";
  }
  return layout.values ? out + cell_values(weights, layout) : out;
}

}  // namespace headlight
