#include "views/plot/svg.h"

#include <charconv>
#include <iterator>

#include "views/attention/attention_view.h"

namespace headlight {

std::string two_decimals(double value) {
  char buffer[32];
  const auto end =
      std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::fixed, 2);
  return {std::begin(buffer), end.ptr};
}

std::string svg_number(double value) {
  std::string text = two_decimals(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string svg_start(double width, double height, const std::string& title) {
  const std::string size = svg_number(width) + " " + svg_number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + svg_number(width) + "\" height=\"" +
         svg_number(height) + "\" viewBox=\"0 0 " + size +
         "\" font-family=\"sans-serif\" role=\"img\">\n<title>" +
         escape_markup(printable_text(title)) +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
}

std::string svg_text(double x, double y, const std::string& attributes,
                     const std::string& content) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" " + attributes + ">" +
         escape_markup(printable_text(content)) + "</text>\n";
}

}  // namespace headlight
