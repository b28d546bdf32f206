#include "fuzz/harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace headlight::fuzz {
namespace {

constexpr std::size_t kLongestMessage = 2000;  // bytes

bool is_control(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x20 || byte == 0x7F;
}

}  // namespace

void demand(bool condition, const std::string& finding) {
  if (!condition) {
    throw std::logic_error(finding);
  }
}

void demand_good_message(std::string_view message) {
  demand(!message.empty(), "an Error says nothing");
  demand(message.size() <= kLongestMessage,
         "an Error has " + std::to_string(message.size()) + " bytes");
  demand(std::none_of(message.begin(), message.end(), is_control),
         "an Error holds control characters: " + std::string(message));
}

MemoryFile::MemoryFile()
    : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  demand(descriptor_ >= 0, "cannot make a file in memory");
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

void MemoryFile::write(std::string_view bytes) const {
  const bool emptied = ::ftruncate(descriptor_, 0) == 0;
  const auto written = ::pwrite(descriptor_, bytes.data(), bytes.size(), 0);
  demand(emptied && written == static_cast<ssize_t>(bytes.size()), "cannot write into memory");
}

Folder::Folder() {
  const bool shared = ::access("/dev/shm", W_OK) == 0;
  const std::filesystem::path parent = shared ? "/dev/shm" : std::filesystem::temp_directory_path();
  std::string pattern = (parent / "headlight_fuzz_XXXXXX").string();
  demand(::mkdtemp(pattern.data()) != nullptr, "cannot make " + pattern);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, std::string_view bytes) const {
  std::ofstream out(path_ / name, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  demand(out.good(), "cannot write " + name);
}

unsigned take_byte(std::string_view& input) {
  if (input.empty()) {
    return 0;
  }
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte;
}

std::string_view take_text(std::string_view& input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(0, end);
  input.remove_prefix(std::min(end + 1, input.size()));
  return text;
}

}  // namespace headlight::fuzz
