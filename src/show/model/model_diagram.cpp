#include "headlight/show/model/model_diagram.h"

#include <algorithm>

#include "base/strings/display_text.h"
#include "interpret/words.h"
#include "show/model/model_parts.h"
#include "show/plot/svg.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Lengths are in SVG user units (pixels at 100 %).
constexpr double kDiagramMargin = 24.0;
constexpr double kStream = 146.0;     // x of the residual stream
constexpr double kStreamBox = 220.0;  // width of the boxes on the stream
constexpr double kBranch = 300.0;     // left end of the first branch
constexpr double kBranchWidth = 468.0;
constexpr double kBranchGap = 40.0;
constexpr double kArrow = 34.0;   // height of an arrow between two boxes
constexpr double kLine = 16.0;    // height of a line in a box
constexpr double kPadding = 7.0;  // above and below the lines of a box
constexpr double kHeadGap = 6.0;
constexpr double kHeadHeight = 36.0;  // with a note 13 more
constexpr Index kHeadsInRow = 8;
constexpr Index kMostHeads = 64;  // boxes of heads; the rest is counted
constexpr double kPlus = 10.0;    // radius of an addition
constexpr double kTableRow = 20.0;
constexpr const char* kDiagramInk = "#1d2030";
constexpr const char* kMuted = "#6b6f80";
constexpr const char* kWire = "#7d8194";

// Fill and outline of a kind of box.
struct BoxColours {
  const char* fill;
  const char* outline;
};
constexpr BoxColours kWeights{"#eaf1fb", "#8aa9d6"};    // with parameters
constexpr BoxColours kNorms{"#fdf3e3", "#d9b578"};      // on one line: norms
constexpr BoxColours kFunctions{"#f1f1f4", "#b4b7c3"};  // without parameters
constexpr BoxColours kHead{"#dfeee4", "#83b094"};
constexpr BoxColours kOtherHead{"#f0f7f2", "#83b094"};

std::string rectangle(double x, double y, double width, double height, const BoxColours& colours) {
  return "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" width=\"" +
         svg_number(width) + "\" height=\"" + svg_number(height) + "\" rx=\"5\" fill=\"" +
         colours.fill + "\" stroke=\"" + colours.outline + "\"/>\n";
}

std::string arrow(double x, double from, double to) {
  return svg_line(x, from, x, to - 5, std::string("stroke=\"") + kWire + "\"") + "<path fill=\"" +
         kWire + "\" d=\"M" + svg_number(x - 4) + " " + svg_number(to - 7) + "h8l-4 7z\"/>\n";
}

// Text with a font size of at most `size` that fits a width. Bold letters are wider.
std::string fitted(double x, double y, double width, double size, const std::string& style,
                   const std::string& text) {
  const bool is_bold = style.find("font-weight") != style.npos;
  const double room = is_bold ? 0.86 * width : width;
  const double fitting = std::min(size, room / std::max(1.0, text_width(text)));
  return svg_text(x, y, "font-size=\"" + svg_number(fitting) + "\" " + style, text);
}

// Lines of a box: title, sizes, number of parameters.
std::vector<std::string> lines_of(const DiagramBox& box) {
  std::vector<std::string> lines{box.title};
  if (!box.detail.empty()) {
    lines.push_back(box.detail);
  }
  if (box.parameters > 0) {
    lines.push_back(grouped(box.parameters));
  }
  if (!box.note.empty()) {
    lines.push_back(box.note);
  }
  return lines;
}

double height_of(const DiagramBox& box) {
  return 2 * kPadding + kLine * static_cast<double>(lines_of(box).size());
}

std::string box_svg(const DiagramBox& box, double x, double y, double width, double height) {
  const bool is_norm = box.title == "LayerNorm" || box.title == "RMSNorm";
  std::string out = rectangle(x, y, width, height,
                              is_norm              ? kNorms
                              : box.parameters > 0 ? kWeights
                                                   : kFunctions);
  const std::vector<std::string> lines = lines_of(box);
  double at = y + (height - kLine * static_cast<double>(lines.size())) / 2 + 12;
  for (std::size_t i = 0; i < lines.size(); ++i, at += kLine) {
    const std::string style = std::string("text-anchor=\"middle\" fill=\"") +
                              (i == 0 ? kDiagramInk : kMuted) + "\"" +
                              (i == 0 ? " font-weight=\"600\"" : "");
    out += fitted(x + width / 2, at, width - 12, i == 0 ? 12 : 11, style, lines[i]);
  }
  return out;
}

