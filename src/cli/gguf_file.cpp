#include "cli/gguf_file.h"

#include "cli/terminal/progress.h"
#include "formats/token_settings.h"
#include "headlight/formats/gguf/gguf_model.h"
#include "headlight/interpret/prune.h"

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;

// Metadata of a GGUF model to copy unchanged into the exported file. Empty for a model folder.
GgufMetadata kept_keys(const fs::path& model, bool (*is_kept)(std::string_view key)) {
  if (!is_gguf_file(model)) {
    return {};
  }
  GgufMetadata keys = GgufFile(model).metadata();
  std::erase_if(keys, [&](const auto& entry) { return !is_kept(entry.first); });
  return keys;
}

bool is_of_tokenizer(std::string_view gguf_key) { return gguf_key.starts_with("tokenizer."); }

}  // namespace

std::unique_ptr<Gpt> in_plain_form(std::unique_ptr<Gpt> model) {
  const GptConfig& config = model->config();
  // Formats with RMS norms store the head width, so they need no other number of heads.
  const bool has_odd_width = config.head_width > 0 && (config.norm_type != NormKind::rms ||
                                                       config.n_embd % config.n_head != 0);
  const bool pruned = !config.heads_per_layer.empty() || !config.head_numbers.empty() ||
                      !config.key_groups.empty() || has_odd_width;
  if (pruned) {
    model = fill_up_heads(*model, config.n_embd / model->heads().head_width);
  }
  if (!model->config().mlp) {
    model = with_zero_mlps(*model);
  }
  return needs_default_scale(model->config()) ? with_default_scale(*model) : std::move(model);
}

std::vector<std::string> write_gguf_file(const fs::path& out, LoadedModel& loaded, GgufType type,
                                         bool keeps_tokenizer, const TokenDataset* data) {
  loaded.model = in_plain_form(std::move(loaded.model));
  std::vector<std::string> warnings = write_gguf_model(
      out, *loaded.model, *loaded.tokenizer,
      {.type = type,
       .name = out.stem().string(),
       .tokenizer = keeps_tokenizer ? kept_keys(loaded.directory, is_of_tokenizer) : GgufMetadata(),
       .general = kept_keys(loaded.directory, describes_model),
       .importance = data == nullptr
                         ? MatrixImportance()
                         : measure_importance(*loaded.model, *data,
                                              {.progress = progress_bar("calibrating")}),
       .progress = progress_bar("writing")});
  if (!is_gguf_file(loaded.directory)) {
    if (std::string line = dropped_settings(loaded.directory, *loaded.tokenizer); !line.empty()) {
      warnings.push_back(std::move(line));
    }
  }
  return warnings;
}

}  // namespace headlight::cli
