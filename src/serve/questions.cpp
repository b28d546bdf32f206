#include "serve/questions.h"

#include <algorithm>
#include <random>

#include "base/stopwatch.h"
#include "base/strings/hex_text.h"
#include "base/transformed.h"
#include "headlight/base/nearest_name.h"
#include "headlight/interpret/head_set.h"
#include "serve/api_error.h"
#include "serve/completions/completion_answer.h"
#include "serve/inspections.h"
#include "serve/json_answer.h"
#include "show/report/parts/json_output.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kShownCharacters = 100;  // shown of an unknown model name

constexpr CompletionApi kChatApi{"/v1/chat/completions", "chatcmpl-", read_chat, make_chat_form};
constexpr CompletionApi kMessagesApi{Questions::kMessages, "msg_", read_chat, make_message_form,
                                     chat_of_message};
constexpr CompletionApi kApis[] = {
    {"/v1/completions", "cmpl-", read_completion, make_completion_form},
    kChatApi,
    {"/v1/responses", "resp_", read_chat, make_response_form, chat_of_response},
    kMessagesApi};

HttpResponse response_with(const Json& json) { return json_response(json.dump()); }

}  // namespace

Questions::Questions(const std::vector<ServedModel>& models, const ServeOptions& options)
    : options_(options),
      created_(seconds_since_1970()),
      seeds_((std::uint64_t{std::random_device()()} << 31U) ^ std::random_device()()),
      compute_(models, options) {
  for (const ServedModel& model : models) {
    const Tokenizer& tokenizer = *model.loaded.tokenizer;
    models_.push_back(
        {model, ChatFormat(model.chat_template, tokenizer), SpecialNameCount(tokenizer)});
  }
}

std::optional<Questions::Route> Questions::find(std::string_view path) {
  static constexpr Route kRoutes[] = {
      {"GET", "/v1/models", &Questions::get_models},
      {"GET", "/props", &Questions::get_props},
      {"POST", "/v1/messages/count_tokens", &Questions::post_count, true},
      {"GET", "/tokenizer_info", &Questions::get_tokenizer_info},
      {"POST", "/tokenize", &Questions::post_tokenize, true},
      {"POST", "/detokenize", &Questions::post_detokenize, true},
      {"POST", "/apply-template", &Questions::post_apply_template, true},
  };
  if (path.starts_with(kOneModel)) {
    return Route{"GET", path, &Questions::get_models};
  }
  if (find_inspection(path) != nullptr) {
    return Route{"POST", path, &Questions::post_inspection, true};
  }
  if (std::ranges::find(kApis, path, &CompletionApi::path) != std::end(kApis)) {
    return Route{"POST", path, &Questions::post_completion, true};
  }
  const auto* route = std::ranges::find(kRoutes, path, &Route::path);
  return route == std::end(kRoutes) ? std::nullopt : std::optional(*route);
}

void Questions::answer(const HttpRequest& request, const Exchange& exchange) {
  const std::optional<Route> route = find(request.path);
  if (!route || request.method != route->method) {
    throw unknown_path(request.path);
  }
  (this->*route->handler)(request, exchange);
}

Json Questions::model_json(const Model& model) const {
  const Gpt& gpt = *model.served.loaded.model;
  Index heads = 0;  // largest number of heads in a layer
  for (const HeadId& id : HeadSet::all(gpt.heads())) {
    heads = std::max(heads, id.head + 1);
  }
  Json json{{"id", model.served.name},
            {"object", "model"},
            {"created", created_},
            {"owned_by", "headlight"},
            {"root", model.served.source.empty() ? model.served.name : model.served.source},
            {"layers", gpt.config().n_layer},
            {"heads", heads},
            {"max_model_len", gpt.block_size()},
            {"chat", model.chat.problem().empty()}};
  if (!model.served.directions.empty()) {
    json["directions"] = model.served.directions;
  }
  if (!gpt.features().empty()) {
    json["features"] = transformed(
        gpt.features(), [](const auto& entry) { return concat_text("feature.", entry.first); });
  }
  return json;
}

void Questions::get_models(const HttpRequest& request, const Exchange& exchange) {
  Json list = Json::array();
  const std::string path = percent_decoded(request.path);
  for (const Model& model : models_) {
    if (path == std::string(kOneModel) + model.served.name) {
      exchange->send(response_with(model_json(model)));
      return;
    }
    list.push_back(model_json(model));
  }
  if (request.path.starts_with(kOneModel)) {
    throw ApiError(404, "model_not_found", "there is no model of this name", "model");
  }
  exchange->send(response_with({{"object", "list"}, {"data", std::move(list)}}));
}

