#include "headlight/show/text/coloured_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/strings/display_text.h"
#include "headlight/base/error.h"
#include "show/plot/colour_scale.h"
#include "show/plot/svg.h"

namespace headlight {
namespace {

constexpr const char* kStyle =
    "body{margin:16px;background:#fff;color:#1d2030;font:14px/1.9 'DejaVu Sans',Verdana,'Noto Sans "
    "CJK KR','Noto Sans KR',sans-serif}h1{font-size:16px;margin:0}h2{font-size:12px;color:#6b6f80;"
    "font-weight:400;margin:14px 0 0}p{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".note,.scale{color:#6b6f80;font-size:12px}span{border-radius:2px;padding:2px 0}"
    ".m{outline:2px solid #1d2030}i{display:inline-block;width:160px;height:10px;margin:0 8px}";

std::string coloured_number(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

double largest_of(const ColouredTextPage& page) {
  double largest = page.limit;
  for (const ColouredText& text : page.texts) {
    for (const double value : text.values) {
      if (page.limit == 0 && std::isfinite(value)) {
        largest = std::max(largest, std::abs(value));
      }
    }
  }
  return largest > 0 ? largest : 1;
}

// Returns a token's text with visible line ends, which also break the line.
std::string shown_text(const std::string& token) {
  std::string out;
  for (const char c : escape_markup(token_text(token))) {
    out += c == '\n' ? "⏎\n" : std::string(1, c);
  }
  return out;
}

std::string token_span(const ColouredText& text, std::size_t index, double limit) {
  const double value = text.values[index];
  const Colour colour = diverging_colour(std::isfinite(value) ? value / limit : 0);
  const bool is_marked = text.marked == static_cast<Index>(index);
  return std::string("<span") + (is_marked ? " class=\"m\"" : "") + " title=\"" +
         escape_markup(display_label(text.tokens[index])) + ": " +
         (std::isfinite(value) ? coloured_number(value) : "—") + "\" style=\"background:#" +
         hex_digits(colour) + (needs_white_text(colour) ? ";color:#fff" : "") + "\">" +
         shown_text(text.tokens[index]) + "</span>";
}

// Returns the colour bar from the least to the largest colour that the texts use.
std::string colour_bar(const ColouredTextPage& page, double limit) {
  const bool has_negative = std::ranges::any_of(page.texts, [](const ColouredText& text) {
    return std::ranges::any_of(text.values, [](double value) { return value < 0; });
  });
  const std::string end = hex_digits(diverging_colour(1));
  return "<p class=\"scale\">" + coloured_number(has_negative ? -limit : 0) +
         "<i style=\"background:linear-gradient(90deg," +
         (has_negative ? "#" + hex_digits(diverging_colour(-1)) + "," : "") + "#fff,#" + end +
         ");outline:1px solid #e3e5ec\"></i>" + coloured_number(limit) + "</p>\n";
}

}  // namespace

ColouredText merged_text(const ColouredText& text, const std::vector<TokenCell>& cells) {
  const std::size_t count = cells.empty() ? 0 : static_cast<std::size_t>(cells.back().end);
  require_value(text.values.size() == text.tokens.size() && count == text.tokens.size(), "cells",
                "expected the cells of ", text.tokens.size(), " tokens with as many values, got ",
                count, " tokens and ", text.values.size(), " values");
  const auto is_nearer = [](double a, double b) {  // to 0; NaN is nearest
    return std::isfinite(b) && !(std::abs(a) >= std::abs(b));
  };
  ColouredText merged{.label = text.label};
  for (const TokenCell& cell : cells) {
    if (text.marked && *text.marked >= cell.begin && *text.marked < cell.end) {
      merged.marked = std::ssize(merged.tokens);
    }
    const auto first = text.values.begin() + cell.begin;
    merged.values.push_back(*std::max_element(first, text.values.begin() + cell.end, is_nearer));
    const bool is_joined = cell.end - cell.begin > 1;
    merged.tokens.push_back(is_joined ? cell.label
                                      : text.tokens[static_cast<std::size_t>(cell.begin)]);
  }
  return merged;
}

std::string coloured_text_html(const ColouredTextPage& page) {
  require(!page.texts.empty(), "[coloured_text_html] expected at least one text");
  const double limit = largest_of(page);
  const std::string title = escape_markup(printable_text(page.title));
  std::string out = "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>" + title +
                    "</title><style>" + kStyle + "</style></head><body>\n";
  out += title.empty() ? "" : "<h1>" + title + "</h1>\n";
  out += page.note.empty()
             ? ""
             : "<p class=\"note\">" + escape_markup(printable_text(page.note)) + "</p>\n";
  out += colour_bar(page, limit);
  for (const ColouredText& text : page.texts) {
    require_value(text.values.size() == text.tokens.size(), "values", "expected ",
                  text.tokens.size(), " numbers, one for each token, got ", text.values.size());
    out += text.label.empty() ? "" : "<h2>" + escape_markup(printable_text(text.label)) + "</h2>\n";
    out += "<p>";
    for (std::size_t i = 0; i < text.tokens.size(); ++i) {
      out += token_span(text, i, limit);
    }
    out += "</p>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace headlight