std::string shape_svg(double x, double y, const std::string& shape) {
  return svg_text(x + 7, y, std::string("font-size=\"11\" fill=\"") + kMuted + "\"", shape);
}

// Draws the rows of a branch below one another.
class BranchPicture {
 public:
  BranchPicture(const DiagramBranch& rows, double left, double top)
      : rows_(rows), left_(left), y_(top) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      draw(rows[i]);
      if (i == 0) {
        below_first_ = y_;
      }
      if (i + 1 < rows.size()) {
        draw_arrows(rows[i], rows[i + 1]);
      }
    }
  }

  const std::string& svg() const { return svg_; }
  double bottom() const { return y_; }
  double below_first() const { return below_first_; }
  double centre() const { return left_ + kBranchWidth / 2; }
  // Centres of the boxes of the first row, which read the residual stream.
  std::vector<double> entries() const {
    std::vector<double> centres;
    for (std::size_t i = 0; i < rows_.front().boxes.size(); ++i) {
      centres.push_back(centre_of(i, rows_.front().boxes.size()));
    }
    return centres;
  }

 private:
  static double gap_of(std::size_t count) { return count > 1 ? 14.0 : 0.0; }
  static double width_of(std::size_t count) {
    const auto boxes = static_cast<double>(count);
    return (kBranchWidth - gap_of(count) * (boxes - 1)) / boxes;
  }
  double centre_of(std::size_t box, std::size_t count) const {
    const double width = width_of(count);
    return left_ + static_cast<double>(box) * (width + gap_of(count)) + width / 2;
  }

  void draw(const DiagramRow& row) {
    if (row.is_heads) {
      draw_heads(row);
      return;
    }
    double height = 0;
    for (const DiagramBox& box : row.boxes) {
      height = std::max(height, height_of(box));
    }
    const double width = width_of(row.boxes.size());
    for (std::size_t i = 0; i < row.boxes.size(); ++i) {
      const double x = centre_of(i, row.boxes.size());
      svg_ += row.boxes[i].title.empty()
                  ? svg_line(x, y_, x, y_ + height, std::string("stroke=\"") + kWire + "\"")
                  : box_svg(row.boxes[i], x - width / 2, y_, width, height);
    }
    y_ += height;
  }

  void draw_heads(const DiagramRow& row) {
    const Index all = std::ssize(row.boxes);
    const Index shown = std::min(all, kMostHeads);
    const Index columns = std::min(shown, kHeadsInRow);
    const Index lines = columns == 0 ? 0 : (shown + columns - 1) / columns;
    const double box = kHeadHeight + (all > 0 && !row.boxes.front().note.empty() ? 13 : 0);
    const double height =
        24 + static_cast<double>(lines) * (box + kHeadGap) + (shown < all ? kLine : 0) + 4;
    svg_ += rectangle(left_, y_, kBranchWidth, height, kFunctions);
    svg_ += fitted(centre(), y_ + 16, kBranchWidth - 16, 11,
                   std::string("text-anchor=\"middle\" fill=\"") + kMuted + "\"", row.caption);
    const double width = (kBranchWidth - kHeadGap * static_cast<double>(columns + 1)) /
                         static_cast<double>(std::max<Index>(columns, 1));
    std::string group;
    bool other = false;
    for (Index i = 0; i < shown; ++i) {
      const DiagramBox& head = row.boxes[static_cast<std::size_t>(i)];
      other = head.note != group ? !other : other;
      group = head.note;
      const double x = left_ + kHeadGap + static_cast<double>(i % columns) * (width + kHeadGap);
      const auto line = i / columns;
      const double y = y_ + 24 + static_cast<double>(line) * (box + kHeadGap);
      svg_ += head_box(head, {x, y, width, box}, other ? kOtherHead : kHead);
    }
    if (shown < all) {
      svg_ +=
          svg_text(centre(), y_ + height - 8,
                   std::string("font-size=\"11\" text-anchor=\"middle\" fill=\"") + kMuted + "\"",
                   "… " + std::to_string(all));
    }
    y_ += height;
  }

  struct Area {
    double x;
    double y;
    double width;
    double height;
  };

  static std::string head_box(const DiagramBox& head, const Area& area, const BoxColours& colours) {
    const std::string middle = "text-anchor=\"middle\" fill=\"";
    const double centre = area.x + area.width / 2;
    const double room = area.width - 6;
    return "<g class=\"head\">" + rectangle(area.x, area.y, area.width, area.height, colours) +
           fitted(centre, area.y + 15, room, 11, middle + kDiagramInk + "\" font-weight=\"600\"",
                  head.title) +
           fitted(centre, area.y + 29, room, 10, middle + kMuted + "\"", head.detail) +
           (head.note.empty()
                ? ""
                : fitted(centre, area.y + 42, room, 10, middle + kMuted + "\"", head.note)) +
           "</g>\n";
  }

  // Arrows from every box of a row, or to every box of the next one, with shapes beside them.
  void draw_arrows(const DiagramRow& row, const DiagramRow& next) {
    const std::size_t from = row.is_heads ? 1 : row.boxes.size();
    const std::size_t to = next.is_heads ? 1 : next.boxes.size();
    const std::size_t count = std::max(from, to);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = centre_of(i, count);
      const bool passes = to == count && !next.is_heads && next.boxes[i].title.empty();
      svg_ += passes ? svg_line(x, y_, x, y_ + kArrow, std::string("stroke=\"") + kWire + "\"")
                     : arrow(x, y_, y_ + kArrow);
      if (i < row.shapes.size()) {
        svg_ += shape_svg(x, y_ + kArrow / 2 + 2, row.shapes[i]);
      }
    }
    y_ += kArrow;
  }

  const DiagramBranch& rows_;
  double left_;
  double y_;
  double below_first_ = 0;
  std::string svg_;
};

