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

// Streams the logs of training runs to clients while they grow. A run is a subfolder with a
// metrics.jsonl. Only names from names() are served, and no link leads out of the folder.
class RunFeed {
 public:
  // `folder` empty: there are no runs.
  explicit RunFeed(const std::filesystem::path& folder);
  ~RunFeed();
  RunFeed(const RunFeed&) = delete;
  RunFeed& operator=(const RunFeed&) = delete;

  // Returns at most kMostRuns names, the run written last first. Invalid UTF-8 becomes \xNN.
  std::vector<std::string> names() const;
  // Answers with server-sent events until the client goes or close(): JSON {"run", "metrics":
  // [lines], "heads": [lines], "samples": [lines]} with existing and new lines. If a log became
  // shorter, an event with "reset": true sends all logs again. Throws Error about "runs" for an
  // unknown name.
  void watch(const std::vector<std::string>& runs, std::shared_ptr<HttpExchange> exchange);
  // Ends all streams.
  void close();

  static constexpr std::size_t kMostRuns = 200;

 private:
  struct Run {
    std::string name;  // as in names()
    std::filesystem::path folder;
  };
  // Positions up to which the logs of a run have been sent.
  struct Tail {
    Run run;
    std::map<std::string, std::uintmax_t> sent;  // bytes sent, by file
  };
  struct Watcher {
    std::shared_ptr<HttpExchange> exchange;
    std::vector<Tail> tails;
  };

  std::vector<Run> latest() const;
  // Returns a log with links resolved; empty if it is missing or outside the folder.
  std::filesystem::path log_of(const std::filesystem::path& run, std::string_view log) const;
  void serve_watchers();
  // Waits briefly and adds new watchers. Returns false when the feed closes.
  bool wait_for_watchers(std::vector<Watcher>& watchers);
  void send_news(Watcher& watcher) const;
  // Returns an event with the new lines of a run's logs; empty if there are none.
  std::string news(Tail& tail) const;

  std::filesystem::path folder_;
  std::atomic<bool> closing_{false};
  // Never held while logs are read: the network thread calls watch() and close().
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watcher> arriving_;
  std::size_t watching_ = 0;
  std::thread thread_;  // started by the first watcher
};

}  // namespace headlight::serve
