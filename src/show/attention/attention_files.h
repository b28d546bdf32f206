#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headlight/interpret/record_attention.h"
#include "headlight/show/attention/attention_html.h"
#include "headlight/show/attention/attention_text.h"
#include "headlight/tokenizers/tokenizer.h"
#include "show/result/result.h"

// Output files of `headlight attention`.
namespace headlight {

// Returns the arrays of attention.npz: blocks.{i}.attn.hook_pattern, hook_q and hook_k if recorded
// (hook_rot_q and hook_rot_k with rotary positions), and heads, the head numbers [H]. token_labels
// [T] are the labels of the rows, and with characters or words `cells` is the row of each token.
// With `is_batch` also lengths and tokens; token_labels.0 and cells.0 are those of document 0.
ResultArrays attention_arrays(const RecordedAttention& recorded, const Tokenizer& tokenizer,
                              bool is_batch);

struct AttentionFilesOptions {
  std::set<std::string> formats = {};
  AttentionPageOptions page = {};  // its style also applies to figures
  // Figures draw the first document's weights minus the weights of document page.beside.
  bool differences = false;
  std::function<void(double share)> progress = [](double) {};  // of the drawn layers, 0 to 1
};

// Returns names and contents of the files of `formats`, except attention.npz. tokens.json lists
// `recorded`. `documents` holds its maps and those to compare with; figures show the first one.
std::vector<std::pair<std::string, std::string>> attention_files(
    const RecordedAttention& recorded, const std::vector<AttentionMaps>& documents,
    const AttentionFilesOptions& options);

// Returns every head of every document as text for terminals.
std::string attention_maps_text(const std::vector<AttentionMaps>& documents,
                                const AttentionTextOptions& options);

}  // namespace headlight
