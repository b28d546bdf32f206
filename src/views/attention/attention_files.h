#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headlight/heads/record_attention.h"
#include "headlight/io/npz.h"
#include "headlight/text/tokenizer.h"
#include "headlight/views/attention_html.h"
#include "headlight/views/attention_text.h"

// What `headlight attention` writes.
namespace headlight {

// blocks.{i}.attn.hook_pattern, when recorded hook_q and hook_k, and heads, the numbers [H] of
// their heads; with `is_batch` lengths and tokens as well.
NamedTensors attention_arrays(const RecordedAttention& recorded, const Tokenizer& tokenizer,
                              bool is_batch);

struct AttentionFilesOptions {
  std::set<std::string> formats = {};
  AttentionPageOptions page = {};
};

// The files but attention.npz that formats ask for, as names and contents. `recorded` is what
// tokens.json lists; `documents` holds its maps and those to compare with; figures show the first.
std::vector<std::pair<std::string, std::string>> attention_files(
    const RecordedAttention& recorded, const std::vector<AttentionMaps>& documents,
    const AttentionFilesOptions& options);

// Every head of every document as text for terminals.
std::string attention_maps_text(const std::vector<AttentionMaps>& documents,
                                const AttentionTextOptions& options);

}  // namespace headlight
