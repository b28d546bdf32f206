#include "serve/tool_model.h"
#include "support/programs/session.h"
#include "support/test.h"

// Sessions with a server, one file for each of its APIs. session.h says how to read them; the
// verbs are those below.

using nlohmann::ordered_json;  // the order of members reaches templates

// Returns what the server answers to a line "[STATUS] PATH BODY", whose status must be as given.
ProgramResult answer_to(const RunningServer& server, const std::string& line,
                        const ordered_json& base, bool is_stream) {
  const bool has_status = line[0] != '/';
  const std::size_t path = has_status ? line.find(' ') + 1 : 0;
  const std::size_t end = std::min(line.find(' ', path), line.size());
  ordered_json body = base;
  body.merge_patch(ordered_json::parse(end < line.size() ? line.substr(end) : "{}"));
  if (is_stream) {
    body["stream"] = true;
  }
  const HttpClient::Answer answer = server.post(line.substr(path, end - path), body.dump());
  INFO(answer.body);
  REQUIRE(answer.status == (has_status ? std::stoi(line) : 200));
  return {.exit_code = 0, .out = answer.body, .err = ""};
}

// Returns the data of server-sent events as JSON Lines. Names of events must be their types.
std::string event_lines(const std::string& body) {
  std::string lines;
  std::string name;
  for (const std::string& line : lines_of(body)) {
    if (line.starts_with("event: ")) {
      name = line.substr(7);
    } else if (line.starts_with("data: ") && line != "data: [DONE]") {
      CHECK((name.empty() || json::parse(line.substr(6))["type"] == name));
      lines += line.substr(6) + "\n";
    }
  }
  CHECK(name.empty() == body.ends_with("data: [DONE]\n\n"));
  return lines;
}

// Marks only the start of a text, as Metaspace with "prepend_scheme": "first" does.
constexpr const char* kMarksStart = R"({"added_tokens": [
  {"id": 0, "content": "</s>", "special": true},
  {"id": 1, "content": "<｜fim▁begin｜>", "special": true},
  {"id": 2, "content": "<｜fim▁hole｜>", "special": true},
  {"id": 3, "content": "<｜fim▁end｜>", "special": true}], "normalizer": null,
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                    "split": false},
  "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
  "model": {"type": "BPE", "unk_token": "</s>", "merges": [], "vocab": {
    "</s>": 0, "<｜fim▁begin｜>": 1, "<｜fim▁hole｜>": 2, "<｜fim▁end｜>": 3, "▁": 4,
    "a": 5, "b": 6, "y": 7, "z": 8}}})";

ServedModel served_as(const std::string& name) {
  if (name == "lively" || name == "short") {
    return lively_served(name == "lively" ? 256 : 64);
  }
  if (name.starts_with("middle")) {
    ServedModel model{.name = name, .loaded = {}};
    const bool is_bytes = name == "middle_bytes";
    model.loaded.model = lively_model(is_bytes ? 260 : 9, 64);
    model.loaded.tokenizer = is_bytes ? std::make_unique<MarkedBytes>(std::vector<std::string_view>{
                                            "<fim_prefix>", "<fim_suffix>", "<fim_middle>"})
                                      : parse_tokenizer_json(kMarksStart, "t.json");
    return model;
  }
  return tool_served(name, name.starts_with("mistral")
                               ? std::vector<std::string_view>{"[TOOL_CALLS]", "[INST]", "[/INST]"}
                               : std::vector<std::string_view>{"<|im_start|>", "<|im_end|>",
                                                               "<tool_call>", "</tool_call>"});
}

void run_serve_sessions(const std::string& file) {
  std::unique_ptr<RunningServer> server;
  ordered_json base = ordered_json::object();  // members of every request
  const auto post = [&](const std::string& line) { return answer_to(*server, line, base, false); };
  const auto stream = [&](const std::string& line) {
    ProgramResult result = answer_to(*server, line, base, true);
    result.out = event_lines(result.out);
    return result;
  };
  const SessionVerbs verbs{
      {"serve",
       [&](const std::string& line) {
         const Arguments words = split_words(line);
         ServeOptions options;
         options.max_work = words.size() > 1 ? std::stol(words[1]) : options.max_work;
         server.reset();
         server = std::make_unique<RunningServer>(options, served_as(words[0]));
         base = ordered_json::object();
         return ProgramResult{};
       }},
      {"body",
       [&](const std::string& members) {
         base = ordered_json::parse(members);
         return ProgramResult{};
       }},
      {"GET",
       [&](const std::string& path) {
         return ProgramResult{0, server->get(path).body, ""};
       }},
      {"POST", post},
      {"STREAM", stream}};
  run_sessions(file, {}, verbs);
}

TEST_CASE("sessions: completions") { run_serve_sessions("serve/sessions/completions.txt"); }
TEST_CASE("sessions: chats and calls of functions") {
  run_serve_sessions("serve/sessions/chats.txt");
}
TEST_CASE("sessions: responses of OpenAI and messages of Anthropic") {
  run_serve_sessions("serve/sessions/responses_and_messages.txt");
}
TEST_CASE("sessions: requests with changes of the model, and their limits") {
  run_serve_sessions("serve/sessions/changes_and_limits.txt");
}
TEST_CASE("sessions: questions about a model") {
  run_serve_sessions("serve/sessions/questions.txt");
}
