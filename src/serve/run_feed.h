#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "serve/http/http.h"

namespace headlight::serve {

// The training runs in a folder, told to those who watch as their logs grow. A run is a folder with
// a metrics.jsonl; only names that names() gives lead to files, and no link leads out of the
// folder.
class RunFeed {
 public:
  // Empty: there are no runs.
  explicit RunFeed(const std::filesystem::path& folder);
  ~RunFeed();
  RunFeed(const RunFeed&) = delete;
  RunFeed& operator=(const RunFeed&) = delete;

  // The run that wrote last comes first; at most kMostRuns. Bytes that are no UTF-8 are \xNN.
  std::vector<std::string> names() const;
  // Answers with server-sent events until the client goes or close(): JSON {"run", "metrics":
  // [lines], "heads": [lines], "samples": [lines]} for what its logs hold and what comes to them,
  // and with "reset": true all of it anew when one became shorter. Throws Error about "runs" for a
  // name that is none.
  void watch(const std::vector<std::string>& runs, std::shared_ptr<HttpExchange> exchange);
  // Ends all streams.
  void close();

  static constexpr std::size_t kMostRuns = 200;

 private:
  // How far a run's logs have been told.
  struct Tail {
    std::string run;  // as names() has it
    std::filesystem::path folder;
    std::map<std::string, std::uintmax_t> told;  // bytes, by file
  };
  struct Watcher {
    std::shared_ptr<HttpExchange> exchange;
    std::vector<Tail> tails;
  };

  // The folders that names() names.
  std::vector<std::filesystem::path> latest() const;
  // Without links. Empty: there is none in the folder.
  std::filesystem::path log_of(const std::filesystem::path& run, std::string_view log) const;
  void serve_watchers();
  // Waits a little, and takes in those who have come. False: the feed closes.
  bool wait_for_watchers(std::vector<Watcher>& watchers);
  void tell(Watcher& watcher) const;
  // The event about what is new, with a line for each; empty: nothing is.
  std::string news(Tail& tail) const;

  std::filesystem::path folder_;
  std::atomic<bool> closing_{false};
  // Never held while logs are read: who calls watch() and close() speaks with all clients.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watcher> arriving_;
  std::size_t watching_ = 0;
  std::thread thread_;  // from the first watcher on
};

}  // namespace headlight::serve
