#include "show/plot/svg.h"

#include <array>

#include "base/strings/display_text.h"
#include "headlight/base/terminal_width.h"
#include "headlight/base/utf8.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Returns the estimated width in font sizes: 1 for pictographs and two-column characters.
double character_width(char32_t c) {
  constexpr std::u32string_view kNarrow = U"il.,:;'|!·() ";
  if (terminal_width(c) == 2 || c >= 0x1F000) {
    return 1.0;
  }
  return kNarrow.find(c) != std::u32string_view::npos ? 0.36 : 0.62;
}

// Families in the order of the viewer's choice for each character: Latin, then Korean, Japanese and
// Chinese of Linux, Windows and macOS. Without them a viewer may show boxes for Hangul.
constexpr const char* kFontFamilies =
    "'DejaVu Sans', Verdana, 'Noto Sans CJK KR', 'Noto Sans KR', NanumGothic, 'Malgun Gothic', "
    "'Apple SD Gothic Neo', 'Noto Sans CJK JP', 'Yu Gothic', 'Hiragino Sans', 'Noto Sans CJK SC', "
    "'Microsoft YaHei', 'PingFang SC', sans-serif";

}  // namespace

std::string svg_number(double value) {
  std::string text = fixed_number(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string escape_markup(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr std::array<std::string_view, 5> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;",
                                                         "&#39;"};
  std::string out;
  for (const char c : text) {
    const std::size_t entity = kSpecial.find(c);
    if (entity == std::string_view::npos) {
      out += c;
    } else {
      out += kEntities[entity];
    }
  }
  return out;
}

double text_width(std::string_view text) {
  double width = 0.0;
  for (const char32_t c : code_points(text)) {
    width += character_width(c);
  }
  return width;
}

std::string shorten_text(std::string_view text, double width) {
  if (text_width(text) <= width) {
    return std::string(text);
  }
  std::string out;
  double used = character_width(U'…');
  for (const char32_t c : code_points(text)) {
    used += character_width(c);
    if (used > width) {
      break;
    }
    append_utf8(c, out);
  }
  return out + "…";
}

std::string svg_start(double width, double height, const std::string& title) {
  const std::string size = svg_number(width) + " " + svg_number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + svg_number(width) + "\" height=\"" +
         svg_number(height) + "\" viewBox=\"0 0 " + size + "\" font-family=\"" + kFontFamilies +
         "\" role=\"img\">\n<title>" + escape_markup(printable_text(title)) +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
}

std::string svg_text(double x, double y, const std::string& attributes,
                     const std::string& content) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" " + attributes + ">" +
         escape_markup(printable_text(content)) + "</text>\n";
}

std::string svg_line(double x1, double y1, double x2, double y2, const std::string& attributes) {
  return "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) + "\" x2=\"" +
         svg_number(x2) + "\" y2=\"" + svg_number(y2) + "\" " + attributes + "/>\n";
}

}  // namespace headlight
