#include <histedit.h>

#include <clocale>
#include <csignal>
#include <cstdio>

#include "cli/chat/line_editor/line_editor.h"

namespace headlight::cli {
namespace {

constexpr int kHistory = 500;  // lines

class Libedit final : public LineEditor {
 public:
  Libedit() : edit_(el_init("headlight", stdin, stdout, stderr)), history_(history_init()) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistory);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &Libedit::prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_SIGNAL, 1);  // restores the terminal when a signal ends the program
    el_set(edit_, EL_ADDFN, "drop-line", "Drop the line", &Libedit::drop);
    el_set(edit_, EL_ADDFN, "suspend", "Suspend the program", &Libedit::suspend);
    // The terminal sends Ctrl-C and Ctrl-Z as keys while a line is edited.
    el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(edit_, EL_BIND, "^C", "drop-line", nullptr);
    el_set(edit_, EL_BIND, "^Z", "suspend", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(edit_, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
  }
  ~Libedit() override {
    history_end(history_);
    el_end(edit_);
  }
  Libedit(const Libedit&) = delete;
  Libedit& operator=(const Libedit&) = delete;

  std::optional<TypedLine> line(const std::string& prompt) override {
    prompt_ = prompt;
    is_dropped_ = false;
    el_set(edit_, EL_PREP_TERM, 1);  // before the prompt, so that Ctrl-C is a key from then on
    int count = 0;
    const char* typed = el_gets(edit_, &count);
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
      history(history_, &event, H_ENTER, result.text.c_str());
    }
    return result;
  }

 private:
  static Libedit& of(EditLine* edit) {
    void* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return *static_cast<Libedit*>(self);
  }
  static char* prompt(EditLine* edit) { return of(edit).prompt_.data(); }
  static unsigned char drop(EditLine* edit, int) {
    of(edit).is_dropped_ = true;
    return CC_NEWLINE;
  }
  static unsigned char suspend(EditLine* edit, int) {
    el_set(edit, EL_PREP_TERM, 0);
    std::raise(SIGTSTP);
    el_set(edit, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
  }

  EditLine* edit_;
  History* history_;
  std::string prompt_;
  bool is_dropped_ = false;
};

}  // namespace

std::unique_ptr<LineEditor> open_line_editor() {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // libedit reads characters of the locale
  return std::make_unique<Libedit>();
}

}  // namespace headlight::cli
