#include "headlight/show/model/model_diagram.h"

#include "headlight/base/terminal_width.h"
#include "show/model/model_parts.h"
#include "show/report/parts/in_language.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr Index kPartColumns = 30;    // of a box's title
constexpr Index kDetailColumns = 50;  // of its sizes
constexpr Index kHeadColumns = 100;   // of a line of heads

std::string ended_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string box_line(const std::string& margin, const DiagramBox& box, const std::string& shape) {
  const std::string parameters = box.parameters > 0 ? grouped(box.parameters) : "";
  return ended_line(
      margin + pad_right(box.title, kPartColumns) +
      pad_right(box.detail + (box.note.empty() ? "" : ", " + box.note), kDetailColumns) +
      pad_left(parameters, 14) + "   " + (shape.empty() ? "" : "→ " + shape));
}

// Returns the lines of a row of heads: "head 0   head 1   ...".
std::string head_lines(const std::string& margin, const DiagramRow& row) {
  std::string text = ended_line(margin + row.caption);
  std::string line;
  for (const DiagramBox& head : row.boxes) {
    const std::string name =
        head.title + " (" + head.detail + (head.note.empty() ? "" : ", " + head.note) + ")";
    if (!line.empty() && terminal_width(line) + terminal_width(name) + 2 > kHeadColumns) {
      text += ended_line(margin + "  " + line);
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + name;
  }
  return text + ended_line(margin + "  " + line + "   → " + row.shapes.front());
}

std::string branch_text(const DiagramBranch& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string margin = i == 0 ? "│ ├─ " : "│ │  ";
    if (rows[i].is_heads) {
      text += head_lines(margin, rows[i]);
      continue;
    }
    for (std::size_t box = 0; box < rows[i].boxes.size(); ++box) {
      if (!rows[i].boxes[box].title.empty()) {
        const std::string first = box == 0 ? margin : "│ │  ";
        text += box_line(first, rows[i].boxes[box], rows[i].shapes[box]);
      }
    }
  }
  return text;
}

std::string layer_text(const DiagramParts& parts, Language language) {
  std::string text = ended_line("┌ " + parts.layers);
  if (parts.parallel) {
    text += ended_line("│ " +
                       in_language(language, "attention and MLP read the same vectors",
                                   "어텐션과 MLP가 같은 벡터를 읽음") +
                       (parts.shared_norm
                            ? in_language(language, ", after one norm", ", 정규화 하나를 거쳐")
                            : ""));
  }
  const std::string plus =
      "│ ⊕  " + in_language(language, "added to the residual stream", "잔차 스트림에 더하기");
  std::size_t number = 0;
  for (const DiagramBranch* rows : {&parts.attention, &parts.mlp}) {
    if (rows->empty()) {
      continue;
    }
    text += branch_text(*rows) + plus + " → [T, C]\n";
    if (!parts.stream_norms.empty()) {
      text += box_line("│ │  ", parts.stream_norms[number++], "[T, C]");
    }
  }
  return text + "└\n";
}

std::string matrices_text(const GptConfig& config, Language language) {
  Table table({{in_language(language, "weights", "가중치"), true},
               {in_language(language, "shape", "형태")},
               {in_language(language, "each", "하나")},
               {in_language(language, "number", "개수")},
               {in_language(language, "parameters", "파라미터 수")}});
  Index total = 0;
  for (const MatrixRow& row : matrix_rows(config)) {
    total += row.each * row.count;
    table.add({row.name, row.shape, grouped(row.each), grouped(row.count),
               grouped(row.each * row.count)});
  }
  table.add({in_language(language, "all parameters", "모든 파라미터"), "", "", "", grouped(total)});
  return table.text();
}

}  // namespace

std::string model_diagram_text(const GptConfig& config, const ModelDiagramOptions& options) {
  const Language language = options.language;
  const DiagramParts parts = diagram_parts(config, language);
  std::string text = options.title.empty() ? "" : options.title + "  ";
  text += parts.sizes + "\n\n" + in_language(language, "token ids [T]", "토큰 번호 [T]") + "\n";
  text += box_line("", parts.token_embedding, "[T, C]");
  if (!parts.position_embedding.title.empty()) {
    text += box_line("", parts.position_embedding, "[T, C]");
  }
  const auto add_boxes = [&](const std::vector<DiagramBox>& boxes) {
    for (const DiagramBox& box : boxes) {
      text += box_line("", box, "[T, C]");
    }
  };
  add_boxes(parts.before_layers);
  text += layer_text(parts, language);
  add_boxes(parts.after_layers);
  text += parts.head.title.empty() ? "" : box_line("", parts.head, "[T, V]");
  return text + "\n" + matrices_text(config, language);
}

}  // namespace headlight
