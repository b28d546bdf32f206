#include <algorithm>
#include <map>
#include <set>

#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "formats/adapter/stored_adapter.h"
#include "formats/gguf/gguf_config.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/formats/model_directory.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

constexpr std::string_view kEndOfGgufA = ".weight.lora_a";
constexpr std::string_view kEndOfGgufB = ".weight.lora_b";
constexpr const char* kAlphaKey = "adapter.lora.alpha";

std::string text_of(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find_value(key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

double alpha_of(const GgufFile& file) {
  const GgufValue* value = file.find_value(kAlphaKey);
  const auto* alpha = value == nullptr ? nullptr : std::get_if<float>(value);
  require(alpha != nullptr, shown(file.path()), ": ", kAlphaKey, ": expected a float32");
  return *alpha;
}

// Adds a tensor. The token embedding has lora_a [V, R] and lora_b [C, R], the transpose of the
// others.
void add_tensor(const std::string& name, const Tensor& tensor, StoredAdapter& adapter) {
  const bool is_a = name.ends_with(kEndOfGgufA);
  if (!is_a && !name.ends_with(kEndOfGgufB)) {
    adapter.weights[name] = tensor;
    return;
  }
  require(tensor.rank() == 2, adapter.where, ": tensor ", in_quotes(name),
          ": expected two axes, got ", tensor.shape());
  const std::string module = name.substr(0, name.size() - kEndOfGgufA.size());
  StoredUpdate& update = adapter.updates[module];
  const bool is_embedding = module + ".weight" == kGgufEmbedding;
  (is_a != is_embedding ? update.a : update.b) =
      is_embedding && !is_a ? to_contiguous(transpose(tensor)) : tensor;
}

// An update of rows of a weight, in the order of the model's rows.
struct OwnUpdate {
  Index first_row = 0;
  const StoredUpdate* update = nullptr;
  Tensor b = {};  // [P, R]
};
using OwnUpdates = std::map<std::string, std::vector<OwnUpdate>>;  // by weight

// Throws Error for parts that llama.cpp's adapters do not have.
void require_plain(const StoredAdapter& adapter) {
  constexpr const char* kInstead = "; export the whole model instead (without --adapter)";
  require(adapter.weights.empty() && adapter.rows.empty(), adapter.where,
          ": has whole tensors or rows of tokens, which a GGUF adapter cannot hold", kInstead);
  for (const auto& [module, update] : adapter.updates) {
    require(!update.lengths.defined(), adapter.where, ": ", in_quotes(module),
            ": has DoRA, which a GGUF adapter cannot hold", kInstead);
  }
}

// Removes weights that are equal to the base's: PEFT writes them beside updates of embeddings.
void drop_equal_weights(const Gpt& base, const WeightLayout& layout, StoredAdapter& adapter) {
  for (const auto& [weight, tensor] : base.weights()) {
    Index first = 0;
    for (const StoredTensor& stored : layout.tensors_of(weight, base.config())) {
      const Tensor rows = slice(tensor.detach(), 0, first, first + stored.rows);
      const auto found = adapter.weights.find(full_name(stored.name, layout));
      if (found != adapter.weights.end() &&
          found->second.shape() == file_shape(stored, rows.shape()) &&
          as_ours(stored, found->second).to_vector() == rows.to_vector()) {
        adapter.weights.erase(found);
      }
      first += stored.rows;
    }
  }
}

OwnUpdates own_updates(const StoredAdapter& adapter, const WeightLayout& layout,
                       const GptConfig& config) {
  OwnUpdates updates;
  std::set<std::string> used;
  for (const Weight& weight : weights_of(config)) {
    Index first = 0;
    for (const StoredTensor& stored : layout.tensors_of(weight, config)) {
      const std::string name = full_name(stored.name, layout);
      const auto found = adapter.updates.find(name.substr(0, name.rfind('.')));
      if (found != adapter.updates.end() && weight.shape.rank() == 2) {
        const Tensor rows =
            slice(found->second.b, 0, stored.file_begin, stored.file_begin + stored.rows);
        updates[weight.name].push_back(
            {first, &found->second, reordered_rows(to_contiguous(rows), stored.order)});
        used.insert(found->first);
      }
      first += stored.rows;
    }
  }
  for (const auto& [module, update] : adapter.updates) {
    require(used.contains(module), adapter.where, ": module ", in_quotes(module),
            ": the base model has no such matrix");
  }
  return updates;
}

// Factors of a tensor of a GGUF file.
struct GgufFactors {
  const StoredUpdate* update = nullptr;  // that has a and the scale
  Tensor b = {};                         // [rows of the tensor, R]
};

// Adds the updates of a weight to the factors of one of its tensors, whose rows begin at `first`.
void add_updates(const std::vector<OwnUpdate>& updates, const StoredTensor& stored, Index first,
                 GgufFactors& factors) {
  for (const OwnUpdate& own : updates) {
    const Index begin = std::max(first, own.first_row);
    const Index end = std::min(first + stored.rows, own.first_row + own.b.size(0));
    if (begin >= end) {
      continue;
    }
    require(factors.update == nullptr || factors.update == own.update,
            "gguf: ", in_quotes(stored.name),
            " of llama.cpp holds several matrices, whose updates an adapter has apart; export the "
            "whole model instead (without --adapter)");
    factors.update = own.update;
    Tensor rows = Tensor::zeros({stored.rows, own.b.size(1)});
    slice(rows, 0, begin - first, end - first)
        .copy_from(slice(own.b, 0, begin - own.first_row, end - own.first_row));
    if (!factors.b.defined()) {
      factors.b =
          Tensor::zeros({stored.file_rows > 0 ? stored.file_rows : stored.rows, own.b.size(1)});
    }
    const RowOrder back{stored.order.outer, stored.order.second, stored.order.first};
    Tensor destination = slice(factors.b, 0, stored.file_begin, stored.file_begin + stored.rows);
    destination.copy_from(destination + reordered_rows(rows, back));
  }
}

// Returns the tensors of the file. llama.cpp multiplies all products by alpha / R.
std::vector<GgufSource> gguf_sources(const std::map<std::string, GgufFactors>& all, double alpha) {
  std::vector<GgufSource> sources;
  for (const auto& [name, factors] : all) {
    const StoredUpdate& update = *factors.update;
    const auto rank = static_cast<double>(update.a.size(0));
    const Tensor b = factors.b * (update.scale * rank / alpha);
    const bool is_embedding = name == kGgufEmbedding;
    sources.push_back({name + ".lora_a", is_embedding ? b : update.a});
    sources.push_back({name + ".lora_b", is_embedding ? to_contiguous(transpose(update.a)) : b});
  }
  return sources;
}

}  // namespace

void write_gguf_adapter(const std::filesystem::path& path, const std::filesystem::path& adapter,
                        const std::filesystem::path& base) {
  const auto model = load_weights(base);
  const GptConfig& config = model->config();
  const WeightLayout& layout = family_of_base(base, config).layout;
  StoredAdapter stored = read_peft_adapter(adapter);
  drop_equal_weights(*model, layout, stored);
  require_plain(stored);
  const OwnUpdates updates = own_updates(stored, layout, config);
  const GgufArchitecture& architecture = gguf_architecture_for(config);
  std::map<std::string, GgufFactors> all;
  for (const Weight& weight : weights_of(config)) {
    Index first = 0;
    for (const StoredTensor& tensor : architecture.layout.tensors_of(weight, config)) {
      if (const auto found = updates.find(weight.name); found != updates.end()) {
        add_updates(found->second, tensor, first, all[tensor.name]);
      }
      first += tensor.rows;
    }
  }
  std::erase_if(all, [](const auto& item) { return item.second.update == nullptr; });
  require(!all.empty(), stored.where, ": has no updates of matrices");
  const StoredUpdate& one = *all.begin()->second.update;
  const double alpha = one.scale == 0 ? 1 : one.scale * static_cast<double>(one.a.size(0));
  write_gguf(path,
             {{"general.architecture", std::string(architecture.name)},
              {"general.type", std::string("adapter")},
              {"general.file_type", std::uint32_t{0}},
              {"adapter.type", std::string("lora")},
              {kAlphaKey, static_cast<float>(alpha)}},
             gguf_sources(all, static_cast<double>(static_cast<float>(alpha))));
}

StoredAdapter read_gguf_adapter(const GgufFile& file) {
  StoredAdapter adapter{.where = shown(file.path())};
  const std::string type = text_of(file, "adapter.type");
  require(type == "lora", adapter.where, ": adapter.type: expected 'lora', got ", in_quotes(type));
  require(file.find_value("adapter.alora.invocation_tokens") == nullptr, adapter.where,
          ": adapter.alora.invocation_tokens is not supported");
  const double alpha = alpha_of(file);
  for (const GgufTensor& tensor : file.tensors()) {
    const Tensor values = file.read(tensor);
    require_finite({{tensor.name, values}}, adapter.where + ": ");
    add_tensor(tensor.name, values, adapter);
  }
  for (auto& [module, update] : adapter.updates) {
    require(update.a.defined() && update.b.defined() && update.a.size(0) == update.b.size(1) &&
                update.a.size(0) > 0,
            adapter.where, ": module ", in_quotes(module),
            ": expected lora_a and lora_b with a rank of at least 1");
    // llama.cpp takes 0 for "no scale".
    update.scale = alpha == 0 ? 1 : alpha / static_cast<double>(update.a.size(0));
  }
  return adapter;
}

}  // namespace headlight