class ModelPicture {
 public:
  ModelPicture(const DiagramParts& parts, Language language) : parts_(parts), language_(language) {}

  // Draws everything below `top`.
  void draw(double top) {
    y_ = top;
    draw_embeddings();
    const double layer_top = y_ + 10;
    stream_to(layer_top + 42);
    if (parts_.parallel) {
      draw_parallel();
    } else {
      draw_sequence();
    }
    const double layer_bottom = y_ + 16;
    frame_ = frame(layer_top, layer_bottom);
    stream_to(layer_bottom);
    for (const DiagramBox& box : parts_.after_layers) {
      stream_box(box);
    }
    const bool has_head = !parts_.head.title.empty();
    if (has_head) {
      stream_box(parts_.head);
    }
    stream_arrow(has_head ? "[T, V]" : "[T, C]");
    svg_ +=
        svg_text(kStream, y_ + 14, middle(),
                 has_head ? word(language_, "diagram_logits") : word(language_, "diagram_hidden"));
    y_ += 24;
  }

  // The layer's frame is behind everything else.
  std::string svg() const { return frame_ + svg_; }
  double bottom() const { return y_; }
  double width() const {
    return kBranch + kBranchWidth +
           (parts_.parallel && !parts_.mlp.empty() ? kBranchGap + kBranchWidth : 0) + 16;
  }

 private:
  static std::string middle() {
    return std::string("font-size=\"12\" text-anchor=\"middle\" fill=\"") + kDiagramInk + "\"";
  }
  static std::string wire() { return std::string("stroke=\"") + kWire + "\""; }

  void draw_embeddings() {
    svg_ += svg_text(kStream, y_ + 12, middle(), word(language_, "diagram_ids"));
    y_ += 18;
    svg_ += arrow(kStream, y_, y_ + 24);
    y_ += 24;
    const double top = y_;
    draw_stream_box(parts_.token_embedding);
    if (!parts_.position_embedding.title.empty()) {
      const double height = height_of(parts_.position_embedding);
      svg_ += box_svg(parts_.position_embedding, kBranch, top, kStreamBox, height);
      stream_to(y_ + 24);
      svg_ +=
          svg_line(kBranch + kStreamBox / 2, top + height, kBranch + kStreamBox / 2, y_, wire());
      into_stream(kBranch + kStreamBox / 2);
    }
    for (const DiagramBox& box : parts_.before_layers) {
      stream_box(box);
    }
    svg_ += shape_svg(kStream, y_ + 22, "[T, C]");
    stream_to(y_ + 26);
  }

