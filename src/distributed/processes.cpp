#include "headlight/distributed/processes.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace headlight {
namespace {

class OneProcess : public Processes {
 public:
  Index rank() const override { return 0; }
  Index count() const override { return 1; }
  void exchange_runs(Index partner, std::span<const std::span<const std::byte>>,
                     std::span<const std::span<std::byte>>) override {
    fail("[Processes] there is no process ", partner);
  }
  bool give_up() noexcept override { return false; }
};

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::span<std::byte> bytes_to(T& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace

Processes& alone() {
  static OneProcess process;
  return process;
}

std::vector<std::string> gather_texts(Processes& processes, const std::string& local) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // limit of bytes per process
  const auto count = static_cast<std::size_t>(processes.count());
  const auto rank = static_cast<std::size_t>(processes.rank());
  std::vector<std::string> texts(count);
  texts[rank] = local;
  for (std::size_t distance = 1; distance < count; distance *= 2) {
    // All processes of a group have the texts of their group; partner groups now swap.
    const std::size_t own = rank & ~(distance - 1);
    const std::size_t other = own ^ distance;
    std::vector<std::uint64_t> sent(distance);
    std::vector<std::uint64_t> lengths(distance);
    std::string joined;
    for (std::size_t i = 0; i < distance; ++i) {
      sent[i] = texts[own + i].size();
      joined += texts[own + i];
    }
    const auto partner = static_cast<Index>(rank ^ distance);
    processes.exchange(partner, bytes_of(sent), bytes_to(lengths));
    std::uint64_t total = 0;
    for (const std::uint64_t length : lengths) {
      require(length <= kMost, "[gather_texts] process ", partner, " sends ", length, " bytes");
      total += length;
    }
    std::string arrived(total, '\0');
    processes.exchange(partner, bytes_of(joined), bytes_to(arrived));
    std::size_t begin = 0;
    for (std::size_t i = 0; i < distance; ++i) {
      texts[other + i] = arrived.substr(begin, lengths[i]);
      begin += lengths[i];
    }
  }
  return texts;
}

void add_across(Processes& processes, std::span<double> numbers) {
  std::vector<double> received(numbers.size());
  for (Index distance = 1; distance < processes.count(); distance *= 2) {
    processes.exchange(processes.rank() ^ distance, std::as_bytes(numbers), bytes_to(received));
    for (std::size_t i = 0; i < received.size(); ++i) {
      numbers[i] += received[i];
    }
  }
}

bool is_true_in_any(Processes& processes, bool local) {
  std::array votes{local ? 1.0 : 0.0};
  add_across(processes, votes);
  return votes[0] > 0;
}

bool decided_by_leader(Processes& processes, bool local) {
  return is_true_in_any(processes, processes.leads() && local);
}

void fail_together(Processes& processes, const std::exception_ptr& local) {
  bool peers_unreachable = false;
  try {
    if (local != nullptr) {
      std::rethrow_exception(local);
    }
  } catch (const PeerFailed&) {
    peers_unreachable = true;  // the others cannot receive any more
  } catch (...) {
  }
  if (processes.count() > 1 && !peers_unreachable) {
    const std::vector<std::string> failed =
        gather_texts(processes, local == nullptr ? "" : "failed");
    const auto first = std::find(failed.begin(), failed.end(), "failed");
    if (first == failed.end()) {
      return;
    }
    if (const Index reporter = first - failed.begin(); reporter != processes.rank()) {
      throw PeerFailed(concat_text("process ", reporter, " has failed"));
    }
  }
  if (local != nullptr) {
    std::rethrow_exception(local);
  }
}

}  // namespace headlight
