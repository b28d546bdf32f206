#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <new>
#include <vector>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/question_command.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "course/course.h"
#include "headlight/base/error.h"
#include "headlight/runs/checkpoint.h"
#include "headlight/storage/directory_lock.h"
#include "headlight/train/trainer.h"

namespace headlight::cli {
namespace {

constexpr int kFailure = 1;
constexpr int kBadInput = 2;
constexpr int kSaveFailed = 3;
constexpr int kLocked = 4;

std::vector<Command> program_commands() {
  constexpr const char* kMake = "Make a model";
  constexpr const char* kUse = "Use it";
  constexpr const char* kLook = "Look inside";
  constexpr const char* kChange = "Change";
  std::vector<Command> all{
      {kMake, "train", "Train a model, or continue a run", run_train},
      {kMake, "tokenizer", "Learn a tokenizer; encode, decode and show text", run_tokenizer},
      {kMake, "export", "Write a model for transformers, llama.cpp or as safetensors", run_export},
      {kMake, "info", "Show parameters, memory and FLOPs of a configuration or model", run_info},
      {kMake, "compare", "Compare runs: settings, losses, speed and a chart", run_compare},
      {kUse, "generate", "Continue a text", run_generate},
      {kUse, "chat", "Talk with a model in the terminal", run_chat},
      {kUse, "serve", "Serve models over HTTP, with OpenAI's API and a web page", run_serve},
      {kUse, "page", "Write the web page with a model as one file, for browsers without Headlight",
       run_page},
      {kUse, "eval", "Measure loss, perplexity and bits per byte on a text", run_eval},
      {kLook, "attention", "Write and draw the attention patterns of a text", run_attention},
      {kLook, "heads", "Score and classify every attention head", run_heads},
      {kLook, "cache", "Write activations: residual stream, heads, neurons", run_cache}};
  const auto add = [&](std::vector<Command> commands) {
    std::ranges::move(commands, std::back_inserter(all));
  };
  add(question_commands(QuestionGroup::look, kLook));
  add(question_commands(QuestionGroup::change, kChange));
  add({{"Learn", "lab", "Run experiments that show how attention works", run_lab},
       {"Check", "gradcheck", "Compare every gradient with finite differences", run_gradcheck},
       {"Check", "bench", "Measure the speed of training, generation and their parts", run_bench}});
  return all;
}

constexpr const char* kDetails =
    "headlight COMMAND --help shows the options of a command, and examples. headlight COMMAND "
    "--help all shows all options and the JSON keys.\n\n"
    "headlight --help bash, zsh or fish writes a completion script. headlight --help man, or "
    "headlight COMMAND --help man, writes a manual page.\n\n"
    "Installed files: share/headlight/configs (presets for headlight train), "
    "share/headlight/data/toy.txt (short stories in English and Korean to train a first model on), "
    "share/headlight/page (the WebAssembly program of headlight page), "
    "share/doc/headlight/headlight.cdx.json (bill of materials, CycloneDX).";

CommandTable program_table() {
  return {.info = {.name = "",
                   .summary = "Headlight " HEADLIGHT_VERSION
                              " trains GPT-style models on a CPU, generates text, and measures and "
                              "shows attention heads.",
                   .positional = "COMMAND",
                   .details = kDetails,
                   .examples = {"headlight train configs/toy.toml",
                                "headlight generate runs/toy --prompt \"One day\" "
                                "--temperature 0.5",
                                "headlight eval runs/toy --data data/toy.txt --documents "
                                "blank_line",
                                "headlight attention runs/toy --text \"Mina lost her red kite.\"",
                                "headlight heads runs/toy"},
                   .exit_codes = "3 a run could not be saved, 4 another process uses the run "
                                 "directory, 130 interrupted at once"},
          .commands = program_commands()};
}

int dispatch(const Words& words) {
  if (words.empty()) {
    print_usage(program_table(), HelpForm::standard, std::cerr);
    return kBadInput;
  }
  if (words[0] == "--version") {
    std::cout << "headlight " HEADLIGHT_VERSION "\n";
    return 0;
  }
  return run_table(program_table(), words);
}

// Logs an exception of the command. Returns its exit code.
int report_failure(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const SaveError& error) {
    log_error(error.what());
    return kSaveFailed;
  } catch (const LockedError& error) {
    log_error(error.what());
    return kLocked;
  } catch (const DivergedError& error) {
    log_error(error.what());
    return kFailure;
  } catch (const OutOfMemory& error) {
    log_error(error.what());
    return kFailure;
  } catch (const Error& error) {
    log_error(error.what());
    return kBadInput;
  } catch (const std::filesystem::filesystem_error& error) {  // as for a name that is too long
    log_error(escaped(error.path1().string() + ": " + error.code().message()));
    return kBadInput;
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
    return kFailure;
  } catch (const std::exception& error) {
    log_error(escaped(std::string("unexpected failure: ") + error.what()));
    return kFailure;
  }
}

int guarded(const Words& words) {
  try {
    const int code = dispatch(words);
    if (!std::cout.flush().good()) {
      log_error("stdout: cannot be written");
      return kFailure;
    }
    return code;
  } catch (const PeerFailed&) {  // another process reports it
  } catch (...) {
    if (!another_rank_reports()) {
      return report_failure(std::current_exception());
    }
  }
  // A launcher ends all processes when one fails. Only the reporting process may fail, so return 0.
  return 0;
}

}  // namespace
}  // namespace headlight::cli

int main(int argc, char** argv) {
  headlight::cli::clean_up_on_signals();
  return headlight::cli::guarded({argv + std::min(argc, 1), argv + argc});
}
