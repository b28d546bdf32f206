#include <algorithm>
#include <set>

#include "base/strings/printable.h"
#include "formats/adapter/stored_adapter.h"
#include "formats/huggingface/model_weights.h"
#include "formats/token_rows.h"
#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/low_rank.h"

namespace headlight {
namespace {

std::string module_of_tensor(const std::string& name) {
  constexpr std::string_view kEnd = ".weight";
  return name.ends_with(kEnd) ? name.substr(0, name.size() - kEnd.size()) : name;
}

// True if the adapter changes the tensor of this name.
bool changes(const StoredAdapter& adapter, const std::string& name) {
  const std::string module = module_of_tensor(name);
  return adapter.weights.contains(name) || adapter.updates.contains(module) ||
         adapter.rows.contains(module);
}

// Returns the tokens that the model has after the adapter has replaced the embedding or the head.
Index tokens_after(const StoredAdapter& adapter, const WeightLayout& layout,
                   const GptConfig& config) {
  Index tokens = 0;
  for (const std::string& name :
       {stored_name(Part::token_embedding, layout), std::string(layout.head)}) {
    const auto found = adapter.weights.find(full_name(name, layout));
    if (found != adapter.weights.end() && found->second.rank() == 2) {
      tokens = std::max(tokens, found->second.size(0));
    }
  }
  return tokens == 0 ? config.vocab_size : tokens;
}

// Returns whether a tied model needs a head of its own, as in PEFT: without ensure_weight_tying, a
// changed embedding leaves the head as it was, and so it does under another name than embed_tokens.
// Trained rows of tokens change both.
bool unties(const StoredAdapter& adapter, const WeightLayout& layout, const GptConfig& config) {
  const std::string name = full_name(stored_name(Part::token_embedding, layout), layout);
  const bool changes_embedding =
      adapter.weights.contains(name) || adapter.updates.contains(module_of_tensor(name));
  const bool ties = adapter.ties_weights && module_of_tensor(name).ends_with("embed_tokens");
  return config.tie_weights &&
         (changes(adapter, std::string(layout.head)) || (changes_embedding && !ties));
}

// Throws Error for trained rows of a head with a bias.
void require_no_bias(const StoredAdapter& adapter, const WeightLayout& layout,
                     const GptConfig& config) {
  const bool has_head = adapter.rows.contains(module_of_tensor(std::string(layout.head)));
  require(!config.has_head_bias() || adapter.rows.empty() || (!has_head && !config.tie_weights),
          adapter.where,
          ": trainable_token_indices: PEFT computes a head with trained rows without its bias, but "
          "a merged one with it; train the head as a whole (modules_to_save)");
}

class Merge {
 public:
  Merge(const StoredAdapter& adapter, const WeightLayout& layout, Gpt& model)
      : adapter_(adapter), layout_(layout), model_(model) {}

  void run() {
    for (const auto& [weight, tensor] : model_.weights()) {
      Tensor target = tensor.detach();
      bool is_changed = false;
      Index begin = 0;
      for (const StoredTensor& stored : layout_.tensors_of(weight, model_.config())) {
        Tensor rows = slice(target, 0, begin, begin + stored.rows);
        begin += stored.rows;
        is_changed = change(full_name(stored.name, layout_), stored, rows) || is_changed;
      }
      if (is_changed) {
        require_finite({{weight.name, target}}, adapter_.where + ": after it is added, ");
      }
    }
    require_all_used();
  }

 private:
  // Changes rows of a weight that are stored under a name. Returns false if they stay as they are.
  bool change(const std::string& name, const StoredTensor& stored, Tensor& rows) {
    const std::string module = module_of_tensor(name);
    const auto weight = adapter_.weights.find(name);
    const auto update = adapter_.updates.find(module);
    const auto tokens = adapter_.rows.find(module);
    if (weight != adapter_.weights.end()) {
      used_.insert(name);
      replace(name, weight->second, stored, rows);
    }
    if (update != adapter_.updates.end() && rows.rank() == 2) {
      used_.insert(module);
      add(module, update->second, stored, rows);
    }
    if (tokens != adapter_.rows.end() && rows.rank() == 2) {
      used_.insert(module);
      put(module, tokens->second, rows);
    }
    return changes(adapter_, name);
  }

