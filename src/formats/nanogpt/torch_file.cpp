#include "formats/nanogpt/torch_file.h"

#include <algorithm>
#include <array>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "storage/compressed/zip_member.h"
#include "storage/input_file.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::size_t kLargestPickle = std::size_t{1} << 24;  // bytes
constexpr std::string_view kPickleName = "data.pkl";

// Throws Error for folders, pipes and files that are no zip archive. Returns the path.
const std::filesystem::path& require_archive(const std::filesystem::path& path) {
  const InputFile file(path);
  std::array<char, 2> start{};
  if (file.size() >= std::ssize(start)) {
    file.read(0, std::as_writable_bytes(std::span(start)));
  }
  require(start[0] == 'P' && start[1] == 'K', shown(path),
          ": is not a zip archive; expected a file of torch.save (PyTorch 1.6 or newer)");
  return path;
}

}  // namespace

TorchFile::TorchFile(const std::filesystem::path& path)
    : path_(path), archive_(require_archive(path), ZIP_RDONLY, shown(path)) {
  auto left = static_cast<std::uint64_t>(InputFile(path).size());
  const zip_int64_t count = ::zip_get_num_entries(archive_.get(), 0);
  require(count >= 0 && count <= static_cast<zip_int64_t>(kMaxTensors), shown(path), ": ", count,
          " members, at most ", kMaxTensors, " are accepted");
  for (zip_uint64_t index = 0; index < static_cast<zip_uint64_t>(count); ++index) {
    const char* name = ::zip_get_name(archive_.get(), index, 0);
    archive_.check(name != nullptr);
    const Member member{index, stored_bytes(archive_, index, "torch.save", left, where(name))};
    require(members_.emplace(name, member).second, where(name), ": appears twice");
    const std::string_view text = name;
    if (text.ends_with(kPickleName) && text.find('/') == text.size() - kPickleName.size() - 1) {
      require(folder_.empty(), shown(path), ": two members are named ", kPickleName);
      folder_ = text.substr(0, text.size() - kPickleName.size());
    }
  }
  require(!folder_.empty(), shown(path), ": has no ", kPickleName,
          "; expected a file of torch.save (PyTorch 1.6 or newer)");
  const std::string order = find("byteorder") == nullptr ? "little" : read_text("byteorder", 16);
  require(order == "little", shown(path), ": byteorder: expected little, got ", in_quotes(order));
}

std::string TorchFile::read_pickle() const {
  return read_text(std::string(kPickleName), kLargestPickle);
}

std::optional<Index> TorchFile::storage_bytes(const std::string& key) const {
  const Member* member = find("data/" + key);
  return member == nullptr ? std::nullopt : std::optional(static_cast<Index>(member->bytes));
}

void TorchFile::read_storage(const std::string& key, Index offset,
                             std::span<std::byte> bytes) const {
  const std::string name = "data/" + key;
  const Member& member = *find(name);
  ZipMemberReader reader(archive_, member.index, where(folder_ + name));
  const auto skip = [&reader](std::size_t count) {
    std::array<std::byte, 8192> unused;
    for (std::size_t left = count; left > 0;) {
      const std::size_t part = std::min(left, unused.size());
      reader.read(std::span(unused).first(part));
      left -= part;
    }
  };
  skip(static_cast<std::size_t>(offset));
  reader.read(bytes);
  skip(member.bytes - static_cast<std::size_t>(offset) - bytes.size());
  reader.expect_end();
}

const TorchFile::Member* TorchFile::find(const std::string& name) const {
  const auto found = members_.find(folder_ + name);
  return found == members_.end() ? nullptr : &found->second;
}

std::string TorchFile::read_text(const std::string& name, std::size_t most_bytes) const {
  const Member& member = *find(name);
  const std::string location = where(folder_ + name);
  require(member.bytes <= most_bytes, location, ": ", member.bytes, " bytes, at most ", most_bytes,
          " are accepted");
  ZipMemberReader reader(archive_, member.index, location);
  std::string text(member.bytes, '\0');
  reader.read(std::as_writable_bytes(std::span<char>(text)));
  reader.expect_end();
  return text;
}

std::string TorchFile::where(const std::string& name) const {
  return shown(path_) + ": member " + in_quotes(name);
}

}  // namespace headlight
