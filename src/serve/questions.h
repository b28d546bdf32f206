#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/serve/server.h"
#include "serve/compute.h"
#include "serve/http/exchange.h"
#include "serve/request/fields.h"
#include "serve/text_scores.h"
#include "serve/work.h"
#include "tokenizers/special_names.h"

namespace headlight::serve {

class CompletionAnswer;
struct CompletionApi;
struct CompletionRequest;

// Answers to questions about models, from JSON to JSON: the same code for the server and for the
// page of one file, which has no network.
class Questions {
 public:
  using Exchange = std::shared_ptr<HttpExchange>;
  struct Route {
    const char* method;
    std::string_view path;
    void (Questions::*handler)(const HttpRequest&, const Exchange&);
    bool has_texts = false;  // the body has texts, which may be slow to encode
  };
  static constexpr std::string_view kOneModel = "/v1/models/";  // and its name

  static constexpr std::string_view kMessages = "/v1/messages";  // Anthropic's API

  // Both must outlive this. `options.context_tokens` must not be 0.
  Questions(const std::vector<ServedModel>& models, const ServeOptions& options);

  // Returns the route of a path, or nothing.
  static std::optional<Route> find(std::string_view path);
  // Answers at once, or from compute(). Throws Error; see current_error_response(). Thread-safe.
  void answer(const HttpRequest& request, const Exchange& exchange);
  Compute& compute() { return compute_; }

 private:
  struct Model {
    const ServedModel& served;
    ChatFormat chat;
    SpecialNameCount names;  // counts special-token names in plain text
    std::unique_ptr<TextRuns> runs = std::make_unique<TextRuns>();  // of the computing thread
  };

  void get_models(const HttpRequest& request, const Exchange& exchange);
  void get_props(const HttpRequest& request, const Exchange& exchange);
  void get_tokenizer_info(const HttpRequest& request, const Exchange& exchange);
  void post_tokenize(const HttpRequest& request, const Exchange& exchange);
  void post_detokenize(const HttpRequest& request, const Exchange& exchange);
  void post_apply_template(const HttpRequest& request, const Exchange& exchange);
  void post_completion(const HttpRequest& request, const Exchange& exchange);
  void post_count(const HttpRequest& request, const Exchange& exchange);
  void post_inspection(const HttpRequest& request, const Exchange& exchange);

  static Fields chat_fields(const CompletionApi& api, Fields given);
  // `as_text`: keep a chat's prompt as text instead of tokens.
  CompletionRequest read(const CompletionApi& api, std::size_t model, Fields& fields,
                         bool as_text = false);

  // Returns the work limit and the callbacks of a job.
  Work::Options work_of(Urgency urgency, const Exchange& exchange);
  void begin(std::size_t model, const std::shared_ptr<CompletionAnswer>& answer, std::size_t bytes,
             const Exchange& exchange);
  // Returns the index of the requested model, or 0 without "model". Throws ApiError (404).
  std::size_t model_of(Fields& fields) const;
  Json model_json(const Model& model) const;

  const ServeOptions& options_;
  std::vector<Model> models_;
  Index created_;                     // seconds since 1970
  std::atomic<Index> answers_ = 0;    // number of accepted completions
  std::atomic<std::uint64_t> seeds_;  // last default seed
  Compute compute_;
};

}  // namespace headlight::serve