std::size_t Questions::model_of(Fields& fields) const {
  const std::string name = fields.text("model", models_.front().served.name);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i].served.name == name) {
      return i;
    }
    names.push_back(models_[i].served.name);
  }
  const std::string near = nearest_name(name, names);
  throw ApiError(404, "model_not_found",
                 "there is no model '" + escaped(name.substr(0, kShownCharacters)) + "'" +
                     (near.empty() ? "; see /v1/models" : "; did you mean '" + near + "'?"),
                 "model");
}

// Describes the first model as llama-server does.
void Questions::get_props(const HttpRequest&, const Exchange& exchange) {
  const ServedModel& served = models_.front().served;
  const std::string* chat_template = served.chat_template.chosen(false);
  exchange->send(response_with(
      {{"default_generation_settings", {{"n_ctx", served.loaded.model->block_size()}}},
       {"total_slots", options_.slots},
       {"model_alias", served.name},
       {"model_path", served.source},
       {"chat_template", chat_template == nullptr ? "" : *chat_template}}));
}

// Describes the tokenizer of the first model: requests of this kind have no body.
void Questions::get_tokenizer_info(const HttpRequest&, const Exchange& exchange) {
  const Model& model = models_.front();
  const Tokenizer& tokenizer = *model.served.loaded.tokenizer;
  const std::string* chat_template = model.served.chat_template.chosen(false);
  Json info{{"tokenizer_class", tokenizer.kind()},
            {"vocab_size", tokenizer.vocab_size()},
            {"add_bos_token", tokenizer.prepends_begin_token()},
            {"chat_template", chat_template == nullptr ? Json() : Json(*chat_template)}};
  const auto add = [&](const char* key, std::optional<std::int32_t> id) {
    info.add(key, id ? Json(tokenizer.special_name(*id)) : Json());
  };
  add("bos_token", tokenizer.begin_token());
  add("eos_token", tokenizer.end_token());
  add("pad_token", tokenizer.padding());
  exchange->send(response_with(info));
}

void Questions::post_tokenize(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body, request.budget);
  const Model& model = models_[model_of(fields)];
  const Tokenizer& tokenizer = *model.served.loaded.tokenizer;
  // llama-server's names, or vLLM's, which reads names of special tokens.
  const bool is_prompt = fields.find("content") == nullptr && fields.find("prompt") != nullptr;
  RequestTexts texts(fields, tokenizer, model.names, fields.boolean("parse_special", is_prompt));
  const std::string name = is_prompt ? "prompt" : "content";
  const Json& content = fields.get(name);
  require_value(content.is_string(), name, "expected a text, got ", content.type_name());
  const bool add_special =
      fields.boolean(is_prompt ? "add_special_tokens" : "add_special", is_prompt);
  const bool with_pieces = fields.boolean(is_prompt ? "return_token_strs" : "with_pieces", false);
  fields.refuse_others();
  const std::vector<std::int32_t> ids =
      add_special ? texts.encode_prompt(content.text(), name) : texts.encode(content.text(), name);
  const auto token = [&](std::int32_t id) {
    fields.budget().spend(1);
    if (!with_pieces || is_prompt) {
      return Json(id);
    }
    Json piece = Json::object();
    piece.add("id", id);
    piece.add("piece", label_of_id(id, tokenizer));
    return piece;
  };
  Json answer = Json::object();
  answer.add("tokens", json_list(ids, token));
  if (is_prompt) {
    answer.add("count", ids.size());
    answer.add("max_model_len", model.served.loaded.model->block_size());
  }
  if (is_prompt && with_pieces) {
    answer.add("token_strs",
               json_list(ids, [&](std::int32_t id) { return label_of_id(id, tokenizer); }));
  }
  if (!texts.warnings().empty()) {
    answer["warnings"] = texts.warnings();
  }
  exchange->send(response_with(answer));
}

void Questions::post_detokenize(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body, request.budget);
  const Tokenizer& tokenizer = *models_[model_of(fields)].served.loaded.tokenizer;
  const std::vector<std::int32_t> ids =
      token_list(fields.get("tokens"), "tokens", tokenizer.vocab_size());
  fields.refuse_others();
  const std::string text = tokenizer.decode(ids);
  exchange->send(response_with({{"content", text}, {"prompt", text}}));
}

Work::Options Questions::work_of(Urgency urgency, const Exchange& exchange) {
  return {.most = options_.max_work,
          .yield_to_urgent =
              [this, urgency, exchange] {
                require(!exchange->disconnected(), "the client has gone");
                compute_.run_more_urgent(urgency);
              },
          .on_end = [this](double tokens) { compute_.count_job_tokens(tokens); }};
}

