#include "serve/api.h"

#include <algorithm>
#include <map>
#include <random>

#include "base/lower_case.h"
#include "base/split.h"
#include "base/stopwatch.h"
#include "headlight/base/nearest_name.h"
#include "headlight/heads/head_set.h"
#include "serve/api_error.h"
#include "serve/completions/completion_answer.h"
#include "serve/inspections.h"
#include "serve/page_files.h"
#include "views/report/json_output.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kShownCharacters = 100;  // shown of an unknown model name
constexpr Index kMostUnread = 64;              // bodies; at 1 MiB each, HttpLimits::all_body_bytes
constexpr std::string_view kChats = "/v1/chat/completions";
constexpr std::string_view kOneModel = "/v1/models/";  // and its name

HttpResponse response_of(const Json& json) { return json_response(json.dump()); }

std::string type_of_file(std::string_view name) {
  if (name.ends_with(".html")) {
    return "text/html; charset=utf-8";
  }
  return name.ends_with(".js") ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8";
}

// Returns the page's files by path. The page shares the modules of `headlight attention`.
const std::map<std::string, EmbeddedFile, std::less<>>& served_files() {
  static const auto all = [] {
    std::map<std::string, EmbeddedFile, std::less<>> files;
    for (const EmbeddedFile& file : serve_page_files()) {
      files["/" + std::string(file.name)] = file;
    }
    for (const EmbeddedFile& file : page_files()) {
      if (!file.name.ends_with(".html")) {
        files["/views/" + std::string(file.name)] = file;
      }
    }
    files["/"] = files.at("/index.html");
    return files;
  }();
  return all;
}

// Returns the paths that need no key.
std::vector<std::string> open_paths() {
  std::vector<std::string> paths{"/health", "/api/login"};
  for (const auto& [path, file] : served_files()) {
    paths.push_back(path);
  }
  return paths;
}

// Browsers send JSON to another origin only after a CORS preflight; forms need none.
void require_json(const HttpRequest& request) {
  const std::string* type = request.header("content-type");
  const std::string_view all = type == nullptr ? std::string_view() : *type;
  if (lower_case(trimmed(all.substr(0, all.find(';')))) != "application/json") {
    throw ApiError(415, "", "expected Content-Type: application/json");
  }
}

}  // namespace

Api::Api(const ServeOptions& options, const HttpServer& http)
    : options_(options),
      http_(http),
      access_(options, http.port(), open_paths()),
      created_(seconds_since_1970()),
      seeds_((std::uint64_t{std::random_device()()} << 31U) ^ std::random_device()()),
      runs_(options.runs),
      reader_(kMostUnread) {}

void Api::start(const std::vector<ServedModel>& models) {
  for (const ServedModel& model : models) {
    const Tokenizer& tokenizer = *model.loaded.tokenizer;
    models_.push_back(
        {model, ChatFormat(model.chat_template, tokenizer), SpecialNameCount(tokenizer)});
  }
  compute_.emplace(models, options_);
  started_ = true;
}

Api::Route Api::route_of(std::string_view path) {
  static constexpr Route kRoutes[] = {
      {"GET", "/health", &Api::get_health},
      {"GET", "/metrics", &Api::get_metrics},
      {"GET", "/v1/models", &Api::get_models},
      {"POST", "/v1/completions", &Api::post_completion, true},
      {"POST", kChats, &Api::post_completion, true},
      {"GET", "/tokenizer_info", &Api::get_tokenizer_info},
      {"POST", "/tokenize", &Api::post_tokenize, true},
      {"POST", "/detokenize", &Api::post_detokenize, true},
      {"POST", "/api/login", &Api::post_login, false, false},
      {"GET", "/api/runs", &Api::get_runs, false, false},
      {"POST", "/api/watch", &Api::post_watch, false, false},
  };
  if (served_files().contains(path)) {
    return {"GET", path, &Api::get_file, false, false};
  }
  if (path.starts_with(kOneModel)) {
    return {"GET", path, &Api::get_models};
  }
  if (find_inspection(path) != nullptr) {
    return {"POST", path, &Api::post_inspection, true};
  }
  const auto* route = std::ranges::find(kRoutes, path, &Route::path);
  if (route == std::end(kRoutes)) {
    throw ApiError(404, "", "there is nothing at this path");
  }
  return *route;
}

Admission Api::admit(const HttpRequest& head) {
  Admission admission = access_.check(head);
  if (admission.refusal && admission.refusal->status >= 400) {
    metrics_.count_refusal(admission.refusal->status);
  }
  return admission;
}

HttpResponse Api::refusal(int status, std::string_view message) {
  metrics_.count_refusal(status);
  return error_response(status, message);
}

