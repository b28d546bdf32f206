#include <algorithm>
#include <vector>

#include "base/strings/printable.h"
#include "datasets/fingerprint.h"
#include "formats/adapter/adapter.h"
#include "formats/adapter/stored_adapter.h"
#include "formats/families/families.h"
#include "formats/gguf/gguf_config.h"
#include "formats/huggingface/config_reader.h"
#include "formats/stored_model.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestAdapterConfig = Index{1} << 20;  // bytes
constexpr const char* kFingerprintKey = "headlight_base_weights";

// Returns "NAME FINGERPRINT" of each tensor of a GGUF file, of its elements as they are stored.
std::vector<std::string> gguf_tensor_marks(const GgufFile& file) {
  std::vector<std::string> marks;
  for (const GgufTensor& tensor : file.tensors()) {
    std::string bytes(static_cast<std::size_t>(tensor.end - tensor.begin), '\0');
    file.read_bytes(tensor, 0, std::as_writable_bytes(std::span<char>(bytes)));
    marks.push_back(concat_text(tensor.name, " ", name_of(tensor.type), " ", tensor.shape, " ",
                                fingerprint_of_bytes(bytes)));
  }
  return marks;
}

std::vector<std::string> marks_of(const fs::path& model) {
  if (is_gguf_file(model)) {
    return gguf_tensor_marks(GgufFile(model));
  }
  std::vector<std::string> marks;
  const StoredModel stored = open_model(model);
  for (const FileTensor& tensor : stored.weights.tensors()) {
    marks.push_back(tensor.name + " " + fingerprint({{tensor.name, tensor.read()}}));
  }
  return marks;
}

// Returns the path in adapter_config.json; "" for an adapter that names none.
fs::path named_base(const fs::path& adapter) {
  constexpr const char* kKey = "base_model_name_or_path";
  if (is_model_file(adapter)) {
    return {};
  }
  const Json json = read_adapter_json(adapter);
  return in_place(shown(adapter / kAdapterConfig) + ": ",
                  [&] { return fs::path(ConfigReader(json).text(kKey, "")); });
}

// Returns the fingerprint of the base's weights that a run has stored; "" for other adapters.
std::string stored_fingerprint(const fs::path& adapter) {
  if (is_model_file(adapter) || !fs::exists(adapter / kAdapterWeights)) {
    return "";
  }
  const auto metadata = read_safetensors_metadata(adapter / kAdapterWeights);
  const auto found = metadata.find(kFingerprintKey);
  return found == metadata.end() ? "" : found->second;
}

bool is_gguf_adapter(const fs::path& path) {
  constexpr std::size_t kBeginning = std::size_t{1} << 16;
  const InputFile file(path);
  std::string start(std::min(kBeginning, static_cast<std::size_t>(file.size())), '\0');
  file.read(0, std::as_writable_bytes(std::span<char>(start)));
  if (start.find("adapter") == start.npos) {  // saves the time of reading a whole vocabulary
    return false;
  }
  const GgufFile gguf(path);
  const GgufValue* type = gguf.find_value("general.type");
  const auto* text = type == nullptr ? nullptr : std::get_if<std::string>(type);
  return text != nullptr && *text == "adapter";
}

struct OpenAdapter {
  StoredAdapter adapter;
  const WeightLayout* layout;  // of the files whose names it has
};

OpenAdapter open_adapter(const fs::path& adapter, const fs::path& base, const GptConfig& config) {
  if (!is_model_file(adapter)) {
    return {read_peft_adapter(adapter), &family_of_base(base, config).layout};
  }
  const GgufFile file(adapter);
  const GgufArchitecture& architecture = gguf_architecture_for(config);
  const GgufValue* value = file.find_value("general.architecture");
  const auto* name = value == nullptr ? nullptr : std::get_if<std::string>(value);
  require(name != nullptr && *name == architecture.name, shown(adapter),
          ": expected an adapter of the architecture ", architecture.name, ", that of ",
          shown(base), ", got ", name == nullptr ? "none" : in_quotes(*name));
  return {read_gguf_adapter(file), &architecture.layout};
}

}  // namespace

Json read_adapter_json(const fs::path& directory) {
  const fs::path path = directory / kAdapterConfig;
  return parse_json(read_whole_file(path, kLargestAdapterConfig), shown(path));
}

const ModelFamily& family_of_base(const fs::path& base, const GptConfig& config) {
  return is_model_file(base) ? family_for(config) : *read_model_config(base).family;
}

std::string weights_fingerprint(const fs::path& model) {
  std::vector<std::string> marks = marks_of(model);
  std::ranges::sort(marks);
  std::string text;
  for (const std::string& mark : marks) {
    text += mark + "\n";
  }
  return fingerprint_of_bytes(text);
}

std::map<std::string, std::string> adapter_metadata(const Adapter& adapter) {
  return {{"format", "pt"}, {kFingerprintKey, adapter.fingerprint}};
}

bool is_adapter(const fs::path& path) {
  std::error_code error;
  if (is_gguf_file(path)) {
    return fs::exists(path, error) && is_gguf_adapter(path);
  }
  return fs::exists(path / kAdapterConfig, error) && !fs::exists(path / "model.safetensors", error);
}

void require_adapter_for(const fs::path& base, const fs::path& model) {
  require_value(base.empty() || is_adapter(model), "base", shown(model),
                " is no adapter (LoRA): it needs no base model; leave the option out");
}

fs::path base_of_adapter(const fs::path& adapter, const fs::path& given) {
  const fs::path named = given.empty() ? named_base(adapter) : given;
  const fs::path folder = given.empty() ? adapter : "";
  for (const fs::path& path : {named, folder / named}) {
    std::error_code error;
    if (!named.empty() && fs::exists(path, error)) {
      const fs::path found = find_model_directory(fs::absolute(path).lexically_normal());
      require(!is_adapter(found), shown(adapter), ": its base model, ", shown(found),
              ", is an adapter itself; make a whole model of that one first (headlight export "
              "--to hf)");
      return found;
    }
  }
  fail_value("base", shown(adapter), ": expected the folder or file of its base model, ",
             named.empty() ? "which it does not name"
                           : concat_text("got ", shown(named), ", which is not here"),
             given.empty() ? "; give the path of that model with --base" : "");
}

fs::path checked_base(const fs::path& adapter, const fs::path& given) {
  const fs::path base = base_of_adapter(adapter, given);
  const std::string stored = stored_fingerprint(adapter);
  require(stored.empty() || stored == weights_fingerprint(base), shown(adapter),
          ": its base model, ", shown(base),
          ", has other weights than when the adapter was trained; give the path of the right one "
          "with --base");
  return base;
}

GptConfig adapted_config(const fs::path& adapter, const fs::path& base, const GptConfig& config) {
  const auto [stored, layout] = open_adapter(adapter, base, config);
  return adapted_config(stored, *layout, config);
}

void merge_adapter(const fs::path& adapter, const fs::path& base, std::unique_ptr<Gpt>& model) {
  const auto [stored, layout] = open_adapter(adapter, base, model->config());
  merge(stored, *layout, model);
}

}  // namespace headlight
