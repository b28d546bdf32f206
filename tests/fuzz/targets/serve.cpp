#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "serve/completions/completion_request.h"
#include "serve/http/access.h"
#include "serve/request/fields.h"
#include "support/models/marked_bytes.h"

namespace headlight::fuzz {
namespace {

// Byte tokenizer with two additional ChatML tokens.
class ChatBytes final : public test::MarkedBytes {
 public:
  ChatBytes() : MarkedBytes({"<|im_start|>", "<|im_end|>"}) {}
};

// An engine must accept every parsed request.
void demand_good(const serve::CompletionRequest& request, const serve::CompletionModel& model) {
  request.options.validate();
  demand(request.choices() >= 1 && request.choices() <= serve::kMostChoices, "too many choices");
  for (const std::vector<std::int32_t>& prompt : request.prompts) {
    demand(!prompt.empty() && std::ssize(prompt) <= model.block_size, "a prompt beyond the block");
    const Index count =
        serve::tokens_behind(prompt.size(), request.options.max_new_tokens, model.block_size);
    demand(count >= 0 && count <= model.block_size, "more tokens than the block has room for");
    for (const std::int32_t id : prompt) {
      demand(id >= 0 && id < model.vocabulary, "a token that the model does not have");
    }
  }
}

void completion(std::string_view body, bool is_chat) {
  static const ChatBytes tokenizer;
  static const ChatFormat chat(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "<|im_start|>assistant\n",
      tokenizer);
  static const SpecialNameCount names(tokenizer);
  accepted([&] {
    serve::Fields fields(body);
    serve::RequestTexts texts(fields, tokenizer, names);
    const serve::CompletionModel model{
        .texts = texts, .chat = chat, .vocabulary = 260, .block_size = 128, .default_tokens = 16};
    demand_good(is_chat ? serve::read_chat(model, 1) : serve::read_completion(model, 1), model);
  });
}

// Headers without the key must never get access.
void head(std::string_view input) {
  static const serve::Access access({.api_key = "0123456789abcdef"}, 8080);
  serve::HttpRequest request{.method = "POST", .path = "/v1/completions"};
  request.headers.emplace_back("host", std::string(take_text(input)));
  request.headers.emplace_back("cookie", std::string(take_text(input)));
  request.headers.emplace_back("authorization", std::string(take_text(input)));
  request.headers.emplace_back("origin", std::string(input));
  const bool has_key = request.headers[2].second == "Bearer 0123456789abcdef";
  demand(access.check(request).refusal.has_value() || has_key, "a stranger passes");
}

}  // namespace

// Bodies and headers of requests, without a model.
void serve(std::string_view input) {
  switch (take_byte(input) % 4) {
    case 0:
      completion(input, false);
      break;
    case 1:
      completion(input, true);
      break;
    case 2:
      head(input);
      break;
    default:
      accepted([&] {
        serve::Fields fields(input);
        const std::vector<std::int32_t> ids =
            serve::token_list(fields.get("tokens"), "tokens", 257);
        ByteTokenizer().decode(ids);
        fields.refuse_others();
      });
  }
}

}  // namespace headlight::fuzz