// Returns the members of a chat with the same meaning as the body of an API.
Fields Questions::chat_fields(const CompletionApi& api, Fields given) {
  return api.to_chat == nullptr ? std::move(given) : Fields::of(api.to_chat(given), given.budget());
}

CompletionRequest Questions::read(const CompletionApi& api, std::size_t model, Fields& fields,
                                  bool as_text) {
  const Model& wanted = models_[model];
  RequestTexts texts(fields, *wanted.served.loaded.tokenizer, wanted.names, false,
                     wanted.served.directions);
  const Gpt& gpt = *wanted.served.loaded.model;
  return api.read({.texts = texts,
                   .chat = wanted.chat,
                   .vocabulary = gpt.vocab_size(),
                   .block_size = gpt.block_size(),
                   .default_tokens = options_.default_tokens,
                   .wants_text = as_text},
                  ++seeds_);
}

// Counts the tokens of the prompt of a message.
void Questions::post_count(const HttpRequest& request, const Exchange& exchange) {
  Fields fields = chat_fields(kMessagesApi, Fields(request.body, request.budget));
  const std::size_t model = model_of(fields);
  const CompletionRequest message = read(kMessagesApi, model, fields);
  exchange->send(response_with({{"input_tokens", message.prompt_tokens()}}));
}

// Returns the prompt of a chat as text, as llama-server does.
void Questions::post_apply_template(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body, request.budget);
  const std::size_t model = model_of(fields);
  const CompletionRequest chat = read(kChatApi, model, fields, true);
  exchange->send(response_with({{"prompt", chat.prompt_texts.front()}}));
}

void Questions::post_completion(const HttpRequest& request, const Exchange& exchange) {
  const auto& api = *std::ranges::find(kApis, request.path, &CompletionApi::path);
  Fields given(request.body, request.budget);
  Json body = api.to_chat == nullptr ? Json() : given.body();
  Fields fields = chat_fields(api, std::move(given));
  const std::size_t index = model_of(fields);
  const Model& model = models_[index];
  Gpt& gpt = *model.served.loaded.model;
  CompletionRequest wanted = read(api, index, fields);
  const bool scores_prompts = wanted.scores_prompts();
  const bool needs_preparation = scores_prompts || !wanted.changes.changes.empty();
  require_work(wanted.changes.work + (scores_prompts ? 2 : 1) * wanted.prompt_tokens(),
               options_.max_work);
  const std::size_t bytes = wanted.memory() + body.memory();
  const std::string id = concat_text(api.id_begin, created_, "-", ++answers_);
  const auto answer = std::make_shared<CompletionAnswer>(api, std::move(wanted), std::move(body),
                                                         id, model.served, exchange);
  if (!needs_preparation) {
    begin(index, answer, bytes, exchange);
    return;
  }
  const Urgency urgency = scores_prompts ? Urgency::requested : Urgency::live;
  const auto prepare = [this, index, answer, bytes, urgency, &gpt, exchange] {
    try {
      Work work(gpt, work_of(urgency, exchange));
      answer->prepare([&] { work.yield_to_urgent(); });
      begin(index, answer, bytes, exchange);
    } catch (...) {
      answer->fail();
    }
  };
  compute_.run(urgency, {prepare, [exchange] { return !exchange->disconnected(); }, bytes});
}

void Questions::begin(std::size_t model, const std::shared_ptr<CompletionAnswer>& answer,
                      std::size_t bytes, const Exchange& exchange) {
  const Compute::Ticket ticket = compute_.begin(model, answer->requests(), bytes);
  exchange->on_disconnect([this, ticket] { compute_.cancel(ticket); });
}

void Questions::post_inspection(const HttpRequest& request, const Exchange& exchange) {
  const Inspection* inspection = find_inspection(request.path);
  Fields fields(request.body, request.budget);
  const Model& model = models_[model_of(fields)];
  const bool stream = fields.boolean("stream", false);
  const std::size_t bytes = fields.memory();
  fields.set_budget({});  // the computing thread has limits of its own
  const auto answer_it = [this, inspection, fields, stream, &model, exchange]() mutable {
    InspectionAnswer answer(exchange, stream);
    try {
      Work::Options options = work_of(inspection->urgency, exchange);
      options.on_progress = [&](double share) { answer.progress(share); };
      RequestTexts texts(fields, *model.served.loaded.tokenizer, model.names, false,
                         model.served.directions);
      std::string json;
      {
        Work work(*model.served.loaded.model, std::move(options));
        json = inspection->run(model.served, texts, work, *model.runs);
      }
      answer.finish(std::move(json), texts.warnings());
    } catch (...) {
      answer.fail();
    }
  };
  compute_.run(inspection->urgency,
               {answer_it, [exchange] { return !exchange->disconnected(); }, bytes});
}

}  // namespace headlight::serve
