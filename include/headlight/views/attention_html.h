#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/heads/attention_maps.h"

namespace headlight {

// How a page opens; all of them are in every page.
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
  // Number of the document that stands beside the first one; -1: none, the reader may choose.
  Index beside = -1;
  // Pages whose weights would take more characters than this store them in 8 bits instead of 16.
  Index exact_characters = Index{20} << 20;
  // A folder to take the page's files from (index.html, style.css, modules: src/views/page) instead
  // of those that are part of the library: for changing them without building anything.
  std::string page_files = {};
};

// The heads of one or several documents (texts, or one text through several models) as one
// self-contained interactive page: HTML, CSS and JavaScript in one file that asks the network for
// nothing. The reader picks the document, puts a second one beside it, and switches between the
// views. The neuron view needs the layers' queries and keys.
//
// The address keeps what is shown: "#model/2.3" opens head 3 of layer 2, "#head/2.3/17" chooses its
// token 17, "#model/2.3/17/receives" shows who looks at it, "&doc=1&beside=0" names documents.
//
// Weights are embedded as 16-bit integers (error at most 1/131070), in large pages as 8-bit square
// roots (error of a weight w at most sqrt(w)/255 + 1/260100), only the lower triangle when nothing
// looks ahead; queries and keys as 16-bit integers with a scale for each head. Tokens and titles
// may hold anything: they are escaped.
//
// Throws Error when there is no document, one has no layer, a layer comes twice or does not fit its
// tokens (see attention_svg), queries and keys do not fit, weights and vectors would exceed 128
// MiB, or the files of `page_files` do not make a page.
std::string attention_html(const std::vector<AttentionMaps>& documents,
                           const AttentionPageOptions& options = {});

// The same for one document.
std::string attention_html(const AttentionMaps& maps);

}  // namespace headlight