void Api::handle(const HttpRequest& request, const Exchange& exchange) {
  answer_or_refuse(exchange, [&] {
    const Route route = route_of(request.path);
    const std::string method = route.method;
    if (request.method != method) {
      throw ApiError(405, "", "expected the method " + method, "",
                     {{"Allow", method == "GET" ? "GET, HEAD" : method}});
    }
    metrics_.count_request(request.path.starts_with(kOneModel) ? "/v1/models" : request.path);
    if (method == "POST") {
      require_json(request);
    }
    if (route.needs_model && !started_) {
      throw ApiError(503, "loading", "the models are loading: try again later");
    }
    if (!route.has_texts) {
      (this->*route.handler)(request, exchange);
      return;
    }
    reader_.run([this, handler = route.handler, request, exchange] {
      if (!exchange->gone()) {
        answer_or_refuse(exchange, [&] { (this->*handler)(request, exchange); });
      }
    });
  });
}

void Api::answer_or_refuse(const Exchange& exchange, const std::function<void()>& answer) {
  try {
    answer();
  } catch (...) {
    const HttpResponse response = current_error_response();
    metrics_.count_refusal(response.status);
    exchange->send(response);
  }
}

void Api::get_file(const HttpRequest& request, const Exchange& exchange) {
  const EmbeddedFile& file = served_files().at(request.path);
  exchange->send({.status = 200,
                  .headers = {{"Content-Type", type_of_file(file.name)}},
                  .body = std::string(file.contents)});
}

void Api::get_health(const HttpRequest&, const Exchange& exchange) {
  if (closing_) {
    throw ApiError(503, "closing", "the server is shutting down");
  }
  exchange->send(response_of({{"status", "ok"}}));
}

void Api::get_metrics(const HttpRequest&, const Exchange& exchange) {
  exchange->send({.status = 200,
                  .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                  .body = metrics_.text(compute_->status(), http_.connections())});
}

Json Api::model_json(const Model& model) const {
  const Gpt& gpt = *model.served.loaded.model;
  Index heads = 0;  // largest number of heads in a layer
  for (const HeadId& id : HeadSet::all(gpt.heads())) {
    heads = std::max(heads, id.head + 1);
  }
  return {{"id", model.served.name},
          {"object", "model"},
          {"created", created_},
          {"owned_by", "headlight"},
          {"root", model.served.source.empty() ? model.served.name : model.served.source},
          {"layers", gpt.config().n_layer},
          {"heads", heads},
          {"max_model_len", gpt.block_size()},
          {"chat", model.chat.problem().empty()}};
}

void Api::get_models(const HttpRequest& request, const Exchange& exchange) {
  Json list = Json::array();
  for (const Model& model : models_) {
    if (request.path == std::string(kOneModel) + model.served.name) {
      exchange->send(response_of(model_json(model)));
      return;
    }
    list.push_back(model_json(model));
  }
  if (request.path.starts_with(kOneModel)) {
    throw ApiError(404, "model_not_found", "there is no model of this name", "model");
  }
  exchange->send(response_of({{"object", "list"}, {"data", std::move(list)}}));
}

std::size_t Api::model_of(Fields& fields) const {
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

void Api::post_login(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body);
  const std::string key = fields.text("key", "");
  fields.refuse_others();
  if (!access_.is_key(key)) {
    metrics_.count_refusal(401);
    exchange->send(Access::wrong_key("key: this is not the server's key", "key"));
    return;
  }
  HttpResponse response = response_of({{"status", "ok"}});
  response.headers.emplace_back("Set-Cookie", access_.session_cookie());
  exchange->send(std::move(response));
}

// Describes the tokenizer of the first model: requests of this kind have no body.
void Api::get_tokenizer_info(const HttpRequest&, const Exchange& exchange) {
  const Model& model = models_.front();
  const Tokenizer& tokenizer = *model.served.loaded.tokenizer;
  Json info{{"tokenizer_class", tokenizer.kind()},
            {"vocab_size", tokenizer.vocab_size()},
            {"add_bos_token", tokenizer.prepends_begin_token()},
            {"chat_template",
             model.served.chat_template.empty() ? Json() : Json(model.served.chat_template)}};
  const auto add = [&](const char* key, std::optional<std::int32_t> id) {
    info.add(key, id ? Json(tokenizer.special_name(*id)) : Json());
  };
  add("bos_token", tokenizer.begin_token());
  add("eos_token", tokenizer.end_token());
  add("pad_token", tokenizer.padding());
  exchange->send(response_of(info));
}

