#pragma once

#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/attention_maps.h"
#include "headlight/show/attention/attention_style.h"

namespace headlight {

// View that a page opens with. Every page holds all four.
enum class AttentionView {
  model,   // thumbnails of every head; one opens as a heat map beside the running text
  head,    // lines between the tokens, a colour for each head of a layer
  neuron,  // queries and keys of one head, multiplied step by step
  grid,    // the heads of a layer as labelled panels with values
};

template <>
inline constexpr auto kChoices<AttentionView> =
    std::to_array<Choice<AttentionView>>({{"model", AttentionView::model},
                                          {"head", AttentionView::head},
                                          {"neuron", AttentionView::neuron},
                                          {"grid", AttentionView::grid}});

struct AttentionPageOptions {
  AttentionView view = AttentionView::model;
  // Index of the document shown beside the first one; -1: none until the reader chooses one.
  Index beside = -1;
  // Limit in base64 characters: pages with more weight data store 8 bits a weight instead of 16.
  Index exact_characters = Index{20} << 20;
  AttentionStyle style = {};
};

// Returns an interactive page of the heads of one or several documents: one file of HTML, CSS and
// JavaScript that makes no network request. Documents are several texts, or one text through
// several models. The reader chooses one or two documents and a view. The neuron view needs the
// layers' queries and keys.
//
// The URL fragment records the selection: "#model/2.3" opens head 3 of layer 2, "#head/2.3/17"
// chooses token 17, "#model/2.3/17/receives" shows the queries that attend to it, and
// "&doc=1&beside=0" chooses documents.
//
// Weights are embedded as 16-bit integers (error at most 1/131070). Large pages embed 8-bit square
// roots (error of a weight w at most sqrt(w)/255 + 1/260100). Causal documents embed only the lower
// triangle. Queries and keys are 16-bit integers with a scale for each head. Tokens and titles may
// hold any text; they are escaped.
//
// Throws Error if there is no document, a document has no layer, a layer appears twice or does not
// fit its tokens (see attention_svg), queries and keys do not fit, or weights and vectors exceed
// 128 MiB.
std::string attention_html(const std::vector<AttentionMaps>& documents,
                           const AttentionPageOptions& options = {});

// Returns the page of a single document.
std::string attention_html(const AttentionMaps& maps);

}  // namespace headlight
