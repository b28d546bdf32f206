#pragma once

#include <string>

#include "base/json.h"
#include "headlight/heads/lens.h"
#include "headlight/text/tokenizer.h"
#include "headlight/views/matrix_plot.h"
#include "views/result/result.h"

// What headlight lens tells and writes.
namespace headlight {

// The likeliest token of every row and position, in blocks of columns that fit `columns`
// characters, and of the last position all numbers.
std::string lens_text(const LensResult& result, const Tokenizer& tokenizer, Index columns);

// With the keys that lens --help names.
Json lens_json(const LensResult& result, const LensView& view, const Tokenizer& tokenizer);

// The probability of the target in every cell, which says what is likeliest there.
MatrixPlot lens_plot(const LensResult& result, const LensView& view, const Tokenizer& tokenizer);

// That, and rank, entropy and KL of every cell, for a page.
std::vector<ResultGrid> lens_grids(const LensResult& result, const LensView& view,
                                   const Tokenizer& tokenizer);

// probability, log_probability, rank, entropy, kl [R, P], top_ids, top_probabilities [R, P, k],
// layers [R] as LensPlace numbers them, positions, tokens, targets [P]; what counts or names is
// int32, the rest float32; and the labels rows [R] and token_labels [P].
ResultArrays lens_arrays(const LensResult& result, const Tokenizer& tokenizer);

std::string lens_means_text(const LensMeansResult& result);
Json lens_means_json(const LensMeansResult& result, const LensView& view);
// loss, accuracy, entropy, kl and the axis layer, all [R].
std::vector<ResultGrid> lens_means_grids(const LensMeansResult& result);
// Loss, entropy and divergence over the layers, with the accuracy below, as SVG.
std::string lens_means_svg(const LensMeansResult& result);

}  // namespace headlight
