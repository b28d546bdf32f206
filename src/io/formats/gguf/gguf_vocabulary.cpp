#include "io/formats/gguf/gguf_vocabulary.h"

#include <set>

#include "base/json.h"
#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/io/gguf_tokenizer.h"
#include "headlight/text/bpe_pattern.h"
#include "headlight/text/tokenizer_file.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

constexpr std::string_view kWholeFile = "tokenizer.huggingface.json";

// tokenizer.ggml.token_type
constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kUnknown = 2;
constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUserDefined = 4;
constexpr std::int32_t kUnused = 5;

bool is_type(const Json& step, std::string_view type) {
  return step.is_object() && step.value("type", Json()) == Json(type);
}

Json step_list(const Json& root, const char* key, const char* list) {
  const Json step = root.value(key, Json());
  if (step.is_null()) {
    return Json::array();
  }
  return is_type(step, "Sequence") ? step.value(list, Json::array()) : Json::array({step});
}

// Bytes as characters, cut by GPT-2's pattern or not at all.
bool is_byte_level(const Json& step, bool cuts) {
  return is_type(step, "ByteLevel") && step.value("add_prefix_space", Json(true)) == Json(false) &&
         step.value("use_regex", Json(true)) == Json(cuts);
}

bool is_split(const Json& step, std::string_view pattern) {
  return is_type(step, "Split") && step.value("invert", Json(false)) == Json(false) &&
         step.value("behavior", Json()) == Json("Isolated") &&
         step.value("pattern", Json()) == Json({{"Regex", pattern}});
}

// llama.cpp's name for how texts are cut into pieces; "" for ways that it does not know.
std::string name_of_pieces(const Json& root) {
  const Json steps = step_list(root, "pre_tokenizer", "pretokenizers");
  const bool whole = root["model"].value("ignore_merges", Json(false)) == Json(true);
  const bool merges_nothing = root["model"]["merges"].empty();
  if (steps.size() == 1 &&
      (is_byte_level(steps[0], true) || (merges_nothing && is_byte_level(steps[0], false)))) {
    return whole ? "" : "gpt-2";
  }
  if (steps.size() != 2 || !is_byte_level(steps[1], is_type(steps[0], "Digits"))) {
    return "";
  }
  if (is_type(steps[0], "Digits")) {
    return !whole && steps[0].value("individual_digits", Json()) == Json(true) ? "smollm" : "";
  }
  if (is_split(steps[0], kLlama3Pattern)) {
    return whole ? "llama-bpe" : "";
  }
  return !whole && is_split(steps[0], kQwen2Pattern) ? "qwen2" : "";
}

// llama.cpp composes no characters, whatever the file said that a model came with.
bool has_known_normalizer(const Json& root) {
  const Json normalizer = root.value("normalizer", Json());
  return normalizer.is_null() || is_type(normalizer, "NFC");
}

// Pairs of bytes, and what they make with the next, until a character is whole. Those of one
// character meet in no other, because no first byte is one that goes on.
std::vector<std::string> merges_of_characters(const Tokenizer& tokenizer) {
  std::vector<std::string> merges;
  std::set<std::string> known;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string bytes = tokenizer.token_bytes(id);
    for (std::size_t i = 1; tokenizer.special_name(id).empty() && i < bytes.size(); ++i) {
      const std::string merge = byte_name(bytes.substr(0, i)) + " " + byte_name(bytes.substr(i, 1));
      if (known.insert(merge).second) {
        merges.push_back(merge);
      }
    }
  }
  return merges;
}

std::vector<std::string> merges_of_file(const Json& root) {
  std::vector<std::string> merges;
  for (const Json& merge : root["model"]["merges"]) {
    merges.push_back(merge.is_string() ? merge.text() : merge[0].text() + " " + merge[1].text());
  }
  return merges;
}

struct Tokens {
  std::vector<std::string> names;
  std::vector<std::int32_t> types;
};

