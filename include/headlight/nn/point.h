#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headlight/base/choices.h"
#include "headlight/base/index.h"

namespace headlight {

// The places of a forward pass that can be watched and changed, in the order in which a pass comes
// by them; values and gradients there equal what hooks on the modules of transformers' models see
// (tests/parity). N are the rows of a pass, H D is the inner width of a layer's attention, G its
// heads of keys and values, I the width inside its MLP. A layer that does not compute something (a
// model without rotary positions has no rot_q) does not come by its point. Where norms stand behind
// (NormPosition::post), ln1 and ln2 are what goes on as the residual stream.
enum class Point {
  embed,           // [N, C]: embeddings of the tokens, before positions are added; no layer's
  resid_pre,       // [N, C]: the residual stream as it enters the layer
  ln1_scale,       // [N, 1]: what the norm of attention divides by
  ln1,             // [N, C]: its result, behind gain and shift: what attention reads
  q,               // [N, H, D]: queries, before a norm of their own
  k,               // [N, G, D]: keys, before a norm of their own
  v,               // [N, G, D]: values
  rot_q,           // [N, H, D]: queries, normalised and turned by their positions
  rot_k,           // [N, G, D]: keys, normalised and turned by their positions
  attn_scores,     // [H, T, S] of one sequence: scaled, hidden ones -infinity
  pattern,         // [H, T, S] of one sequence: attention weights, before dropout
  z,               // [N, H, D]: what heads put out, before c_proj
  result,          // [N, H, C]: what each head adds, without the bias of c_proj
  attn_out,        // [N, C]: what attention adds to the residual stream, behind a norm of its own
  resid_mid,       // [N, C]: the residual stream between attention and MLP
  ln2_scale,       // [N, 1]: of the MLP's norm
  ln2,             // [N, C]: what the MLP reads
  mlp_pre,         // [N, I]: before the activation; the gate, where there is one
  mlp_post,        // [N, I]: what the output matrix reads: neurons
  mlp_out,         // [N, C]: what the MLP adds to the residual stream, behind a norm of its own
  resid_post,      // [N, C]: the residual stream as it leaves the layer
  ln_final_scale,  // [N, 1]: of the last norm; no layer's, as is what follows
  ln_final,        // [N, C]: what the head reads
  logits,          // [N, V]
};

// Short names, as users type them.
template <>
inline constexpr auto kChoices<Point> =
    std::to_array<Choice<Point>>({{"embed", Point::embed},
                                  {"resid_pre", Point::resid_pre},
                                  {"ln1_scale", Point::ln1_scale},
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
                                  {"ln2", Point::ln2},
                                  {"mlp_pre", Point::mlp_pre},
                                  {"mlp_post", Point::mlp_post},
                                  {"mlp_out", Point::mlp_out},
                                  {"resid_post", Point::resid_post},
                                  {"ln_final_scale", Point::ln_final_scale},
                                  {"ln_final", Point::ln_final},
                                  {"logits", Point::logits}});

// False for embed, ln_final_scale, ln_final and logits, which a hook is asked about with layer 0.
bool is_in_layer(Point point);

// What the numbers along the second axis count.
enum class PointItems {
  heads,      // query heads
  key_heads,  // heads of keys and values
  maps,       // query heads along the first axis: attn_scores, pattern
  features,   // there is no other axis: elements of the residual stream, neurons, tokens of V
};
PointItems items_of(Point point);

// As TransformerLens calls it: "blocks.5.attn.hook_q", "hook_embed". Its values are the same,
// but under hook_normalized Headlight has every norm's result behind gain and shift, as the
// LayerNorm of HookedTransformer (release 2.18) has. Its RMSNorm, and every norm of
// TransformerBridge (4.3), have that name in front of the gain; TransformerBridge calls what is
// behind it hook_out.
std::string point_name(Point point, Index layer);

// From 0; without a last one everything from the first on.
struct NumberRange {
  Index first = 0;
  std::optional<Index> last = {};

  bool contains(Index number) const { return number >= first && (!last || number <= *last); }
  bool operator==(const NumberRange&) const = default;
};

// "3", "4-8", "4-" or "*". Throws Error about `about` for other text.
NumberRange parse_range(std::string_view about, std::string_view text);
// As parse_range() reads it.
std::string range_text(const NumberRange& range);

// A point of some layers, and of some heads, neurons or elements there.
struct PointRange {
  Point point = Point::resid_pre;
  NumberRange layers = {};
  std::optional<NumberRange> items = {};  // none: all

  bool operator==(const PointRange&) const = default;
};

// POINT[.LAYERS[.ITEMS]] with the short names or TransformerLens's: "resid_post", "z.5.1",
// "mlp_post.3-5.17", "blocks.5.attn.hook_z", "blocks.5.attn.hook_z.1"; "mlp.3" and "attn.3" are
// mlp_out and attn_out, "neuron.3.17" is mlp_post, "blocks.3.ln1.hook_out" is ln1, and "5.1" is
// head 1 of layer 5, z.5.1. Throws Error about `about`, with the nearest name.
PointRange parse_point(std::string_view about, std::string_view text);

}  // namespace headlight
