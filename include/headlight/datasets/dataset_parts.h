#pragma once

#include <vector>

#include "headlight/datasets/dataset.h"

namespace headlight {

// Joins the datasets of several files. Streams stay a stream with an end-of-text token between
// them, as in nanoGPT's prepare.py, so that no file seems to continue the previous one. If any part
// has documents, each stream becomes a document. A single part is unchanged. Throws Error if there
// is no part.
TokenDataset join_datasets(std::vector<TokenDataset> parts, const DocumentEnds& ends);

// Joins datasets like join_datasets() and makes each part a share with its weight. Throws Error
// unless there are as many weights as parts.
TokenDataset mix_datasets(std::vector<TokenDataset> parts, const std::vector<Index>& weights,
                          const DocumentEnds& ends);

// Splits each part separately, so that every file gives its end to validation, and joins the
// training parts and the validation parts. Documents are rounded over all parts together: of ten
// one-document files, a tenth is one file. Throws as split_dataset() does.
DatasetSplit split_each(std::vector<TokenDataset> parts, double validation_fraction,
                        const DocumentEnds& ends);

// Joins the parts and moves documents drawn at random with this seed to validation: the same share
// of all documents, whatever their files. Throws Error as split_dataset() does, and if there are no
// documents.
DatasetSplit split_at_random(std::vector<TokenDataset> parts, double validation_fraction,
                             std::uint64_t seed, const DocumentEnds& ends);

}  // namespace headlight
