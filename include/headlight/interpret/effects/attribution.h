#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/patching.h"
#include "headlight/interpret/head_id.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/nn/gpt.h"

// Direct logit attribution (Elhage et al., "A Mathematical Framework for Transformer Circuits",
// 2021). The final residual stream is the sum of the outputs of the embedding, every attention head
// and every MLP. With the scale of the last norm held fixed, a logit is a sum over the same parts.
namespace headlight {

struct AttributionTask {
  std::vector<std::int32_t> text;  // [T]
  // Token whose logit is decomposed; default: the one with the largest logit.
  std::optional<std::int32_t> target = {};
  std::optional<std::int32_t> against = {};  // its logit is subtracted, if set
  std::optional<Index> position = {};        // query position, from 0; default: the last token
  // Sources of attribute_prompts() instead of single tokens. Groups must not overlap.
  std::vector<TokenGroup> groups = {};
};

// Granularity of the parts.
enum class AttributionBy {
  layer,   // attention and MLP of every layer
  head,    // every head separately
  source,  // every head and source token: pattern times value
  neuron,  // every MLP neuron separately
  stream,  // parts as `layer`, but each holds the logit of the residual stream after it
};
template <>
inline constexpr auto kChoices<AttributionBy> =
    std::to_array<Choice<AttributionBy>>({{"layer", AttributionBy::layer},
                                          {"head", AttributionBy::head},
                                          {"source", AttributionBy::source},
                                          {"neuron", AttributionBy::neuron},
                                          {"stream", AttributionBy::stream}});

enum class LogitPartKind {
  embedding,       // embedding of the token and its position
  attention,       // attention of a layer, all heads together
  head,            // with a source: its contribution from that token
  attention_bias,  // bias of the output projection, plus the shift of an output norm
  mlp,             // MLP of a layer, all neurons together
  neuron,
  mlp_bias,      // as attention_bias, for the MLP
  intervention,  // change made by an attached hook between these parts
  norm_bias,     // shift of the last norm
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

// One summand of a logit.
struct LogitPart {
  // "embedding", "0.3", "0.3 @7" (from token 7), "0.attn", "0.attn.bias", "0.mlp", "neuron.0.17"
  // (as parse_point() reads it), "0.mlp.bias", "0.intervention", "ln_f.bias".
  std::string name;
  std::optional<HeadId> head = {};  // set for heads and their sources
  double logit = 0;
  LogitPartKind kind = LogitPartKind::embedding;
  Index layer = kNoLayer;            // n_layer: after the last layer
  std::optional<Index> source = {};  // position of the source token
  std::optional<Index> neuron = {};
};

struct AttributionResult {
  double logit = 0;  // logit of the target, minus that of `against` if set
  // In the model's order. They sum to `logit`; with AttributionBy::stream the last one equals it.
  std::vector<LogitPart> parts;
  double probability = 0;  // probability of the target at the position
  std::int32_t target = 0;
  std::int32_t likeliest = 0;        // token with the largest logit at the position
  bool target_is_likeliest = false;  // the target has the largest logit (ties included)
  bool has_against = false;          // `logit` is a difference
  Index visible = 0;                 // tokens visible to heads at the position

  // Whether the model does the task: the target is the most likely token or, with `against`, at
  // least twice as likely as that token.
  bool is_clear() const;
};

// Visible tokens needed for a reliable attribution.
inline constexpr Index kEnoughTokens = 8;

// Returns a one-line warning if the parts explain no choice of the model, or "". Reasons: the model
// does not choose the target, prefers it to `against` less than 2 to 1, or sees fewer than
// kEnoughTokens tokens. `other_label` names `against`, or the most likely token.
std::string attribution_caution(const AttributionResult& result, const std::string& target_label,
                                const std::string& other_label);

// Decomposes a logit. A head's part is its output z times its columns of c_proj, passed through any
// output norm and the last norm with their scales held fixed. The parts of its sources sum to it.
// Attached hooks are included: their changes to the stream form an `intervention` part per layer. A
// head whose output was replaced gets sources of 0 and one part of kind `intervention`.
// Throws Error for models without pre-norms, whose residual stream is not this sum; for empty texts
// and texts longer than the context; for ids or a position out of range; and with
// AttributionBy::neuron for a model without MLPs. `progress` is called after every layer.
AttributionResult attribute_logit(
    const Gpt& model, const AttributionTask& task, AttributionBy by = AttributionBy::head,
    const std::function<void(double share)>& progress = [](double) {},
    RecordedPasses* kept = nullptr);

struct AttributionStudyOptions {
  AttributionBy by = AttributionBy::head;
  std::function<void(double share)> progress = [](double) {};  // share of prompts and layers
  RecordedPasses* kept = nullptr;                              // passes of the texts
};

// Mean of a part over several prompts.
struct MeanLogitPart {
  LogitPart part;  // its logit is the mean
  Interval logit;  // interval of the mean over prompts
};

// Name of the group of all tokens outside the other groups.
inline constexpr const char* kOtherTokens = "(others)";

struct AttributionStudy {
  std::vector<AttributionResult> prompts;   // in input order, without their parts
  std::vector<std::vector<double>> logits;  // [prompts][parts]
  std::vector<MeanLogitPart> parts;         // in the order of AttributionResult
  Interval logit;                           // interval of the mean over prompts
  std::vector<Interval> sources;            // [S] with AttributionBy::source: sums over all heads
  // [S]: names of the source groups, kOtherTokens last; empty if sources are tokens.
  std::vector<std::string> groups;
  Index clear = 0;  // prompts with AttributionResult::is_clear()
};

// Decomposes the logits of several prompts in the same way. With AttributionBy::source the sources
// are tokens or, if the first task has groups, these groups and kOtherTokens. Groups make texts of
// different lengths comparable. Throws Error as attribute_logit(), with the prompt's number from 1.
// Throws about "pairs" for no prompts, for different numbers of visible tokens without groups, and
// for groups that the first task lacks. Throws about "group" as patch_grid(), and for a
// token in two groups.
AttributionStudy attribute_prompts(const Gpt& model, const std::vector<AttributionTask>& tasks,
                                   const AttributionStudyOptions& options = {});

// One-line warning if the model fails in most prompts or prompts are too few for intervals, or "".
std::string attribution_caution(const AttributionStudy& study);

}  // namespace headlight
