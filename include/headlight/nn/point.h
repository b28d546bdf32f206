#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headlight/base/choices.h"
#include "headlight/base/index.h"

namespace headlight {

// Points of a forward pass that a hook can read and change, in the order of computation. Values and
// gradients equal those in hooks on modules of transformers' models (tests/parity). N: rows of the
// pass; H D: inner width of attention; G: heads of keys and values; I: inner width of the MLP.
// Layers skip points that they do not compute: without rotary positions there is no rot_q. With
// NormPosition::post, ln1 and ln2 are the residual stream itself. Hooks that are in_family_units()
// see the residual stream and its scales in the units of transformers.
enum class Point {
  embed,           // [N, C]: token embeddings, before positions are added; outside the layers
  resid_pre,       // [N, C]: residual stream at the layer's input
  ln1_scale,       // [N, 1]: divisor in the norm of attention
  ln1_normalized,  // [N, C]: result of that division, before gain and shift
  ln1,             // [N, C]: output of that norm after gain and shift: input of attention
  q,               // [N, H, D]: queries, before limits and norms
  k,               // [N, G, D]: keys, before limits and norms
  v,               // [N, G, D]: values, before limits
  rot_q,           // [N, H, D]: queries after qk_norm and rotation
  rot_k,           // [N, G, D]: keys after qk_norm and rotation
  attn_scores,     // [H, T, S] of one sequence: scaled scores; -infinity where masked
  pattern,         // [H, T, S] of one sequence: attention weights, before dropout
  z,               // [N, H, D]: outputs of the heads, before c_proj
  result,          // [N, H, C]: contribution of each head, without the bias of c_proj
  attn_out,        // [N, C]: output of attention, after any output norm, added to the stream
  resid_mid,       // [N, C]: residual stream between attention and MLP
  ln2_scale,       // [N, 1]: divisor in the norm of the MLP
  ln2_normalized,  // [N, C]: result of that division, before gain and shift
  ln2,             // [N, C]: input of the MLP
  mlp_pre,         // [N, I]: input of the activation; the gate, if there is one
  mlp_post,        // [N, I]: input of the output matrix: neurons
  mlp_out,         // [N, C]: output of the MLP, after any output norm, added to the stream
  resid_post,      // [N, C]: residual stream at the layer's output
  feature,         // [N, F]: features of a point of the layer, if a FeatureMap is attached
  ln_final_scale,  // [N, 1]: divisor in the final norm; outside the layers, like the next three
  ln_final_normalized,  // [N, C]: result of that division, before gain and shift
  ln_final,             // [N, C]: input of the head
  logits,               // [N, V]
};

// Short names of the points, for users.
template <>
inline constexpr auto kChoices<Point> =
    std::to_array<Choice<Point>>({{"embed", Point::embed},
                                  {"resid_pre", Point::resid_pre},
                                  {"ln1_scale", Point::ln1_scale},
                                  {"ln1_normalized", Point::ln1_normalized},
                                  {"ln1", Point::ln1},
                                  {"q", Point::q},
                                  {"k", Point::k},
                                  {"v", Point::v},
                                  {"rot_q", Point::rot_q},
                                  {"rot_k", Point::rot_k},
                                  {"attn_scores", Point::attn_scores},
                                  {"pattern", Point::pattern},
                                  {"z", Point::z},
                                  {"result", Point::result},
                                  {"attn_out", Point::attn_out},
                                  {"resid_mid", Point::resid_mid},
                                  {"ln2_scale", Point::ln2_scale},
                                  {"ln2_normalized", Point::ln2_normalized},
                                  {"ln2", Point::ln2},
                                  {"mlp_pre", Point::mlp_pre},
                                  {"mlp_post", Point::mlp_post},
                                  {"mlp_out", Point::mlp_out},
                                  {"resid_post", Point::resid_post},
                                  {"feature", Point::feature},
                                  {"ln_final_scale", Point::ln_final_scale},
                                  {"ln_final_normalized", Point::ln_final_normalized},
                                  {"ln_final", Point::ln_final},
                                  {"logits", Point::logits}});

// Returns false for embed, logits and the points of the final norm, for which hooks get layer 0.
bool is_in_layer(Point point);

// Meaning of the second axis of a point's values.
enum class PointItems {
  heads,      // query heads
  key_heads,  // heads of keys and values
  maps,       // query heads, along the first axis: attn_scores, pattern
  features,   // no heads: elements of the residual stream, neurons, or tokens of V
};
PointItems items_of(Point point);

// Returns the name in TransformerLens's TransformerBridge (4.3), whose values are the same:
// "blocks.5.attn.hook_q", "hook_embed". ln1 is "blocks.5.ln1.hook_out"; hook_normalized is before
// gain and shift.
std::string point_name(Point point, Index layer);

// Numbers from `first` to `last`, from 0; without `last` all from `first` on.
struct NumberRange {
  Index first = 0;
  std::optional<Index> last = {};

  bool contains(Index number) const { return number >= first && (!last || number <= *last); }
  bool operator==(const NumberRange&) const = default;
};

// Parses "3", "4-8", "4-" or "*". Throws Error about `about` for other text.
NumberRange parse_range(std::string_view about, std::string_view text);
// Returns the text that parse_range() reads as `range`.
std::string range_text(const NumberRange& range);

// A point in some layers, and some of its heads, neurons or elements.
struct PointRange {
  Point point = Point::resid_pre;
  NumberRange layers = {};
  std::optional<NumberRange> items = {};  // none: all

  bool operator==(const PointRange&) const = default;
};

// Parses POINT[.LAYERS[.ITEMS]] with short or TransformerLens names: "resid_post", "z.5.1",
// "mlp_post.3-5.17", "blocks.5.attn.hook_z", "blocks.5.attn.hook_z.1". Also accepts "mlp.3"
// (mlp_out), "attn.3" (attn_out), "neuron.3.17" (mlp_post) and "5.1" (head 1 of layer 5: z.5.1).
// Throws Error about `about`, with the nearest name.
PointRange parse_point(std::string_view about, std::string_view text);

}  // namespace headlight
