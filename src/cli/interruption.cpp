#include "cli/interruption.h"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "headlight/storage/unfinished.h"

namespace headlight::cli {
namespace {

// State that the handler may access. A thread removes the files: a handler must not call such
// functions.
sem_t arrived;
std::atomic<int> arrived_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void end_when_signalled() {
  while (::sem_wait(&arrived) != 0 && errno == EINTR) {
  }
  remove_unfinished();
  ::signal(arrived_signal, SIG_DFL);
  ::kill(::getpid(), arrived_signal);
}

}  // namespace

extern "C" void end_by_signal(int signal) {
  arrived_signal = signal;
  ::sem_post(&arrived);
}

void clean_up_on_signals() {
  ::sem_init(&arrived, 0, 0);
  std::thread(end_when_signalled).detach();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    struct sigaction action {};
    action.sa_handler = end_by_signal;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) {
      ::sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace headlight::cli
