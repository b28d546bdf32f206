#include "serve/run_feed.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/io/run_layout.h"
#include "serve/api_error.h"

namespace headlight::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr std::uintmax_t kMostOfAPast{16U << 20U};  // bytes of a long log: the latest ones
constexpr std::uintmax_t kMostAtOnce{4U << 20U};
constexpr std::size_t kMostWatchers = 64;
constexpr std::string_view kLogs[] = {kRunMetrics, kRunHeads, kRunSamples};

// "metrics" of "metrics.jsonl".
std::string member_of(std::string_view log) { return std::string(log.substr(0, log.find('.'))); }

std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// Complete lines behind `begin`, which moves to their end; those that are no JSON are left out.
Json lines_behind(const fs::path& file, std::uintmax_t& begin) {
  Json lines = Json::array();
  std::ifstream in(file, std::ios::binary);
  std::string text(std::min(size_of(file) - begin, kMostAtOnce), '\0');
  in.seekg(static_cast<std::streamoff>(begin));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    // The first line of a long log may be cut, and a full disk leaves a part of one.
    if (auto line = try_parse_json(std::string_view(text).substr(at, end - at))) {
      lines.push_back(std::move(*line));
    }
  }
  begin += at;
  return lines;
}

}  // namespace

RunFeed::~RunFeed() {
  close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::vector<std::string> RunFeed::names() const {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code other;
    const auto time = fs::last_write_time(entry->path() / kRunMetrics, other);
    if (!other) {
      found.emplace_back(time, entry->path().filename().string());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(found.size(), kMostRuns); ++i) {
    names.push_back(std::move(found[i].second));
  }
  return names;
}

void RunFeed::watch(const std::vector<std::string>& runs, std::shared_ptr<HttpExchange> exchange) {
  const std::vector<std::string> known = names();
  Watcher watcher{.exchange = std::move(exchange), .tails = {}};
  for (const std::string& run : runs) {
    require_value(std::find(known.begin(), known.end(), run) != known.end(), "runs",
                  "there is no run '", escaped(run), "'; see /api/runs");
    Tail tail{.run = run, .told = {}};
    for (const std::string_view log : kLogs) {
      const std::uintmax_t size = size_of(folder_ / run / log);
      tail.told[std::string(log)] = size - std::min(size, kMostOfAPast);
    }
    watcher.tails.push_back(std::move(tail));
  }
  const std::lock_guard lock(mutex_);
  if (closing_ || watchers_.size() >= kMostWatchers) {
    throw ApiError(closing_ ? 503 : 429, "",
                   closing_ ? "the server ends" : "too many watch already");
  }
  watchers_.push_back(std::move(watcher));
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve_watchers(); });
  }
  changed_.notify_one();
}

void RunFeed::close() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  changed_.notify_one();
}

std::string RunFeed::news(Tail& tail) const {
  Json event{{"run", tail.run}};
  bool is_news = false;
  for (auto& [log, told] : tail.told) {
    const fs::path file = folder_ / tail.run / log;
    const std::uintmax_t size = size_of(file);
    if (size < told) {
      told = 0;
      event["reset"] = true;
    }
    Json lines = size > told ? lines_behind(file, told) : Json::array();
    is_news = is_news || lines.size() > 0 || event.contains("reset");
    event[member_of(log)] = std::move(lines);
  }
  return is_news ? "data: " + event.dump() + "\n\n" : "";
}

void RunFeed::serve_watchers() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.exchange->gone(); });
    for (Watcher& watcher : watchers_) {
      if (!std::exchange(watcher.begun, true)) {
        watcher.exchange->begin(
            {.status = 200, .headers = {{"Content-Type", "text/event-stream"}}, .body = ":\n\n"});
      }
      for (Tail& tail : watcher.tails) {
        for (std::string event; !(event = news(tail)).empty();) {
          watcher.exchange->write(std::move(event));
        }
      }
    }
    changed_.wait_for(lock, kBetweenLooks);
  }
  for (Watcher& watcher : watchers_) {
    watcher.exchange->end();
  }
  watchers_.clear();
}

}  // namespace headlight::serve
