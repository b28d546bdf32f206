#pragma once

#include "headlight/show/attention/attention_html.h"
#include "headlight/show/attention/attention_svg.h"
#include "support/test.h"

// Attention maps for tests, and functions that decode their views.
namespace headlight::test {

inline const std::string kHostile = "</script><img src=x onerror=\"alert(1)\">";

// Returns a map of one layer; `weights` is [H, T, T] in row-major order.
inline AttentionMaps one_layer(const std::vector<std::string>& tokens, Index number,
                               const std::vector<Index>& heads, const std::vector<float>& weights) {
  const auto count = static_cast<Index>(tokens.size());
  const Shape shape = {static_cast<Index>(heads.size()), count, count};
  return {"model", tokens, {{number, heads, Tensor::from(weights, shape)}}};
}

// Returns rows of different weights that sum to 1; with `causal`, the future is 0.
inline std::vector<float> plausible_weights(Index heads, Index tokens, bool causal) {
  std::vector<float> weights;
  for (Index row = 0; row < heads * tokens; ++row) {
    const Index seen = causal ? row % tokens + 1 : tokens;
    double sum = 0.0;
    for (Index key = 0; key < seen; ++key) {
      sum += 1.0 + std::sin(static_cast<double>(row * 7 + key * 3));
    }
    for (Index key = 0; key < tokens; ++key) {
      const double weight = 1.0 + std::sin(static_cast<double>(row * 7 + key * 3));
      weights.push_back(key < seen ? static_cast<float>(weight / sum) : 0.0F);
    }
  }
  return weights;
}

inline std::vector<std::string> numbered_tokens(Index count) {
  return counted<std::string>(count, [&](Index i) { return "t" + std::to_string(i); });
}

inline Index occurrences(const std::string& text, const std::string& part) {
  Index count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

inline std::string svg_of(const AttentionMaps& maps) {
  return attention_svg(maps, maps.layers.front());
}

// Returns the JSON data in a page.
inline nlohmann::json embedded_page(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

// Returns the JSON data of one document in a page.
inline nlohmann::json embedded_data(const std::string& page, std::size_t document = 0) {
  return embedded_page(page)["documents"][document];
}

inline std::vector<unsigned> decoded_bytes(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned> bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char c : base64.substr(0, base64.find('='))) {
    bits = (bits << 6 | static_cast<unsigned>(digits.find(c))) & 0xFFFFU;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push_back(bits >> held & 0xFFU);
    }
  }
  return bytes;
}

inline std::vector<double> decode(const std::string& base64) {
  const std::vector<unsigned> bytes = decoded_bytes(base64);
  std::vector<double> weights;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    weights.push_back((bytes[i] + 256 * bytes[i + 1]) / 65535.0);
  }
  return weights;
}

// Checks that both views throw `message`, after the name of the function.
inline void expect_both_throw(const AttentionMaps& maps, const std::string& message) {
  const std::string svg_error = error_of([&] { svg_of(maps); });
  const std::string html_error = error_of([&] { attention_html(maps); });
  INFO(svg_error << "\n" << html_error);
  REQUIRE(contains(svg_error, "[attention_svg] "));
  REQUIRE(contains(html_error, "[attention_html] "));
  REQUIRE(contains(svg_error, message));
  REQUIRE(contains(html_error, message));
}

}  // namespace headlight::test