  void stream_to(double y) {
    svg_ += svg_line(kStream, y_, kStream, y, std::string(wire()) + " stroke-width=\"1.6\"");
    y_ = y;
  }
  void draw_stream_box(const DiagramBox& box) {
    const double height = height_of(box);
    svg_ += box_svg(box, kStream - kStreamBox / 2, y_, kStreamBox, height);
    y_ += height;
  }
  void stream_arrow(const std::string& shape) {
    svg_ += arrow(kStream, y_, y_ + kArrow) + shape_svg(kStream, y_ + kArrow / 2 + 2, shape);
    y_ += kArrow;
  }
  void stream_box(const DiagramBox& box) {
    stream_arrow("[T, C]");
    draw_stream_box(box);
  }

  // Draws a wire from x into an addition on the stream at y_.
  void into_stream(double x) {
    svg_ += svg_line(x, y_, kStream + kPlus + 5, y_, wire());
    svg_ += "<path fill=\"" + std::string(kWire) + "\" d=\"M" + svg_number(kStream + kPlus + 7) +
            " " + svg_number(y_ - 4) + "v8l-7 -4z\"/>\n";
    svg_ += "<circle cx=\"" + svg_number(kStream) + "\" cy=\"" + svg_number(y_) + "\" r=\"" +
            svg_number(kPlus) + "\" fill=\"#fff\" stroke=\"" + kWire + "\"/>\n<path stroke=\"" +
            kDiagramInk + "\" d=\"M" + svg_number(kStream - 5) + " " + svg_number(y_) + "h10M" +
            svg_number(kStream) + " " + svg_number(y_ - 5) + "v10\"/>\n";
  }

  // Wires from the stream to the first row of a branch.
  static std::string enter(const BranchPicture& branch, double tap) {
    std::string out = svg_line(kStream, tap, branch.entries().back(), tap, wire());
    for (const double x : branch.entries()) {
      out += arrow(x, tap, tap + 26);
    }
    return out;
  }

  // Draws a branch from the stream at y_ down to y_ of the return, and adds it to the stream.
  void draw_branch(const DiagramBranch& rows) {
    const double tap = y_;
    const BranchPicture branch(rows, kBranch, tap + 26);
    svg_ += enter(branch, tap) + branch.svg();
    const double back = branch.bottom() + 24;
    svg_ += svg_line(branch.centre(), branch.bottom(), branch.centre(), back, wire());
    svg_ += shape_svg(branch.centre(), branch.bottom() + 16, "[T, C]");
    stream_to(back);
    into_stream(branch.centre());
  }

  void draw_sequence() {
    std::size_t number = 0;
    for (const DiagramBranch* rows : {&parts_.attention, &parts_.mlp}) {
      if (rows->empty()) {
        continue;
      }
      draw_branch(*rows);
      stream_to(y_ + kPlus);
      if (!parts_.stream_norms.empty()) {
        stream_box(parts_.stream_norms[number++]);
      }
      stream_to(y_ + (rows == &parts_.mlp ? 8 : 24));
    }
  }

  void draw_parallel() {
    const double tap = y_;
    const double right = kBranch + kBranchWidth + kBranchGap;
    const BranchPicture attention(parts_.attention, kBranch, tap + 26);
    const double mlp_tap = parts_.shared_norm ? attention.below_first() + kArrow / 2 + 12 : tap;
    const BranchPicture mlp(parts_.mlp, right, mlp_tap + 26);
    svg_ += enter(attention, tap);
    if (parts_.shared_norm) {
      // The norm's output leaves at the right side of its box.
      const double side = tap + 26 + (attention.below_first() - tap - 26) / 2;
      svg_ += svg_line(kBranch + kBranchWidth, side, mlp.centre(), side, wire());
      svg_ += svg_line(mlp.centre(), side, mlp.centre(), mlp_tap, wire());
    } else {
      svg_ += svg_line(attention.centre(), tap, mlp.centre(), tap, wire());
    }
    svg_ += arrow(mlp.centre(), mlp_tap, mlp_tap + 26) + attention.svg() + mlp.svg();
    const double bottom = std::max(attention.bottom(), mlp.bottom());
    stream_to(bottom + 24);
    svg_ += svg_line(attention.centre(), attention.bottom(), attention.centre(), y_, wire());
    svg_ += shape_svg(attention.centre(), attention.bottom() + 16, "[T, C]");
    into_stream(attention.centre());
    stream_to(y_ + 40);
    svg_ += svg_line(mlp.centre(), mlp.bottom(), mlp.centre(), y_, wire());
    svg_ += shape_svg(mlp.centre(), mlp.bottom() + 16, "[T, C]");
    into_stream(mlp.centre());
    stream_to(y_ + kPlus + 8);
  }

