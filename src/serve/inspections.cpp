#include "serve/inspections.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "base/strings/base64.h"
#include "base/transformed.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/interpret/record_attention.h"
#include "headlight/interpret/scores/head_verdict.h"
#include "interpret/scores/repeated_tokens.h"
#include "questions/question.h"
#include "serve/api_error.h"
#include "serve/request/model_changes.h"
#include "serve/text_scores.h"
#include "show/attention/attention_page_data.h"
#include "show/report/heads_report.h"
#include "show/report/parts/json_output.h"

namespace headlight::serve {
namespace {

constexpr Index kMostTokens = 1024;  // limit of a text; bounds a slice: one layer over all tokens
constexpr Index kMostScoredTokens = 16'384;
constexpr Index kMostLikeliest = 100;
constexpr Index kMostPredictions = 500'000;  // limit of an answer; each takes hundreds of bytes

// Returns `text`. Longer texts than `most_tokens` usually have are refused before they are encoded.
const std::string& limited(const std::string& text, const std::string& name,
                           Index most_tokens = kMostTokens) {
  constexpr Index kBytes = 64;  // per token, on average
  require_value(std::ssize(text) <= kBytes * most_tokens, name, "expected at most ",
                kBytes * most_tokens, " bytes, got ", text.size());
  return text;
}

}  // namespace

// Members of a request to an inspection, and its access to the model.
class InspectionRequest {
 public:
  InspectionRequest(const ServedModel& served, RequestTexts& texts, Work& work, TextRuns& runs)
      : served_(served), texts_(texts), fields_(texts.fields()), work_(work), runs_(runs) {
    fields_.ignore({"model"});
  }

  const LoadedModel& loaded() const { return served_.loaded; }
  Gpt& gpt() const { return *loaded().model; }
  const Tokenizer& tokenizer() const { return *loaded().tokenizer; }
  const std::string& name() const { return served_.name; }
  Fields& fields() { return fields_; }

  std::vector<std::int32_t> tokens(const std::string& name) {
    std::vector<std::int32_t> tokens = long_tokens(name, kMostTokens);
    check_length(tokens, name);
    return tokens;
  }
  // Returns the tokens of a text that may be longer than the context length.
  std::vector<std::int32_t> long_tokens(const std::string& name, Index most_tokens) {
    const Json& value = fields_.get(name);
    require_value(value.is_string() && !value.text().empty(), name, "expected a text");
    return texts_.encode_prompt(limited(value.text(), name, most_tokens), name);
  }
  // Returns the tokens of a value that is a text or a list of token ids.
  std::vector<std::int32_t> text_or_ids(const Json& value, const std::string& name,
                                        Index most_tokens = kMostTokens) {
    require_value(value.is_string() || value.is_array(), name,
                  "expected texts or lists of token ids, got ", value.type_name());
    std::vector<std::int32_t> tokens =
        value.is_string() ? texts_.encode_prompt(limited(value.text(), name, most_tokens), name)
                          : token_list(value, name, tokenizer().vocab_size());
    check_length(tokens, name, most_tokens);
    return tokens;
  }
  // Returns the ids of a text alone.
  std::vector<std::int32_t> encode(const std::string& text, const std::string& name) {
    return texts_.encode(limited(text, name), name);
  }
  // Returns a token given as an id or as the text of one token.
  std::optional<std::int32_t> token(const std::string& name) {
    const Json* value = fields_.find(name);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (value->is_integer()) {
      return static_cast<std::int32_t>(fields_.integer(name, 0, 0, tokenizer().vocab_size() - 1));
    }
    const std::string text = limited(fields_.text(name, ""), name);
    return only_token(texts_.encode(text, name), text, tokenizer(), name);
  }
  // Returns whether a value is the name of a direction of the server.
  bool may_add(const Json& value) const {
    return value.is_string() && texts_.may_add(value.text());
  }
  ModelChanges changes(const std::string& name = "intervene") {
    return read_model_changes(texts_, name);
  }
  // Checks the work, `tokens` times passes plus that of the changes, and makes the changes. Call it
  // after reading all members and before computing.
  void begin(Index tokens, const ModelChanges& changes) {
    fields_.refuse_others();
    work_.begin(tokens + changes.work);
    work_.change(changes.hook_for(loaded()));
  }
  void begin(Index tokens) { begin(tokens, changes()); }
  // Returns the run of a text with the changes of these members.
  std::shared_ptr<TextRun> run_of(const std::vector<std::int32_t>& text,
                                  std::initializer_list<std::string_view> names) {
    std::string changes = texts_.reads_special() ? "special tokens" : "";
    for (const char* name : {"classes", "always", "intervene"}) {
      const Json* value = fields_.find(name);
      const bool is_used = std::ranges::count(names, std::string_view(name)) > 0;
      const bool is_there = value != nullptr && !(value->is_string() && value->text().empty());
      changes += is_used && is_there ? value->dump() + "\n" : "";
    }
    return runs_.of(text, changes);
  }
  // The passes of texts without changes.
  RecordedPasses& passes() const { return runs_.passes(gpt()); }
  std::optional<WeightScores>& weight_scores() const { return runs_.weight_scores; }
  // Returns a function that ends a slice with the completed share.
  std::function<void(double share)> progress() {
    return [this](double share) { work_.yield_to_urgent(share); };
  }
  void yield_to_urgent() { work_.yield_to_urgent(); }

