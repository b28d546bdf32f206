#include "serve/run_feed.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <utility>

#include "base/strings/hex_text.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/run_layout.h"
#include "serve/api_error.h"

namespace headlight::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPollInterval{500};
constexpr std::uintmax_t kMostOfAPast{16U << 20U};  // sent of an existing log, the latest bytes
constexpr std::uintmax_t kMostAtOnce{4U << 20U};
constexpr std::size_t kMostWatchers = 64;
constexpr std::string_view kLogs[] = {kRunMetrics, kRunHeads, kRunSamples};

// Returns "metrics" for "metrics.jsonl".
std::string member_of(std::string_view log) { return std::string(log.substr(0, log.find('.'))); }

// Returns 0 for a missing file.
std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// Returns a folder's name as valid UTF-8, which JSON requires.
std::string shown_name(const std::string& name) {
  if (valid_utf8_prefix(name) == name.size()) {
    return name;
  }
  std::string shown;
  for (const char byte : name) {
    const unsigned char number[] = {static_cast<unsigned char>(byte)};
    shown += number[0] < 0x80 ? std::string(1, byte) : "\\x" + hex_text(number);
  }
  return shown;
}

std::uintmax_t begin_of_past(std::uintmax_t size) { return size - std::min(size, kMostOfAPast); }

// Returns the complete lines after `begin`, and moves `begin` to their end. Skips lines that are
// not JSON or exceed kMostAtOnce: the rest of a cut JSON line is not JSON.
Json lines_behind(const fs::path& file, std::uintmax_t& begin) {
  Json lines = Json::array();
  std::ifstream in(file, std::ios::binary);
  std::string text(std::min(size_of(file) - begin, kMostAtOnce), '\0');
  in.seekg(static_cast<std::streamoff>(begin));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    // Lines may be incomplete: the first of a long log, or one written to a full disk.
    if (auto line = try_parse_json(std::string_view(text).substr(at, end - at))) {
      lines.push_back(std::move(*line));
    }
  }
  begin += at == 0 && text.size() == kMostAtOnce ? kMostAtOnce : at;
  return lines;
}

}  // namespace

RunFeed::RunFeed(const fs::path& folder) {
  std::error_code error;
  folder_ = fs::weakly_canonical(folder, error);
}

RunFeed::~RunFeed() {
  close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

fs::path RunFeed::log_of(const fs::path& run, std::string_view log) const {
  std::error_code error;
  const fs::path file = fs::canonical(run / log, error);
  const auto end = std::mismatch(folder_.begin(), folder_.end(), file.begin(), file.end()).first;
  return !error && end == folder_.end() ? file : fs::path();
}

std::vector<RunFeed::Run> RunFeed::latest() const {
  std::set<std::pair<fs::file_time_type, fs::path>, std::greater<>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code other;
    const auto time = fs::last_write_time(log_of(entry->path(), kRunMetrics), other);
    if (!other) {
      found.emplace(time, entry->path());
    }
  }
  std::vector<Run> runs;
  for (auto run = found.begin(); run != found.end() && runs.size() < kMostRuns; ++run) {
    runs.push_back({shown_name(run->second.filename().string()), run->second});
  }
  return runs;
}

std::vector<std::string> RunFeed::names() const {
  std::vector<std::string> names;
  for (const Run& run : latest()) {
    names.push_back(run.name);
  }
  return names;
}

void RunFeed::watch(const std::vector<std::string>& runs, std::shared_ptr<HttpExchange> exchange) {
  const std::vector<Run> known = latest();
  Watcher watcher{.exchange = std::move(exchange), .tails = {}};
  for (const std::string& name : runs) {
    const auto run = std::ranges::find(known, name, &Run::name);
    require_value(run != known.end(), "runs", "there is no run '", escaped(name),
                  "'; see /api/runs");
    Tail tail{.run = *run, .sent = {}};
    for (const std::string_view log : kLogs) {
      tail.sent[std::string(log)] = begin_of_past(size_of(log_of(run->folder, log)));
    }
    watcher.tails.push_back(std::move(tail));
  }
  const std::lock_guard lock(mutex_);
  if (closing_ || watching_ + arriving_.size() >= kMostWatchers) {
    throw ApiError(
        closing_ ? 503 : 429, "",
        closing_ ? "the server is shutting down" : "too many clients are watching already");
  }
  arriving_.push_back(std::move(watcher));
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve_watchers(); });
  }
  changed_.notify_one();
}

void RunFeed::close() {
  closing_ = true;
  const std::lock_guard lock(mutex_);
  changed_.notify_one();
}

std::string RunFeed::news(Tail& tail) const {
  Json event{{"run", tail.run.name}};
  const auto size_of_log = [&](const std::string& log) {
    return size_of(log_of(tail.run.folder, log));
  };
  const bool was_cut = std::ranges::any_of(
      tail.sent, [&](const auto& log) { return size_of_log(log.first) < log.second; });
  if (was_cut) {  // clients drop all logs of the run
    event["reset"] = true;
    for (auto& [log, sent] : tail.sent) {
      sent = begin_of_past(size_of_log(log));
    }
  }
  bool is_news = was_cut;
  for (auto& [log, sent] : tail.sent) {
    const bool has_grown = size_of_log(log) > sent;
    Json lines = has_grown ? lines_behind(log_of(tail.run.folder, log), sent) : Json::array();
    is_news = is_news || lines.size() > 0;
    event[member_of(log)] = std::move(lines);
  }
  return is_news ? "data: " + event.dump() + "\n\n" : "";
}

void RunFeed::send_news(Watcher& watcher) const {
  for (Tail& tail : watcher.tails) {
    std::string event;
    while (!closing_ && !watcher.exchange->disconnected() && !(event = news(tail)).empty()) {
      watcher.exchange->write(std::move(event));
    }
  }
}

// Calls from two threads have no order, so this thread also begins the streams that it writes.
bool RunFeed::wait_for_watchers(std::vector<Watcher>& watchers) {
  std::unique_lock lock(mutex_);
  watching_ = watchers.size();
  changed_.wait_for(lock, kPollInterval, [this] { return closing_ || !arriving_.empty(); });
  for (Watcher& watcher : std::exchange(arriving_, {})) {
    watcher.exchange->begin(
        {.status = 200, .headers = {{"Content-Type", "text/event-stream"}}, .body = ":\n\n"});
    watchers.push_back(std::move(watcher));
  }
  watching_ = watchers.size();
  return !closing_;
}

void RunFeed::serve_watchers() {
  std::vector<Watcher> watchers;
  while (wait_for_watchers(watchers)) {
    std::erase_if(watchers,
                  [](const Watcher& watcher) { return watcher.exchange->disconnected(); });
    for (Watcher& watcher : watchers) {
      send_news(watcher);
    }
  }
  for (Watcher& watcher : watchers) {
    watcher.exchange->end();
  }
}

}  // namespace headlight::serve
