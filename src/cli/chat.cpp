#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/chat/chat_commands.h"
#include "cli/chat/line_editor/line_editor.h"
#include "cli/commands.h"
#include "cli/option_groups/chat_template_option.h"
#include "cli/option_groups/decoding_options.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/sampling_options.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/generate/weights.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes of a message
constexpr std::string_view kQuotes = "\"\"\"";

// Reads messages: in a terminal with a line editor, else line by line.
class LineInput {
 public:
  LineInput()
      : is_typed_(is_terminal(Stream::input) && can_redraw(Stream::output)),
        editor_(is_typed_ ? open_line_editor() : nullptr) {}

  // True if a user types the messages.
  bool is_typed() const { return is_typed_; }
  // Returns the next message without its line end; null at the end of the input. A line that ends
  // with a backslash continues in the next one; lines between """ are one message. Ctrl-C drops the
  // message; then the result is empty. Throws Error for a message that is not UTF-8 or longer than
  // 1 MiB.
  std::optional<std::string> next() {
    std::string text;
    bool is_quoted = false;
    for (bool continues = false;; continues = true) {
      const std::optional<TypedLine> typed = line(continues ? ". " : "> ");
      if (!typed) {
        return continues ? std::optional(text) : std::nullopt;
      }
      if (typed->is_dropped) {
        return "";
      }
      std::string_view rest = typed->text;
      if (!continues && rest.starts_with(kQuotes)) {
        is_quoted = true;
        rest.remove_prefix(kQuotes.size());
      }
      const bool is_last = is_quoted ? rest.ends_with(kQuotes) : !rest.ends_with('\\');
      if (is_quoted == is_last) {
        rest.remove_suffix(is_quoted ? kQuotes.size() : 1);
      }
      text += rest;
      require(text.size() <= kLongest, "expected a message of at most ", kLongest, " bytes");
      if (is_last) {
        if (is_quoted && text.ends_with('\n')) {
          text.pop_back();  // of the line before the closing quotes
        }
        require_utf8(text, "the message");
        return text;
      }
      text += is_quoted && text.empty() ? "" : "\n";
    }
  }
  // Asks a question, and returns whether the answer is yes.
  bool confirm(const std::string& question) {
    const std::optional<TypedLine> typed = line(question + " [y/N] ");
    return typed && !typed->is_dropped && (typed->text == "y" || typed->text == "yes");
  }

 private:
  std::optional<TypedLine> line(const std::string& prompt) {
    if (editor_) {
      return editor_->line(prompt);
    }
    if (is_typed_) {
      std::cout << prompt << std::flush;
    }
    std::string text;
    return std::getline(std::cin, text) ? std::optional(TypedLine{text}) : std::nullopt;
  }

  bool is_typed_;
  std::unique_ptr<LineEditor> editor_;
};

constexpr const char* kChatDetails =
    "Turns the conversation into a prompt with the model's chat template, and prints the answer "
    "while it is generated. An answer reads only the end of the conversation again. If the "
    "conversation outgrows the context, the oldest questions and answers are left out.\n\n"
    "In the terminal, /help lists commands such as /retry, /save and /set, and /off 1.1 switches "
    "off a head in the following answers. Ctrl-C stops an answer; Ctrl-D ends the chat. A line "
    "that ends with \\ continues in the next line; lines between \"\"\" are one message.\n\n"
    "With --prompt, the program prints one answer and ends. Without a terminal, each line of "
    "standard input is a message or a command.\n\n"
    "Names of special tokens in messages are plain text.\n\n"
    "JSON keys, one object in a line for each answer: role, content, tokens, tokens_per_second, "
    "finish_reason (length, end_of_text, stop or cancelled), prompt_tokens, prompt_tokens_reused, "
    "seconds_to_first_token, left_out (oldest messages that did not fit in the context), context "
    "(tokens of prompt and answer).";

// llama.cpp's defaults.
GenerateOptions chat_defaults() {
  return {.max_new_tokens = 1024,
          .sampling = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05}};
}

Options chat_options() {
  Options options({.name = "chat",
                   .summary = "Talk with a model in the terminal.",
                   .positional = "MODEL",
                   .details = kChatDetails,
                   .examples = {"headlight chat SmolLM2-135M-Instruct",
                                "headlight chat model.gguf --system \"Answer in one sentence.\"",
                                "headlight chat model.gguf --prompt \"What is attention?\"",
                                "headlight chat model.gguf --intervene \"off 5.1\" --weights int8",
                                "headlight chat base.gguf --chat_template chatml"}});
  options.value("system", "Begin the conversation with this system message")
      .value("prompt", "Print the answer to this message and end");
  add_chat_template_option(options);
  add_sampling_options(options, chat_defaults());
  options.values("stop", "End before this text, or before the first of several");
  add_decoding_options(options);
  add_intervene_options(options);
  options.basic({"system", "prompt", "chat_template", "max_new_tokens", "temperature", "top_k",
                 "top_p", "seed", "weights", "intervene"});
  return options;
}

std::atomic<bool> is_interrupted = false;

// Ctrl-C stops an answer; between answers it does nothing, since it may come just too late.
void let_interrupts_stop_answers() {
  std::signal(SIGINT, [](int) { is_interrupted = true; });
}