 private:
  void check_length(const std::vector<std::int32_t>& tokens, const std::string& name,
                    Index most_tokens = kMostTokens) const {
    const Index most = std::min(gpt().block_size(), most_tokens);
    if (tokens.empty() || std::ssize(tokens) > most) {
      throw ApiError(400, tokens.empty() ? "" : kContextExceeded,
                     concat_text("expected 1 to ", most, " tokens, got ", tokens.size()), name);
    }
    const std::int32_t largest = *std::ranges::max_element(tokens);
    require_value(largest < gpt().vocab_size(), name, "expected token ids from 0 to ",
                  gpt().vocab_size() - 1, ", for which the model has rows, got ", largest);
  }

  const ServedModel& served_;
  RequestTexts& texts_;
  Fields& fields_;
  Work& work_;
  TextRuns& runs_;
};

namespace {

TextUnit read_units(Fields& fields) {
  require_value(fields.find("by") == nullptr, "by", "is now called units");
  return parse_name<TextUnit>("units", fields.text("units", "token"));
}

std::string attention(InspectionRequest& question) {
  Fields& fields = question.fields();
  const std::vector<std::int32_t> text = question.tokens("text");
  RecordAttentionOptions options;
  options.vectors = fields.boolean("vectors", false);
  options.max_bytes = Index{512} << 20;
  options.unit = read_units(fields);
  if (const std::string heads = fields.text("heads", ""); !heads.empty()) {
    options.heads = HeadSet::parse(heads);
  }
  question.begin(std::ssize(text));
  const std::shared_ptr<TextRun> run = question.run_of(text, {"classes", "intervene"});
  options.take_hidden = [&](const Tensor& hidden) { run->hidden = hidden; };
  options.kept = &question.passes();
  const AttentionMaps maps =
      record_attention_of_ids(question.gpt(), question.tokenizer(), {text}, options)
          .maps(0, question.name());
  return attention_page_data({maps}, {}, [&] { question.yield_to_urgent(); });
}

// Returns the tokens of `text`, cut into sequences of `sequence_tokens` if given.
std::vector<std::vector<std::int32_t>> read_sequences(InspectionRequest& question) {
  const Index length =
      question.fields().integer("sequence_tokens", 0, 0, question.gpt().block_size());
  if (length == 0) {
    return {question.tokens("text")};
  }
  const std::vector<std::int32_t> tokens = question.long_tokens("text", kMostScoredTokens);
  require_value(std::ssize(tokens) <= kMostScoredTokens, "text", "expected up to ",
                kMostScoredTokens, " tokens, got ", tokens.size());
  std::vector<std::vector<std::int32_t>> sequences;
  for (Index begin = 0; begin < std::ssize(tokens); begin += length) {
    const Index end = std::min(begin + length, std::ssize(tokens));
    sequences.emplace_back(tokens.begin() + begin, tokens.begin() + end);
  }
  return sequences;
}

// Returns the labels of verdicts by language.
Json verdict_labels() {
  Json labels;
  for (const Choice<Language>& language : kChoices<Language>) {
    for (const VerdictRule& rule : verdict_rules()) {
      labels[language.name][rule.name] = verdict_label(rule.name, language.value);
    }
  }
  return labels;
}

std::string scores(InspectionRequest& question) {
  Fields& fields = question.fields();
  const std::vector<std::vector<std::int32_t>> sequences = read_sequences(question);
  HeadScoreOptions options;
  options.repeats = repeats_of_text(question.tokenizer(), question.gpt().vocab_size());
  options.repeats.sequences = fields.integer("repeats", 4, 0, 64);
  options.repeats.length = std::min(options.repeats.length, question.gpt().block_size() / 2);
  options.weight_scores = fields.boolean("weight_scores", false);
  options.known_weights = &question.weight_scores();
  options.batch_size = 1;
  options.tokenizer = &question.tokenizer();
  options.unit = read_units(fields);
  options.bootstrap.resamples = fields.integer("resamples", options.bootstrap.resamples, 0, 1000);
  options.progress = question.progress();
  question.begin(token_count(sequences) +
                 options.repeats.sequences *
                     repeat_tokens(options.repeats, question.gpt().block_size()));
  HeadsReport report;
  report.scores = score_heads(question.gpt(), sequences, options);
  Json json = report_json(report, report.scores.heads);
  json["labels"] = verdict_labels();
  return json.dump();
}

Json scores_json(const TextScores& scores, const Tokenizer& tokenizer) {
  Json logprobs = Json::array();
  for (std::size_t i = 0; i < scores.tokens.size(); ++i) {
    logprobs.push_back(i == 0 ? Json() : Json(scores.tokens[i].log_probability));
  }
  return {{"loss", scores.tokens.size() > 1 ? Json(scores.loss) : Json()},
          {"logprobs", std::move(logprobs)},
          {"next", likeliest_json(scores.next, tokenizer)},
          {"asked", Json(scores.requested)}};
}

// Predictions of a text before and after changes.
std::string predict(InspectionRequest& question) {
  const std::vector<std::int32_t> text = question.tokens("text");
  TextScoreOptions options{.likeliest = question.fields().integer("top_k", 10, 1, kMostLikeliest)};
  for (const char* name : {"answer", "wrong"}) {
    if (const auto token = question.token(name)) {
      options.requested.push_back(*token);
    }
  }
  options.pause = [&] { question.yield_to_urgent(); };
  const ModelChanges always = question.changes("always");
  const ModelChanges changes = question.changes();
  const Index passes = changes.changes.empty() ? 1 : 2;
  question.begin(passes * std::ssize(text) + changes.work, always);
  const std::shared_ptr<ForwardHook> hook = changes.hook_for(question.loaded());
  // Changes that are attached may also change the logits.
  std::string asked = concat_text(options.likeliest, " ", question.fields().text("always", ""));
  for (const std::int32_t token : options.requested) {
    asked += concat_text(" ", token);
  }
  const auto scores_of = [&](std::initializer_list<std::string_view> names, ForwardHook* own) {
    const NoGrad no_grad;
    const std::shared_ptr<TextRun> run = question.run_of(text, names);
    if (!run->hidden.defined()) {
      run->hidden = question.gpt().hidden(make_batch({text}), {.hook = own});
    }
    if (run->scored != asked) {
      options.hidden = run->hidden;
      run->scores = score_text(question.gpt(), text, options);
      run->scored = asked;
    }
    return run->scores;
  };
  const TextScores before = scores_of({"classes", "always"}, nullptr);
  const TextScores after = scores_of({"classes", "always", "intervene"}, hook.get());
  const auto token = [&](std::int32_t id) { return token_json(id, question.tokenizer()); };
  return Json{{"tokens", json_list(text, token)},
              {"before", scores_json(before, question.tokenizer())},
              {"after", scores_json(after, question.tokenizer())}}
      .dump();
}

// Returns the parameters of a question without the offer of files instead of texts, and without
// files that the answer writes.
std::vector<Parameter> request_parameters(const Question& question) {
  std::vector<Parameter> parameters = question.parameters;
  for (Parameter& parameter : parameters) {
    const auto other = std::ranges::find(question.parameters, parameter.unless, &Parameter::name);
    if (other != question.parameters.end() && is_file(*other)) {
      parameter.unless = {};
    }
    parameter.fallback = is_file(parameter) ? Json() : parameter.fallback;
  }
  std::erase_if(parameters, [](const Parameter& parameter) {
    return parameter.kind == ValueKind::data && parameter.is_required;
  });
  return parameters;
}

// Throws Error about a member that names a file, unless it is a direction of the server, and about
// members for texts that a question without texts does not have.
void refuse_members(const Question& question, const std::vector<Parameter>& parameters,
                    InspectionRequest& request) {
  for (const Parameter& parameter : parameters) {
    const std::string name(parameter.name);
    const Json* value = is_file(parameter) ? request.fields().find(name) : nullptr;
    require_value(
        value == nullptr || (parameter.is_direction && request.may_add(*value)), name,
        parameter.is_direction ? "expected a direction of the server (serve --directions): " : "",
        "requests cannot name files");
  }
  for (const char* name : {"intervene", "classes", "special_tokens"}) {
    require_value(runs_texts(question) || request.fields().find(name) == nullptr, name,
                  "has no effect: ", question.name, " reads no text");
  }
}

// Answers a question of the table with the members of these parameters' names.
std::string answer_question(const Question& question, const std::vector<Parameter>& parameters,
                            InspectionRequest& request) {
  Json given = Json::object();
  const auto add = [&](std::string_view name) {
    if (const Json* value = request.fields().find(std::string(name))) {
      given.add(std::string(name), *value);
    }
  };
  refuse_members(question, parameters, request);
  for (const Parameter& parameter : parameters) {
    add(parameter.name);
    std::ranges::for_each(parameter.former, add);
  }
  const Arguments arguments(parameters, std::move(given));
  question.check(arguments);
  const ModelChanges changes = request.changes();
  const Asker asker{
      .model = request.gpt(),
      .tokenizer = request.tokenizer(),
      .encode_prompt = [&](const auto& text,
                           const auto& about) { return request.text_or_ids(text, about); },
      .encode = [&](const auto& text, const auto& about) { return request.encode(text, about); },
      .begin = [&](Index tokens) { request.begin(tokens, changes); },
      .progress = request.progress(),
      .shows = false,
      .most_values = kMostPredictions,
      .kept = changes.changes.empty() ? &request.passes() : nullptr};
  return json_of(question.answer(asker, arguments), question.rows, [&] { asker.progress(1); })
      .dump();
}

// Reads `input`: a text, a list of texts, a list of ids, or a list of lists of ids.
std::vector<std::vector<std::int32_t>> read_inputs(InspectionRequest& question) {
  constexpr std::size_t kMostInputs = 2048;  // as OpenAI's API
  const Json& input = question.fields().get("input");
  const bool is_one =
      input.is_string() || (input.is_array() && !input.empty() && input.front().is_number());
  const Json list = is_one ? Json::array({input}) : input;
  require_value(list.is_array() && !list.empty() && list.size() <= kMostInputs, "input",
                "expected a text, or a list of 1 to ", kMostInputs, " texts");
  std::vector<std::vector<std::int32_t>> all;
  for (const Json& one : list) {
    all.push_back(question.text_or_ids(one, "input", question.gpt().block_size()));
  }
  return all;
}

// Returns the mean of the final hidden states of a text as a vector of length 1, [C]. Reads it in
// parts, between which others compute.
std::vector<float> text_embedding(InspectionRequest& question,
                                  const std::vector<std::int32_t>& text) {
  const NoGrad no_grad;
  const Gpt& model = question.gpt();
  const Index width = model.config().n_embd;
  std::vector<double> sum(static_cast<std::size_t>(width));
  KeyValueCache cache = model.make_cache();
  for (Index begin = 0; begin < std::ssize(text); begin += kMostTokens) {
    const Index end = std::min(begin + kMostTokens, std::ssize(text));
    const bool is_whole = end - begin == std::ssize(text);
    const Tensor hidden = is_whole ? to_contiguous(model.hidden(make_batch({text})))
                                   : read_part(model, text, begin, end, nullptr, cache);  // [T, C]
    for (Index i = 0; i < hidden.numel(); ++i) {
      sum[static_cast<std::size_t>(i % width)] += static_cast<double>(hidden.data<float>()[i]);
    }
    question.yield_to_urgent();
  }
  const double length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
  return transformed(
      sum, [&](double value) { return static_cast<float>(length > 0 ? value / length : 0); });
}

// OpenAI's embeddings. Its Python client asks for base64: little-endian float32.
std::string embeddings(InspectionRequest& question) {
  Fields& fields = question.fields();
  fields.ignore({"user"});
  const std::string format = fields.text("encoding_format", "float");
  require_value(format == "float" || format == "base64", "encoding_format",
                "expected float or base64, got '", escaped(format), "'");
  const std::vector<std::vector<std::int32_t>> texts = read_inputs(question);
  const Index tokens = token_count(texts);
  question.begin(tokens);
  Json data = Json::array();
  for (const std::vector<std::int32_t>& text : texts) {
    const std::vector<float> vector = text_embedding(question, text);
    data.push_back(
        {{"object", "embedding"},
         {"index", data.size()},
         {"embedding",
          format == "float" ? Json(vector) : Json(base64_of(std::as_bytes(std::span(vector))))}});
  }
  return Json{{"object", "list"},
              {"data", std::move(data)},
              {"model", question.name()},
              {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}}
      .dump();
}

// All inspections: those here, and the questions without files of texts.
std::vector<Inspection> all_inspections() {
  std::vector<Inspection> all{{"/v1/embeddings", embeddings, Urgency::requested},
                              {"/api/attention", attention},
                              {"/api/predict", predict},
                              {"/api/scores", scores, Urgency::background}};
  for (const Question* question : questions()) {
    const bool reads_files =
        std::ranges::any_of(question->parameters, [](const Parameter& parameter) {
          return parameter.kind == ValueKind::data && parameter.is_required &&
                 parameter.unless.empty();
        });
    if (!reads_files && !always_writes(*question)) {
      all.push_back(
          {"/api/" + std::string(question->name),
           [question, parameters = request_parameters(*question)](InspectionRequest& request) {
             return answer_question(*question, parameters, request);
           },
           question->urgency});
    }
  }
  return all;
}

}  // namespace

std::string Inspection::run(const ServedModel& model, RequestTexts& texts, Work& work,
                            TextRuns& runs) const {
  InspectionRequest question(model, texts, work, runs);
  return answer(question);
}

const Inspection* find_inspection(std::string_view path) {
  static const std::vector<Inspection> all = all_inspections();
  const auto found = std::ranges::find(all, path, &Inspection::path);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace headlight::serve
