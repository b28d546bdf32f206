#include <array>
#include <filesystem>
#include <iostream>
#include <new>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "headlight/base/error.h"
#include "headlight/files/directory_lock.h"
#include "headlight/runs/checkpoint.h"
#include "headlight/train/trainer.h"

namespace headlight::cli {
namespace {

constexpr int kFailure = 1;
constexpr int kBadInput = 2;
constexpr int kSaveFailed = 3;
constexpr int kLocked = 4;

constexpr std::array kCommands{
    Command{"train", "Train a model from a configuration", run_train},
    Command{"generate", "Continue a text with a model", run_generate},
    Command{"serve", "Serve models by HTTP, with OpenAI's API", run_serve},
    Command{"attention", "Dump and draw what every attention head looks at", run_attention},
    Command{"heads", "What every attention head does: scores, verdicts, duplicates", run_heads},
    Command{"ablate", "How much the loss rises without each attention head, MLP, layer or neuron",
            run_ablate},
    Command{"importance", "Which attention heads the loss depends on, three ways", run_importance},
    Command{"prune", "Remove attention heads and write the smaller model", run_prune},
    Command{"patch", "Which heads carry the difference between two texts", run_patch},
    Command{"circuit", "Which heads and MLPs read what others write, for a task", run_circuit},
    Command{"attribute", "What every head adds to the logit of a token", run_attribute},
    Command{"lens", "What every layer would say, for every token", run_lens},
    Command{"cache", "Write what a model computes inside: residuals, heads, neurons", run_cache},
    Command{"lab", "Experiments that show how attention works, and why", run_lab},
    Command{"eval", "Loss, perplexity and bits per byte of a model on a text", run_eval},
    Command{"compare", "Runs side by side: settings, losses, speed, one chart", run_compare},
    Command{"info", "Parameters, memory and FLOPs of a configuration or model", run_info},
    Command{"tokenizer", "Learn a tokenizer; encode, decode and show text", run_tokenizer},
    Command{"export", "Write a model for transformers, nanoGPT or NumPy", run_export},
    Command{"gradcheck", "Check every gradient against finite differences", run_gradcheck},
    Command{"bench", "Measure the speed of training, generation and their parts", run_bench},
};

void print_usage(std::ostream& out) {
  out << "Headlight " HEADLIGHT_VERSION
         ": train small GPTs on a CPU, generate text, see every attention head\n\n"
         "Usage: headlight <command> [options]\n\nCommands:\n";
  print_commands(kCommands, out);
  out << "\nheadlight <command> --help tells more about each.\n\n"
         "Exit codes: 0 done, 1 failure, 2 bad input, 3 a run could not be saved,\n"
         "4 another process uses the run directory, 130 interrupted at once.\n";
}

const Command& command_of(const std::string& name) {
  return find_command(kCommands, name, "unknown command", "headlight --help");
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.size() > 1 && arguments[0] == "help") {
    return command_of(arguments[1]).run({"--help"});
  }
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    print_usage(arguments.empty() ? std::cerr : std::cout);
    return arguments.empty() ? kBadInput : 0;
  }
  if (arguments[0] == "--version") {
    std::cout << "headlight " HEADLIGHT_VERSION "\n";
    return 0;
  }
  return command_of(arguments[0]).run({arguments.begin() + 1, arguments.end()});
}

// Logs an exception of the command. Returns its exit code.
int tell(const std::exception_ptr& thrown) {
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

int guarded(const std::vector<std::string>& arguments) {
  try {
    const int code = dispatch(arguments);
    if (!std::cout.flush().good()) {
      log_error("stdout: cannot be written");
      return kFailure;
    }
    return code;
  } catch (const OthersFailed&) {  // another process reports it
  } catch (...) {
    if (!is_told_by_others()) {
      return tell(std::current_exception());
    }
  }
  // A launcher ends all processes when one fails. Only the reporting process may fail, so return 0.
  return 0;
}

}  // namespace
}  // namespace headlight::cli

int main(int argc, char** argv) {
  return headlight::cli::guarded({argv + std::min(argc, 1), argv + argc});
}