  void replace(const std::string& name, const Tensor& value, const StoredTensor& stored,
               Tensor& rows) const {
    const Shape expected = file_shape(stored, rows.shape());
    require(value.shape() == expected, adapter_.where, ": tensor ", in_quotes(name),
            ": expected shape ", expected, ", as in the base model, got ", value.shape());
    rows.copy_from(convert(as_ours(stored, value), rows.dtype()));
  }

  void add(const std::string& module, const StoredUpdate& update, const StoredTensor& stored,
           Tensor& rows) const {
    const Index file_rows = stored.file_rows > 0 ? stored.file_rows : stored.rows;
    const Index inputs = rows.size(1);
    require(update.a.size(1) == inputs && update.b.size(0) == file_rows, adapter_.where,
            ": module ", in_quotes(module), ": expected lora_A [R, ", inputs, "] and lora_B [",
            file_rows, ", R], got ", update.a.shape(), " and ", update.b.shape());
    const auto own = [&](const Tensor& of_file) {
      const Tensor part = slice(of_file, 0, stored.file_begin, stored.file_begin + stored.rows);
      return convert(reordered_rows(to_contiguous(part), stored.order), rows.dtype());
    };
    const LowRankUpdate change{
        .a = convert(update.a, rows.dtype()),
        .b = own(update.b),
        .scale = update.scale,
        .lengths = update.lengths.defined() ? own(update.lengths) : Tensor()};
    rows.copy_from(updated_weight(rows, {&change, 1}));
  }

  void put(const std::string& module, const StoredRows& tokens, Tensor& rows) const {
    require(tokens.rows.size(1) == rows.size(1), adapter_.where, ": module ", in_quotes(module),
            ": expected rows of ", rows.size(1), " numbers, got ", tokens.rows.size(1));
    for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
      const Index id = tokens.ids[i];
      require(id < rows.size(0), adapter_.where, ": module ", in_quotes(module),
              ": trainable_token_indices has ", id, ", the model has ", rows.size(0), " tokens");
      const auto index = static_cast<Index>(i);
      slice(rows, 0, id, id + 1)
          .copy_from(convert(slice(tokens.rows, 0, index, index + 1), rows.dtype()));
    }
  }

  void require_all_used() const {
    const auto check = [&](const auto& named, const char* kind) {
      for (const auto& [name, value] : named) {
        require(used_.contains(name), adapter_.where, ": ", kind, " ", in_quotes(name),
                ": the base model has no such ",
                kind == std::string_view("tensor") ? kind : "matrix");
      }
    };
    check(adapter_.updates, "module");
    check(adapter_.rows, "module");
    check(adapter_.weights, "tensor");
  }

  const StoredAdapter& adapter_;
  const WeightLayout& layout_;
  Gpt& model_;
  std::set<std::string> used_;
};

}  // namespace

GptConfig adapted_config(const StoredAdapter& adapter, const WeightLayout& layout,
                         GptConfig config) {
  config.tie_weights = config.tie_weights && !unties(adapter, layout, config);
  config.vocab_size = tokens_after(adapter, layout, config);
  return config;
}

void merge(const StoredAdapter& adapter, const WeightLayout& layout, std::unique_ptr<Gpt>& model) {
  const NoGrad no_grad;
  require_no_bias(adapter, layout, model->config());
  const GptConfig config = adapted_config(adapter, layout, model->config());
  if (config.vocab_size != model->vocab_size() ||
      config.tie_weights != model->config().tie_weights) {
    model = resized(*model, {.tokens = config.vocab_size, .tied = config.tie_weights});
  }
  Merge(adapter, layout, *model).run();
}

}  // namespace headlight