Json json_of(const ChatReply& reply) {
  const GenerateResult& result = reply.result;
  return {{"role", "assistant"},
          {"content", result.text},
          {"tokens", result.tokens.size()},
          {"tokens_per_second", result.tokens_per_second()},
          {"finish_reason", name_of(result.finish_reason)},
          {"prompt_tokens", result.prompt_tokens},
          {"prompt_tokens_reused", result.prompt_tokens_reused},
          {"seconds_to_first_token", result.seconds_to_first_token},
          {"left_out", reply.left_out},
          {"context", reply.context}};
}

// One line below an answer in the terminal.
std::string status_line(const ChatReply& reply, Index block_size) {
  const GenerateResult& result = reply.result;
  std::string text =
      fmt::format("{} tokens, {:.1f} tokens/s, context {} of {}", result.tokens.size(),
                  result.tokens_per_second(), reply.context, block_size);
  if (reply.left_out > 0) {
    text += fmt::format(", without the {} oldest messages", reply.left_out);
  }
  if (result.finish_reason == FinishReason::length) {
    text += reply.context >= block_size ? ": the context is full" : ": cut by max_new_tokens";
  } else if (result.finish_reason == FinishReason::cancelled) {
    text += ": stopped";
  }
  return has_colours(Stream::output) ? kFaintStyle + text + kStyleEnd + "\n" : text + "\n";
}

// Who reads the answers.
enum class Reader { terminal, program, json };

void answer(TerminalChat& chat, ChatSession& session, Reader reader, Index block_size) {
  is_interrupted = false;
  const auto print = [&](std::string_view piece) {
    if (reader != Reader::json) {
      print_untrusted(piece);
    }
  };
  const ChatReply reply = session.reply(
      chat.generation(), {.on_text = print, .should_stop = [] { return is_interrupted.load(); }},
      chat.hook());
  if (reader == Reader::json) {
    std::cout << json_line(json_of(reply)) << std::flush;
    return;
  }
  std::cout << "\n"
            << (reader == Reader::terminal ? status_line(reply, block_size) : "") << std::flush;
  if (reply.left_out > 0 && reader == Reader::program) {
    log_warning(concat_text("the context is full: the model did not read the ", reply.left_out,
                            " oldest messages"));
  }
}

// Errors of a message or command end the program only without a terminal.
void converse(TerminalChat& chat, ChatSession& session, Reader reader, Index block_size) {
  LineInput input;
  if (input.is_typed()) {
    let_interrupts_stop_answers();
    chat.set_confirm([&](const std::string& question) { return input.confirm(question); });
  }
  while (!chat.is_over()) {
    const std::size_t known = session.messages().size();
    try {
      const std::optional<std::string> text = input.next();
      if (!text) {
        std::cout << (input.is_typed() ? "\n" : "");
        break;
      }
      if (text->starts_with('/')) {
        const std::string result = chat.obey(*text);
        (reader == Reader::json ? std::cerr : std::cout) << result << std::flush;
      } else if (!text->empty()) {
        session.messages().push_back({"user", *text});
      }
      const bool asks = !text->empty() && (text->front() != '/' || text->starts_with("/retry"));
      if (asks && chat.waits_for_answer()) {
        answer(chat, session, reader, block_size);
      }
    } catch (const Error& error) {
      if (!input.is_typed()) {
        throw;
      }
      if (session.messages().size() > known) {
        session.messages().pop_back();  // the message that failed
      }
      log_error(error.what());
    }
  }
}

void chat_command(const Options& options) {
  TerminalChat::Settings settings{.generation = sampling_options(options)};
  settings.generation.stop = options.texts("stop");
  settings.generation.validate();
  for (const char* name : {"system", "prompt"}) {
    require_utf8(options.text(name), concat_text("--", name));
  }
  Decoding decoding(options);
  const LoadedModel loaded = load_model_with_warnings(
      options.positional(),
      {.base = base_option(options, options.positional()), .matrices = decoding.matrices()});
  settings.scores = scores_option(options, *loaded.model);
  Decoder decoder = decoding.decoder(*loaded.model);
  settings.generation.make_drafter = decoding.drafter(*loaded.tokenizer);
  ChatSession session(decoder, *loaded.tokenizer, chat_template_option(options, *loaded.tokenizer));
  TerminalChat chat(loaded, session, settings);
  if (options.given("intervene")) {
    chat.change(options.text("intervene"));
  }
  chat.set_system(options.text("system"));
  const Index block_size = loaded.model->block_size();
  const Reader reader = options.json()               ? Reader::json
                        : can_redraw(Stream::output) ? Reader::terminal
                                                     : Reader::program;
  if (options.given("prompt")) {
    session.messages().push_back({"user", options.text("prompt")});
    answer(chat, session, reader, block_size);
    return;
  }
  if (reader == Reader::terminal && is_terminal(Stream::input)) {
    std::cout << "/help lists commands, Ctrl-D ends the chat\n";
  }
  converse(chat, session, reader, block_size);
}

}  // namespace

int run_chat(const Words& words) { return run(chat_options(), words, chat_command); }

}  // namespace headlight::cli