void Api::post_tokenize(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body);
  const Model& model = models_[model_of(fields)];
  const Tokenizer& tokenizer = *model.served.loaded.tokenizer;
  RequestTexts texts(fields, tokenizer, model.names);
  const Json& content = fields.get("content");
  require_value(content.is_string(), "content", "expected a text, got ", content.type_name());
  const bool add_special = fields.boolean("add_special", false);
  const bool with_pieces = fields.boolean("with_pieces", false);
  fields.refuse_others();
  const std::vector<std::int32_t> ids = add_special ? texts.encode_prompt(content.text(), "content")
                                                    : texts.encode(content.text(), "content");
  const auto token = [&](std::int32_t id) {
    return with_pieces ? Json{{"id", id}, {"piece", label_of_id(id, tokenizer)}} : Json(id);
  };
  Json answer{{"tokens", json_list(ids, token)}};
  if (!texts.warnings().empty()) {
    answer["warnings"] = texts.warnings();
  }
  exchange->send(response_of(answer));
}

void Api::post_detokenize(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body);
  const Tokenizer& tokenizer = *models_[model_of(fields)].served.loaded.tokenizer;
  const std::vector<std::int32_t> ids =
      token_list(fields.get("tokens"), "tokens", tokenizer.vocab_size());
  fields.refuse_others();
  exchange->send(response_of({{"content", tokenizer.decode(ids)}}));
}

Work::Options Api::work_of(Urgency urgency, const Exchange& exchange) {
  return {.most = options_.max_work,
          .give_way =
              [this, urgency, exchange] {
                require(!exchange->gone(), "the client has gone");
                compute_->serve_others(urgency);
              },
          .on_end = [this](double tokens) { compute_->count_job_tokens(tokens); }};
}

void Api::post_completion(const HttpRequest& request, const Exchange& exchange) {
  const bool is_chat = request.path == kChats;
  Fields fields(request.body);
  const std::size_t place = model_of(fields);
  const Model& model = models_[place];
  Gpt& gpt = *model.served.loaded.model;
  RequestTexts texts(fields, *model.served.loaded.tokenizer, model.names);
  const CompletionModel described{.texts = texts,
                                  .chat = model.chat,
                                  .vocabulary = gpt.vocab_size(),
                                  .block_size = gpt.block_size(),
                                  .default_tokens = options_.default_tokens};
  CompletionRequest wanted =
      is_chat ? read_chat(described, ++seeds_) : read_completion(described, ++seeds_);
  const bool scores_prompts = wanted.scores_prompts();
  const bool needs_preparation = scores_prompts || !wanted.changes.changes.empty();
  require_work(wanted.changes.work + (scores_prompts ? 2 : 1) * wanted.prompt_tokens(),
               options_.max_work);
  const std::string id = concat_text(is_chat ? "chatcmpl-" : "cmpl-", created_, "-", ++answers_);
  const auto answer =
      std::make_shared<CompletionAnswer>(std::move(wanted), id, model.served, exchange);
  if (!needs_preparation) {
    begin(place, answer, exchange);
    return;
  }
  const Urgency urgency = scores_prompts ? Urgency::asked : Urgency::live;
  const auto prepare = [this, place, answer, urgency, &gpt, exchange] {
    try {
      Work work(gpt, work_of(urgency, exchange));
      answer->prepare([&] { work.give_way(); });
      begin(place, answer, exchange);
    } catch (...) {
      answer->fail();
    }
  };
  compute_->run(urgency, {prepare, [exchange] { return !exchange->gone(); }});
}

void Api::begin(std::size_t model, const std::shared_ptr<CompletionAnswer>& answer,
                const Exchange& exchange) {
  const Compute::Ticket ticket = compute_->begin(model, answer->requests());
  exchange->on_gone([this, ticket] { compute_->cancel(ticket); });
}

void Api::get_runs(const HttpRequest&, const Exchange& exchange) {
  exchange->send(response_of({{"runs", runs_.names()}}));
}

void Api::post_watch(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body);
  const std::vector<std::string> names = fields.texts("runs", RunFeed::kMostRuns);
  fields.refuse_others();
  runs_.watch(names, exchange);
}

void Api::post_inspection(const HttpRequest& request, const Exchange& exchange) {
  const Inspection* inspection = find_inspection(request.path);
  Fields fields(request.body);
  const Model& model = models_[model_of(fields)];
  const bool stream = fields.boolean("stream", false);
  const auto answer_it = [this, inspection, fields, stream, &model, exchange]() mutable {
    InspectionAnswer answer(exchange, stream);
    try {
      Work::Options options = work_of(inspection->urgency, exchange);
      options.tell = [&](double share) { answer.progress(share); };
      RequestTexts texts(fields, *model.served.loaded.tokenizer, model.names);
      std::string json;
      {
        Work work(*model.served.loaded.model, std::move(options));
        json = inspection->run(model.served, texts, work);
      }
      answer.finish(std::move(json), texts.warnings());
    } catch (...) {
      answer.fail();
    }
  };
  compute_->run(inspection->urgency, {answer_it, [exchange] { return !exchange->gone(); }});
}

}  // namespace headlight::serve
