#include "headlight/heads/attention_html.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "heads/attention_page.h"
#include "heads/attention_view.h"
#include "heads/colour_scale.h"

namespace headlight {
namespace {

constexpr Index kLargestData = Index{256} << 20;  // characters; what browsers parse without trouble
constexpr double kLargestInteger = 65535.0;       // stands for a weight of 1
constexpr int kPaletteColours = 256;

// The policy forbids every request, and every script but the page's own: even a token that slipped
// through as markup could neither run nor report home.
constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'nonce-headlight'; style-src 'nonce-headlight'; img-src data:; "
    "base-uri 'none'; form-action 'none'\">\n";

std::vector<LayerWeights> checked_layers(const AttentionMaps& maps) {
  require(!maps.layers.empty(), "[attention_html] expected at least one layer, got none");
  std::vector<LayerWeights> layers;
  std::set<Index> numbers;
  for (const LayerAttention& layer : maps.layers) {
    require(numbers.insert(layer.layer).second, "[attention_html] layer ", layer.layer,
            " comes twice");
    layers.emplace_back("attention_html", maps, layer);
  }
  return layers;
}

bool all_causal(const std::vector<LayerWeights>& layers) {
  return std::all_of(layers.begin(), layers.end(),
                     [](const LayerWeights& layer) { return layer.is_causal(); });
}

Index head_count(const std::vector<LayerWeights>& layers) {
  Index heads = 0;
  for (const LayerWeights& layer : layers) {
    heads += layer.heads();
  }
  return heads;
}

void require_embeddable(const std::vector<LayerWeights>& layers) {
  const Index tokens = layers.front().tokens();
  const Index heads = head_count(layers);
  const Index stored = all_causal(layers) ? tokens * (tokens + 1) / 2 : tokens * tokens;
  // Two bytes a weight, four characters for three bytes.
  const Index characters = heads * ((2 * stored + 2) / 3 * 4);
  require(characters <= kLargestData, "[attention_html] ", heads, " heads over ", tokens,
          " tokens: expected at most ", kLargestData >> 20, " MiB of weights in the page, got ",
          characters >> 20);
}

void append_base64(std::string& out, const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? bytes[i + k] : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 0x3F] : '=';
    }
  }
}

// Row after row, each weight as a 16-bit integer, the lower byte first; rows end at the diagonal
// when `causal`.
std::vector<std::uint8_t> quantised(const float* weights, Index tokens, bool causal) {
  std::vector<std::uint8_t> bytes;
  for (Index query = 0; query < tokens; ++query) {
    for (Index key = 0; key < (causal ? query + 1 : tokens); ++key) {
      const double weight = std::min(1.0, static_cast<double>(weights[query * tokens + key]));
      const auto integer = static_cast<std::uint32_t>(std::lround(weight * kLargestInteger));
      bytes.push_back(static_cast<std::uint8_t>(integer & 0xFF));
      bytes.push_back(static_cast<std::uint8_t>(integer >> 8));
    }
  }
  return bytes;
}

// JSON that no HTML parser can take for markup: the characters that could end the element or open
// another stand as escapes.
std::string embedded_json(const nlohmann::json& value) {
  std::string out;
  for (const char c : value.dump()) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

nlohmann::json palette(Ground ground) {
  std::string colours;
  std::string white_text;
  for (int i = 0; i < kPaletteColours; ++i) {
    const Colour colour = attention_colour(static_cast<double>(i) / (kPaletteColours - 1), ground);
    colours += hex_digits(colour);
    white_text += needs_white_text(colour) ? '1' : '0';
  }
  return {{"colours", colours}, {"white_text", white_text}};
}

std::string embedded_layers(const AttentionMaps& maps, const std::vector<LayerWeights>& layers,
                            bool causal) {
  std::string out = "[";
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerAttention& layer = maps.layers[l];
    out += (l == 0 ? "\n" : ",\n") + concat_text("{\"layer\":", layer.layer, ",\"heads\":") +
           nlohmann::json(layer.heads).dump() + ",\"weights\":[";
    for (Index h = 0; h < layers[l].heads(); ++h) {
      out += h == 0 ? "\n\"" : ",\n\"";
      append_base64(out, quantised(layers[l].head(h), layers[l].tokens(), causal));
      out += '"';
    }
    out += "]}";
  }
  return out + "]";
}

// The element that the script reads.
std::string embedded_data(const AttentionMaps& maps, const std::vector<LayerWeights>& layers) {
  std::vector<std::string> tokens;
  std::vector<std::string> labels;
  for (const std::string& token : maps.tokens) {
    tokens.push_back(token_text(token));
    labels.push_back(token_label(token));
  }
  const bool causal = all_causal(layers);
  const auto count = static_cast<Index>(tokens.size());
  std::string out = "<script type=\"application/json\" id=\"attention\">{\n";
  out += "\"tokens\":" + embedded_json(tokens) + ",\n\"labels\":" + embedded_json(labels);
  out += ",\n\"causal\":" + std::string(causal ? "true" : "false");
  out += ",\n\"linear\":" + std::string(count <= kLinearScaleTokens ? "true" : "false");
  out += ",\n\"light\":" + palette(Ground::light).dump();
  out += ",\n\"dark\":" + palette(Ground::dark).dump();
  return out + ",\n\"layers\":" + embedded_layers(maps, layers, causal) + "}</script>\n";
}

std::string counted(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string heading(const AttentionMaps& maps, const std::vector<LayerWeights>& layers,
                    const std::string& title) {
  return "<header class=\"top\">\n<div class=\"heading\"><h1>" + title + "</h1>\n<p>Attention of " +
         counted(head_count(layers), "head") + " in " +
         counted(static_cast<Index>(layers.size()), "layer") + " over " +
         counted(static_cast<Index>(maps.tokens.size()), "token") + "</p></div>\n";
}

}  // namespace

std::string attention_html(const AttentionMaps& maps) {
  const std::vector<LayerWeights> layers = checked_layers(maps);
  require_embeddable(layers);
  const std::string title =
      escape_markup(printable_text(maps.title.empty() ? "Attention" : maps.title));
  std::string out(kHead);
  out += "<title>" + title + " – attention</title>\n<style nonce=\"headlight\">\n";
  out += attention_page_style();
  out += "</style>\n</head>\n<body>\n" + heading(maps, layers, title);
  out += attention_page_markup();
  out += embedded_data(maps, layers);
  out += "<script type=\"module\" nonce=\"headlight\">\n";
  out += attention_page_data_script();
  out += attention_page_map_script();
  out += attention_page_text_script();
  out += attention_page_grid_script();
  out += attention_page_control_script();
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace headlight
