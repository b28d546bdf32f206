#pragma once

#include <vector>

#include "headlight/data/dataset.h"

namespace headlight {

// Datasets of several files as one. Streams stay a stream, with the end of a text between two of them,
// as nanoGPT's prepare.py has it between documents: what one file says must not be predicted from
// the end of another as if it went on there. Where any part has documents, a stream counts as one.
// A single part stays as it is. Throws Error when there is no part.
TokenDataset join_datasets(std::vector<TokenDataset> parts, const DocumentEnds& ends);

// The same, with a share for each part by its weight. Throws Error unless there are as many weights
// as parts.
TokenDataset mix_datasets(std::vector<TokenDataset> parts, const std::vector<Index>& weights,
                          const DocumentEnds& ends);

// Splits each part by itself, so that every file gives its own last part for validation, and joins
// what belongs together. Documents are rounded over all parts, not in each: of ten files with one
// document each, a tenth is one file. Throws what split_dataset throws.
DatasetSplit split_each(std::vector<TokenDataset> parts, double validation_fraction,
                        const DocumentEnds& ends);

}  // namespace headlight
