#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/heads/head_id.h"
#include "headlight/heads/patching.h"
#include "headlight/nn/gpt.h"

// Direct logit attribution (Elhage et al., "A Mathematical Framework for Transformer Circuits",
// 2021): the residual stream before the head is a sum of what the embedding, every attention head
// and every MLP wrote into it, and so, with the scale of the last norm taken as it is, is a logit.
namespace headlight {

struct AttributionTask {
  std::vector<std::int32_t> text;            // [T]
  std::int32_t target = 0;                   // the token whose logit is taken apart
  std::optional<std::int32_t> against = {};  // with one, its logit is subtracted
  std::optional<Index> position = {};        // of the query, from 0; without: the last one
  // Sources of attribute_prompts() in place of single tokens; a token is in at most one group.
  std::vector<TokenGroup> groups = {};
};

// How far a logit is taken apart.
enum class AttributionBy {
  layer,   // attention and MLP of every layer
  head,    // each head apart
  source,  // what each head adds, by the token that it was read from: pattern times value
  neuron,  // each neuron of the MLPs apart
  stream,  // no parts: the logit as the residual stream holds it so far, sums of `layer`
};
template <>
inline constexpr auto kChoices<AttributionBy> =
    std::to_array<Choice<AttributionBy>>({{"layer", AttributionBy::layer},
                                          {"head", AttributionBy::head},
                                          {"source", AttributionBy::source},
                                          {"neuron", AttributionBy::neuron},
                                          {"stream", AttributionBy::stream}});

enum class LogitPartKind {
  embedding,       // of the token and its position
  attention,       // of a layer, as a whole
  head,            // or, with a source, what it moved from there
  attention_bias,  // of the projection, with the shift of a norm behind it
  mlp,             // of a layer, as a whole
  neuron,
  mlp_bias,      // as that of attention
  intervention,  // what a hook attached to the model changed between these parts
  norm_bias,     // the shift of the last norm
};
template <>
inline constexpr auto kChoices<LogitPartKind> =
    std::to_array<Choice<LogitPartKind>>({{"embedding", LogitPartKind::embedding},
                                          {"attention", LogitPartKind::attention},
                                          {"head", LogitPartKind::head},
                                          {"attention_bias", LogitPartKind::attention_bias},
                                          {"mlp", LogitPartKind::mlp},
                                          {"neuron", LogitPartKind::neuron},
                                          {"mlp_bias", LogitPartKind::mlp_bias},
                                          {"intervention", LogitPartKind::intervention},
                                          {"norm_bias", LogitPartKind::norm_bias}});

// A part of the sum that a logit is.
struct LogitPart {
  // "embedding", "0.3", "0.3 @7" (from token 7), "0.attn", "0.attn.bias", "0.mlp", "neuron.0.17"
  // (as parse_point() reads it), "0.mlp.bias", "0.intervention", "ln_f.bias".
  std::string name;
  std::optional<HeadId> head = {};  // of parts that are heads, or of one
  double logit = 0;
  LogitPartKind kind = LogitPartKind::embedding;
  Index layer = kNoLayer;            // n_layer: behind the last one
  std::optional<Index> source = {};  // position of the token that a head read
  std::optional<Index> neuron = {};
};

struct AttributionResult {
  double logit = 0;  // of the target, or its difference
  // Sum to `logit`, in the order in which the model adds them; by AttributionBy::stream the last is
  // `logit`.
  std::vector<LogitPart> parts;
  double probability = 0;      // of the target at the position
  std::int32_t likeliest = 0;  // the token with the largest logit there
  bool is_choice = false;      // that is the target, or no likelier
  bool has_against = false;    // `logit` is a difference
  Index visible = 0;           // tokens that heads can look at from there

  // Whether the model does what is taken apart: prefers the target to `against`, and at least
  // twice as likely, or to all others.
  bool is_clear() const;
};

// Tokens from which on a position has something to look back on.
inline constexpr Index kEnoughTokens = 8;

// In one line, why the parts explain nothing that the model does: it does not choose the target
// (with `against`: does not prefer it, or hardly, less than twice as likely), or has hardly any
// tokens to look at; "" otherwise. The labels are those of the target and of what stands against
// it, or of the likeliest token.
std::string attribution_caution(const AttributionResult& result, const std::string& target_label,
                                const std::string& other_label);

// Takes a logit apart. A head's part is what its output z adds through its columns of c_proj, the
// norm that may stand behind them as it stood, and the last norm as it stood; the parts of its
// sources sum to it. A hook attached to the model is part of it: what it changes in the stream
// itself is a part of every layer, and a head whose output it replaced has no sources, and a part
// of the kind `intervention` in their place.
// Throws Error for models with another order of the norms, whose residual stream is no such sum;
// for an empty text or one longer than the block, and ids or a position out of range; and by
// AttributionBy::neuron for a model without MLPs. `progress` is called behind the parts of every
// layer.
AttributionResult attribute_logit(const Gpt& model, const AttributionTask& task,
                                  AttributionBy by = AttributionBy::head,
                                  const std::function<void(double share)>& progress = {});

struct AttributionStudyOptions {
  AttributionBy by = AttributionBy::head;
  BootstrapOptions bootstrap = {};
  std::function<void(double share)> progress = {};  // of the prompts' layers, 0 to 1
};

// A part over several prompts.
struct MeanLogitPart {
  LogitPart part;  // its logit is the mean
  Interval logit;  // over prompts
};

// The group of all tokens that are in no other one.
inline constexpr const char* kOtherTokens = "(others)";

struct AttributionStudy {
  std::vector<AttributionResult> prompts;   // in their order, without their parts
  std::vector<std::vector<double>> logits;  // [prompts][parts]
  std::vector<MeanLogitPart> parts;         // in the order of AttributionResult
  Interval logit;                           // over prompts
  std::vector<Interval> sources;            // [S], by source: sums over all heads
  // [S]: names of the sources that are groups, of which the last is kOtherTokens; empty: tokens.
  std::vector<std::string> groups;
  Index clear = 0;  // prompts with AttributionResult::is_clear()
};

// Takes the logits of many prompts apart, all in the same way. By AttributionBy::source the sources
// are tokens, or, where the first task has groups, these and the rest of the tokens, which texts of
// different lengths have in common. Throws Error as attribute_logit(), naming the prompt from 1,
// and about "pairs" for none, for tokens of positions that see different numbers of them, and for
// other groups than those of the first task; about "group" as patch_grid() and for a token in two.
AttributionStudy attribute_prompts(const Gpt& model, const std::vector<AttributionTask>& tasks,
                                   const AttributionStudyOptions& options = {});

// In one line, why the means explain nothing: in most prompts the model does not do the task, or
// they are too few for the intervals; "" otherwise. Of several prompts.
std::string attribution_caution(const AttributionStudy& study);

}  // namespace headlight
