#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "headlight/interpret/lens/lens.h"
#include "headlight/show/plot/matrix_plot.h"
#include "headlight/tokenizers/tokenizer.h"
#include "show/report/predicted_texts.h"
#include "show/result/result_table.h"

// Parts of the answer to "lens": tables, JSON, figures and arrays. `texts`: of predicted tokens, as
// predicted_texts() returns them.
namespace headlight {

// Returns a table of the likeliest token of every row and position, split to fit `columns`
// characters, then a table of all numbers at the last position. A character of several tokens has
// one position, that of its last token.
std::string lens_text(const LensResult& result, const PredictedTexts& texts,
                      const Tokenizer& tokenizer, Index columns);

// Return what lens_question() describes.
Json lens_facts(const LensResult& result, const LensView& view, const Tokenizer& tokenizer);
ResultTable lens_table(std::shared_ptr<const LensResult> result, const Tokenizer& tokenizer);

// Returns a heat map of the target's probability; cells show the likeliest token. A character of
// several tokens has one column, with the reading of its last token.
MatrixPlot lens_plot(const LensResult& result, const PredictedTexts& texts, const LensView& view,
                     const Tokenizer& tokenizer);

// Returns the grids of a page: lens_plot(), rank, entropy and KL.
std::vector<ResultGrid> lens_grids(const LensResult& result, const PredictedTexts& texts,
                                   const LensView& view, const Tokenizer& tokenizer);

// Returns float32 probability, log_probability, entropy, kl [R, P] and top_probabilities [R, P, k];
// int32 rank [R, P], top_ids [R, P, k], layers [R] (see LensLabel), positions, tokens and targets
// [P]; and the texts rows [R] and token_labels [P].
ResultArrays lens_arrays(const LensResult& result, const Tokenizer& tokenizer);

// Returns loss, accuracy, entropy and kl of each layer.
ResultTable lens_means_table(const LensMeansResult& result);
// Returns an SVG figure of loss, entropy and KL over the layers, with the accuracy below.
std::string lens_means_svg(const LensMeansResult& result);

}  // namespace headlight
