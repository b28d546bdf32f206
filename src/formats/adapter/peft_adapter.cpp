#include <array>

#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "formats/adapter/adapter_config.h"
#include "formats/adapter/stored_adapter.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/run_layout.h"
#include "headlight/ops/layout.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBaseLayer = ".base_layer.";

// Affixes that PEFT adds to the name of a module.
enum class Piece { a, b, embedding_a, embedding_b, lengths, rows };
struct PieceEnd {
  std::string_view end;
  Piece piece;
};
constexpr std::array<PieceEnd, 6> kPieceEnds{
    {{".lora_A.weight", Piece::a},
     {".lora_B.weight", Piece::b},
     {".lora_embedding_A", Piece::embedding_a},
     {".lora_embedding_B", Piece::embedding_b},
     {".lora_magnitude_vector", Piece::lengths},
     {".token_adapter.trainable_tokens_delta", Piece::rows}}};

Tensor plain(const Tensor& tensor) { return to_contiguous(convert(tensor, DType::float32)); }

// Returns the name of a weight without the marks of PEFT.
std::string name_in_base(std::string name) {
  if (const std::size_t found = name.find(kBaseLayer); found != name.npos) {
    name.erase(found, kBaseLayer.size() - 1);
  }
  return name;
}

// Adds a tensor to the adapter. An embedding of V tokens has lora_embedding_A [R, V] and
// lora_embedding_B [C, R], the transposes of b and a.
void add_piece(const std::string& name, const Tensor& tensor, StoredAdapter& adapter) {
  for (const auto& [end, piece] : kPieceEnds) {
    if (!name.ends_with(end)) {
      continue;
    }
    const std::string module = name.substr(0, name.size() - end.size());
    require(tensor.rank() == (piece == Piece::lengths ? 1 : 2), adapter.where, ": tensor ",
            in_quotes(name), ": expected ", piece == Piece::lengths ? "one axis" : "two axes",
            ", got ", tensor.shape());
    if (piece == Piece::rows) {
      adapter.rows[module].rows = plain(tensor);
      return;
    }
    StoredUpdate& update = adapter.updates[module];
    const bool is_embedding = piece == Piece::embedding_a || piece == Piece::embedding_b;
    Tensor& destination = piece == Piece::lengths                            ? update.lengths
                          : piece == Piece::a || piece == Piece::embedding_b ? update.a
                                                                             : update.b;
    destination = plain(is_embedding ? transpose(tensor) : tensor);
    return;
  }
  require(name.find(".lora_") == name.npos, adapter.where, ": tensor ", in_quotes(name),
          ": is not supported; expected MODULE.lora_A.weight and MODULE.lora_B.weight");
  adapter.weights[name_in_base(name)] = tensor;
}

void check_update(const std::string& module, const StoredUpdate& update, bool dora,
                  const std::string& where) {
  require(update.a.defined() && update.b.defined() && update.a.size(0) == update.b.size(1) &&
              update.a.size(0) > 0,
          where, ": module ", in_quotes(module),
          ": expected lora_A [R, I] and lora_B [P, R] with a rank R of at least 1");
  require(update.lengths.defined() == dora && (!dora || update.lengths.size(0) == update.b.size(0)),
          where, ": module ", in_quotes(module), ": expected ", dora ? "a" : "no",
          " lora_magnitude_vector", dora ? " [P]" : "", ", as use_dora in ", kAdapterConfig);
}

// Gives the trained rows their ids.
void set_ids(const AdapterSettings& settings, StoredAdapter& adapter) {
  for (auto& [module, rows] : adapter.rows) {
    for (const auto& [end, ids] : settings.tokens) {
      if (module.ends_with(end)) {
        rows.ids = ids;
      }
    }
    require(std::ssize(rows.ids) == rows.rows.size(0), adapter.where, ": module ",
            in_quotes(module), ": has rows of ", rows.rows.size(0), " tokens, ", kAdapterConfig,
            " names ", rows.ids.size(), " (trainable_token_indices)");
  }
}

}  // namespace

StoredAdapter read_peft_adapter(const fs::path& directory) {
  const Json json = read_adapter_json(directory);
  const std::string config = shown(directory / kAdapterConfig);
  const AdapterSettings settings =
      in_place(config + ": ", [&] { return read_adapter_settings(json); });
  const fs::path file = directory / kAdapterWeights;
  const NamedTensors tensors = read_safetensors(file);
  require_finite(tensors, shown(file) + ": ");
  StoredAdapter adapter{.where = shown(file), .ties_weights = settings.ties_weights};
  for (const auto& [name, tensor] : tensors) {
    require(name.starts_with(kPeftPrefix), adapter.where, ": tensor ", in_quotes(name),
            ": expected a name that begins with ", kPeftPrefix);
    require(
        !settings.ties_weights || !name.ends_with(".lora_embedding_A"), config,
        ": ensure_weight_tying: is not supported with updates of the embedding; write the whole "
        "model with PEFT (model.merge_and_unload().save_pretrained(DIR)) and open that");
    add_piece(name.substr(kPeftPrefix.size()), tensor, adapter);
  }
  for (auto& [module, update] : adapter.updates) {
    check_update(module, update, settings.dora, adapter.where);
    update.scale = in_place(config + ": ", [&, &name = module, &of = update] {
      return settings.scale_of(name, of.a.size(0));
    });
  }
  set_ids(settings, adapter);
  return adapter;
}

}  // namespace headlight
