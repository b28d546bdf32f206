#include <histedit.h>

#include <clocale>
#include <csignal>
#include <cstdio>

#include "cli/chat/line_editor/line_editor.h"
#include "kernels/machine/shared_library.h"

namespace headlight::cli {
namespace {

constexpr int kHistory = 500;  // lines

SharedLibrary open_libedit() { return {"headlight chat: ", HEADLIGHT_LIBEDIT}; }

// Functions of libedit. They are loaded by `headlight chat` alone: other commands start without it.
struct LibeditFunctions {
  SharedLibrary library = open_libedit();
  decltype(::el_init)* el_init = library.find("el_init");
  decltype(::el_end)* el_end = library.find("el_end");
  decltype(::el_set)* el_set = library.find("el_set");
  decltype(::el_get)* el_get = library.find("el_get");
  decltype(::el_gets)* el_gets = library.find("el_gets");
  decltype(::history)* history = library.find("history");
  decltype(::history_init)* history_init = library.find("history_init");
  decltype(::history_end)* history_end = library.find("history_end");
};

const LibeditFunctions& lib() {
  static const LibeditFunctions functions;
  return functions;
}

class Libedit final : public LineEditor {
 public:
  Libedit()
      : edit_(lib().el_init("headlight", stdin, stdout, stderr)), history_(lib().history_init()) {
    HistEvent event;
    lib().history(history_, &event, H_SETSIZE, kHistory);
    lib().history(history_, &event, H_SETUNIQUE, 1);
    lib().el_set(edit_, EL_CLIENTDATA, this);
    lib().el_set(edit_, EL_PROMPT, &Libedit::prompt);
    lib().el_set(edit_, EL_EDITOR, "emacs");
    lib().el_set(edit_, EL_HIST, lib().history, history_);
    lib().el_set(edit_, EL_SIGNAL, 1);  // restores the terminal when a signal ends the program
    lib().el_set(edit_, EL_ADDFN, "drop-line", "Drop the line", &Libedit::drop);
    lib().el_set(edit_, EL_ADDFN, "suspend", "Suspend the program", &Libedit::suspend);
    // The terminal sends Ctrl-C and Ctrl-Z as keys while a line is edited.
    lib().el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
    lib().el_set(edit_, EL_BIND, "^C", "drop-line", nullptr);
    lib().el_set(edit_, EL_BIND, "^Z", "suspend", nullptr);
    lib().el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    lib().el_set(edit_, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
  }
  ~Libedit() override {
    lib().history_end(history_);
    lib().el_end(edit_);
  }
  Libedit(const Libedit&) = delete;
  Libedit& operator=(const Libedit&) = delete;

  std::optional<TypedLine> line(const std::string& prompt) override {
    prompt_ = prompt;
    is_dropped_ = false;
    // Before the prompt, so that Ctrl-C is a key from then on.
    lib().el_set(edit_, EL_PREP_TERM, 1);
    int count = 0;
    const char* typed = lib().el_gets(edit_, &count);
    if (is_dropped_) {
      std::fputs("^C\n", stdout);
      return TypedLine{.text = "", .is_dropped = true};
    }
    if (typed == nullptr || count <= 0) {
      return std::nullopt;
    }
    TypedLine result{.text = {typed, static_cast<std::size_t>(count)}};
    while (!result.text.empty() && (result.text.back() == '\n' || result.text.back() == '\r')) {
      result.text.pop_back();
    }
    if (!result.text.empty()) {
      HistEvent event;
      lib().history(history_, &event, H_ENTER, result.text.c_str());
    }
    return result;
  }

 private:
  static Libedit& of(EditLine* edit) {
    void* self = nullptr;
    lib().el_get(edit, EL_CLIENTDATA, &self);
    return *static_cast<Libedit*>(self);
  }
  static char* prompt(EditLine* edit) { return of(edit).prompt_.data(); }
  static unsigned char drop(EditLine* edit, int) {
    of(edit).is_dropped_ = true;
    return CC_NEWLINE;
  }
  static unsigned char suspend(EditLine* edit, int) {
    lib().el_set(edit, EL_PREP_TERM, 0);
    std::raise(SIGTSTP);
    lib().el_set(edit, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
  }

  EditLine* edit_;
  History* history_;
  std::string prompt_;
  bool is_dropped_ = false;
};

}  // namespace

std::unique_ptr<LineEditor> open_line_editor() {
  if (!open_libedit().is_loaded()) {
    return nullptr;
  }
  std::setlocale(LC_CTYPE, "C.UTF-8");  // libedit reads characters of the locale
  return std::make_unique<Libedit>();
}

}  // namespace headlight::cli
