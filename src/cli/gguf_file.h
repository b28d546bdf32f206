#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/formats/model_directory.h"

namespace headlight::cli {

// Adds missing heads and MLPs with zero weights. If no format has the model's attention_scale, the
// queries take it. The model computes the same function, in the last case up to rounding.
std::unique_ptr<Gpt> in_plain_form(std::unique_ptr<Gpt> model);

// Writes a model, to which it adds missing heads and MLPs, with its tokenizer. A model that was
// read from a GGUF file keeps its metadata, and with `keeps_tokenizer` its tokenizer's keys. With
// data, scales are those with the least error for the inputs that the data make. Returns the
// warnings of write_gguf_model() and a line about settings that the file does not keep.
// Throws Error as write_gguf_model() and measure_importance() do.
std::vector<std::string> write_gguf_file(const std::filesystem::path& out, LoadedModel& loaded,
                                         GgufType type, bool keeps_tokenizer,
                                         const TokenDataset* data = nullptr);

}  // namespace headlight::cli
