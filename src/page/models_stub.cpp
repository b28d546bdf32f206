#include "formats/adapter/adapter.h"
#include "headlight/base/error.h"
#include "headlight/datasets/nanogpt_vocabulary.h"
#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "runs/conversations/conversations.h"
#include "runs/preference_reference.h"

// A run in a page begins with random weights and a tokenizer of its own, on a text without
// conversations. Other runs are refused.
namespace headlight {
namespace {

[[noreturn]] void refuse_here(std::string_view what) {
  fail("a page cannot use ", what, "; use the program headlight");
}

}  // namespace

bool is_model_file(const std::filesystem::path&) { return false; }

std::filesystem::path find_model_directory(const std::filesystem::path&) { refuse_here("models"); }

LoadedModel load_model(const std::filesystem::path&, const LoadOptions&) { refuse_here("models"); }

std::unique_ptr<Gpt> load_weights(const std::filesystem::path&, const LoadOptions&) {
  refuse_here("models");
}

std::optional<double> stored_weight_bytes(const std::filesystem::path&, bool,
                                          const std::filesystem::path&) {
  return std::nullopt;
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path&,
                                          const std::filesystem::path&) {
  refuse_here("tokenizers");
}

bool is_adapter(const std::filesystem::path&) { return false; }

std::vector<LoraModule> Adapter::modules() const { return {}; }

std::filesystem::path base_of_adapter(const std::filesystem::path&, const std::filesystem::path&) {
  refuse_here("adapters");
}

Adapter plan_adapter(const std::filesystem::path&, const GptConfig&, const LoraOptions&,
                     const AdaptedParts&) {
  refuse_here("adapters");
}

EarlierAdapter read_earlier_adapter(const std::filesystem::path&) { refuse_here("adapters"); }

NamedTensors adapter_tensors(const Adapter&, const Gpt&) { return {}; }

void write_adapter(const std::filesystem::path&, const Adapter&, const NamedTensors&) {}

void read_adapter(const std::filesystem::path&, const Adapter&, Gpt&) {}

std::string read_chat_template(const std::string&, const ChatTemplates&) {
  refuse_here("chat templates");
}

std::vector<std::string> set_chat_template(LoadedModel&, const std::string&) { return {}; }

std::unique_ptr<Tokenizer> vocabulary_beside(const std::filesystem::path&) { return nullptr; }

Index require_same_vocabulary(const std::filesystem::path&, const Tokenizer& tokenizer) {
  return tokenizer.vocab_size();
}

ConversationKind kind_of_conversations(const TextFile&, const std::string&) {
  return ConversationKind::none;
}

std::string warning_of_texts(const TextFile&) { return {}; }

TokenDataset read_conversations(const TextFile&, const ConversationOptions&, const ChatFormat&,
                                const Tokenizer&, std::vector<std::string>&,
                                std::vector<std::string>&) {
  return {};
}

void prepare_preferences(RunStart&) {}

bool complete_reference(RunStart&, Processes&) { return false; }

void write_reference(const RunStart&) {}

}  // namespace headlight