  std::string frame(double top, double bottom) const {
    return "<rect x=\"12\" y=\"" + svg_number(top) + "\" width=\"" + svg_number(width() - 12) +
           "\" height=\"" + svg_number(bottom - top) +
           "\" rx=\"10\" fill=\"#fafafc\" stroke=\"#c9cad3\" stroke-dasharray=\"5 4\"/>\n" +
           svg_text(
               width() - 14, top + 20,
               std::string("font-size=\"13\" font-weight=\"600\" text-anchor=\"end\" fill=\"") +
                   kDiagramInk + "\"",
               parts_.layers);
  }

  const DiagramParts& parts_;
  Language language_;
  double y_ = 0;
  std::string svg_;
  std::string frame_;
};

// Columns of the table of matrices, with the right ends of columns of numbers.
constexpr double kNames = 250.0;
constexpr double kShapes = 380.0;
constexpr double kCounts = 430.0;
constexpr double kTotals = 550.0;

std::string table_line(double x, double y, const std::vector<std::string>& cells,
                       const std::string& style) {
  const std::string right = style + " text-anchor=\"end\"";
  return fitted(x, y, kNames - 10, 11, style, cells[0]) +
         fitted(x + kShapes, y, 120, 11, right, cells[1]) +
         fitted(x + kCounts, y, 46, 11, right, cells[2]) +
         fitted(x + kTotals, y, 112, 11, right, cells[3]);
}

std::string table_svg(const std::vector<MatrixRow>& rows, double x, double y, Language language) {
  const std::string muted = std::string("fill=\"") + kMuted + "\"";
  const std::string ink = std::string("fill=\"") + kDiagramInk + "\"";
  std::string out = table_line(x, y,
                               {word(language, "table_weights"), word(language, "table_shape"), "×",
                                word(language, "table_parameters")},
                               muted);
  Index total = 0;
  for (const MatrixRow& row : rows) {
    y += kTableRow;
    total += row.each * row.count;
    out += table_line(x, y,
                      {row.name, row.shape, row.count > 1 ? grouped(row.count) : "",
                       grouped(row.each * row.count)},
                      ink);
  }
  out += svg_line(x, y + 7, x + kTotals, y + 7, "stroke=\"#c9cad3\"");
  return out + table_line(x, y + kTableRow + 4,
                          {word(language, "table_total"), "", "", grouped(total)},
                          ink + " font-weight=\"600\"");
}

}  // namespace

std::string model_diagram_svg(const GptConfig& config, const ModelDiagramOptions& options) {
  const DiagramParts parts = diagram_parts(config, options.language);
  const std::vector<MatrixRow> rows = matrix_rows(config);
  ModelPicture picture(parts, options.language);
  picture.draw(kDiagramMargin + 62);
  const double table = picture.width() + 36;
  const double width = table + kTotals + kDiagramMargin;
  const double height =
      std::max(picture.bottom(),
               kDiagramMargin + 76 + kTableRow * static_cast<double>(rows.size() + 3)) +
      kDiagramMargin;
  const std::string name =
      printable_text(options.title.empty() ? word(options.language, "model") : options.title);
  std::string out = svg_start(width, height, name);
  out += fitted(kDiagramMargin, kDiagramMargin + 16, width - 2 * kDiagramMargin, 18,
                std::string("font-weight=\"600\" fill=\"") + kDiagramInk + "\"", name);
  out += fitted(kDiagramMargin, kDiagramMargin + 38, width - 2 * kDiagramMargin, 12,
                std::string("fill=\"") + kMuted + "\"", parts.sizes);
  return out + picture.svg() + table_svg(rows, table, kDiagramMargin + 76, options.language) +
         "</svg>\n";
}

}  // namespace headlight