// `root` is a file that to_tokenizer_json() has written.
Tokens tokens_of(const Tokenizer& tokenizer, const Json& root, Index vocab_size) {
  Tokens tokens;
  for (Index id = 0; id < vocab_size; ++id) {
    tokens.names.push_back("[PAD" + std::to_string(id) + "]");
    tokens.types.push_back(kUnused);
  }
  const auto set = [&](const Json& id, std::string name, std::int32_t type) {
    tokens.names.at(static_cast<std::size_t>(id.natural())) = std::move(name);
    tokens.types.at(static_cast<std::size_t>(id.natural())) = type;
  };
  const bool in_characters = tokenizer.kind() == "char";
  for (const auto& [name, id] : root["model"]["vocab"].members()) {
    set(id, in_characters ? byte_name(name) : name, kNormal);
  }
  for (const Json& token : root["added_tokens"]) {
    const bool special = token["special"] == Json(true);
    const bool unknown = tokenizer.unknown() && token["id"] == Json(*tokenizer.unknown());
    set(token["id"], token["content"].text(),
        unknown   ? kUnknown
        : special ? kControl
                  : kUserDefined);
  }
  return tokens;
}

// The token that ends a text, "" where the file does not say.
std::string end_name(const GgufFile& file) {
  const GgufValue* id = file.find_value("tokenizer.ggml.eos_token_id");
  const GgufValue* list = file.find_value("tokenizer.ggml.tokens");
  const auto* number = id == nullptr ? nullptr : std::get_if<std::uint32_t>(id);
  const auto* array = list == nullptr ? nullptr : std::get_if<GgufArray>(list);
  const auto* names = array == nullptr ? nullptr : std::get_if<std::vector<std::string>>(array);
  return number != nullptr && names != nullptr && *number < names->size() ? (*names)[*number] : "";
}

}  // namespace

std::unique_ptr<Tokenizer> read_gguf_vocabulary(const GgufFile& file) {
  const GgufValue* whole = file.find_value(kWholeFile);
  const auto* text = whole == nullptr ? nullptr : std::get_if<std::string>(whole);
  return text == nullptr
             ? gguf_tokenizer(file)
             : parse_tokenizer_json(*text, concat_text(shown(file.path()), ": ", kWholeFile),
                                    end_name(file));
}

GgufMetadata gguf_vocabulary(const Tokenizer& tokenizer, Index vocab_size) {
  const std::string file = to_tokenizer_json(tokenizer);
  const Json root = parse_json(file, "tokenizer.json");
  const bool in_characters = tokenizer.kind() == "char";
  const std::string pieces = in_characters ? "gpt-2" : name_of_pieces(root);
  require(!pieces.empty() && has_known_normalizer(root),
          "gguf: this tokenizer cannot be expressed: of byte-level BPE llama.cpp has the pieces of "
          "GPT-2, SmolLM, Llama 3 and Qwen 2");
  Tokens tokens = tokens_of(tokenizer, root, vocab_size);
  const auto id = [](std::int32_t token) { return static_cast<std::uint32_t>(token); };
  GgufMetadata keys{
      {"tokenizer.ggml.model", std::string("gpt2")},
      {"tokenizer.ggml.pre", pieces},
      {"tokenizer.ggml.tokens", GgufArray(std::move(tokens.names))},
      {"tokenizer.ggml.token_type", GgufArray(std::move(tokens.types))},
      {"tokenizer.ggml.merges",
       GgufArray(in_characters ? merges_of_characters(tokenizer) : merges_of_file(root))},
      {"tokenizer.ggml.bos_token_id", id(tokenizer.begin_of_text())},
      {"tokenizer.ggml.eos_token_id", id(tokenizer.end_of_text())},
      {"tokenizer.ggml.add_bos_token", tokenizer.prepends_end_of_text()}};
  if (tokenizer.unknown()) {
    keys.emplace_back("tokenizer.ggml.unknown_token_id", id(*tokenizer.unknown()));
  }
  keys.emplace_back(kWholeFile, root.dump(-1, Json::BadUtf8::refused));
  return keys;
}

}  // namespace headlight
