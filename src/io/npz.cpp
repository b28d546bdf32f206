#include "headlight/io/npz.h"

#include <unistd.h>
#include <zip.h>

#include <array>
#include <deque>
#include <string>

#include "headlight/io/file_writer.h"
#include "headlight/tensor/error.h"
#include "io/input_file.h"
#include "io/npy_format.h"
#include "io/posix_file.h"
#include "io/tensor_file.h"
#include "text/printable.h"

namespace headlight {
namespace {

constexpr std::string_view kSuffix = ".npy";

// One array as it goes into a file.
struct NpyArray {
  explicit NpyArray(const Tensor& tensor)
      : values(to_contiguous(
            convert(tensor, tensor.dtype() == DType::bfloat16 ? DType::float32 : tensor.dtype()))),
        header(format_npy_header({values.dtype(), values.shape()})) {}

  Tensor values;
  std::string header;
};

std::string zip_error_text(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// An open zip archive; `shown_as` is its name in errors.
class ZipArchive {
 public:
  ZipArchive(const std::filesystem::path& path, int flags, std::string shown_as)
      : shown_as_(std::move(shown_as)) {
    int code = 0;
    archive_ = ::zip_open(path.c_str(), flags, &code);
    require(archive_ != nullptr, shown_as_, ": ", zip_error_text(code));
  }
  ~ZipArchive() {
    if (archive_ != nullptr) {
      ::zip_discard(archive_);
    }
  }
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  zip_t* get() const { return archive_; }
  const std::string& shown_as() const { return shown_as_; }

  // Throws Error with the archive's own reason unless `good`.
  void check(bool good) const { require(good, shown_as_, ": ", ::zip_strerror(archive_)); }

  // Writes what was added.
  void close() {
    check(::zip_close(archive_) == 0);
    archive_ = nullptr;
  }

 private:
  std::string shown_as_;
  zip_t* archive_ = nullptr;
};

// Adds NAME.npy; `array` must live until the archive is closed.
void add_member(const ZipArchive& archive, const std::string& name, const NpyArray& array) {
  const std::span<const std::byte> values = bytes_of(array.values);
  // The library's fragments point to mutable bytes, but it only reads them.
  std::array<zip_buffer_fragment_t, 2> fragments{};
  fragments[0].data = reinterpret_cast<zip_uint8_t*>(const_cast<char*>(array.header.data()));
  fragments[0].length = array.header.size();
  fragments[1].data = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(values.data()));
  fragments[1].length = values.size();
  zip_source_t* source =
      ::zip_source_buffer_fragment(archive.get(), fragments.data(), fragments.size(), 0);
  archive.check(source != nullptr);
  const std::string member = name + std::string(kSuffix);
  const zip_int64_t added = ::zip_file_add(archive.get(), member.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (added < 0) {
    ::zip_source_free(source);
    fail(archive.shown_as(), ": member ", in_quotes(member), ": ", ::zip_strerror(archive.get()));
  }
  const auto index = static_cast<zip_uint64_t>(added);
  constexpr zip_uint16_t kMidnight = 0;
  constexpr zip_uint16_t kFirstOfJanuary1980 = (1U << 5) | 1U;
  archive.check(::zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) == 0);
  archive.check(::zip_file_set_dostime(archive.get(), index, kMidnight, kFirstOfJanuary1980, 0) ==
                0);
}

// Removes a file unless it has been moved away.
struct TemporaryFile {
  std::filesystem::path path;
  ~TemporaryFile() { ::unlink(path.c_str()); }
};

// Reads the bytes of one member in order.
class MemberReader {
 public:
  MemberReader(const ZipArchive& archive, zip_uint64_t index, std::string where)
      : where_(std::move(where)), file_(::zip_fopen_index(archive.get(), index, 0)) {
    archive.check(file_ != nullptr);
  }
  ~MemberReader() { ::zip_fclose(file_); }
  MemberReader(const MemberReader&) = delete;
  MemberReader& operator=(const MemberReader&) = delete;

  void read(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const zip_int64_t count = ::zip_fread(file_, bytes.data(), bytes.size());
      require(count > 0, where_, ": ", count < 0 ? reason() : "ends early");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  // The library compares the checksum when it meets the end.
  void expect_end() {
    std::byte beyond{};
    const zip_int64_t count = ::zip_fread(file_, &beyond, 1);
    require(count == 0, where_, ": ", count < 0 ? reason() : "is longer than it says");
  }

 private:
  std::string reason() const { return ::zip_error_strerror(::zip_file_get_error(file_)); }

  std::string where_;
  zip_file_t* file_;
};

// Bytes of a stored member; `left`, the bytes of the file that no member has taken yet, shrinks.
std::size_t member_bytes(const ZipArchive& archive, zip_uint64_t index, std::uint64_t& left,
                         const std::string& where) {
  zip_stat_t status;
  ::zip_stat_init(&status);
  archive.check(::zip_stat_index(archive.get(), index, 0, &status) == 0);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  require((status.valid & kNeeded) == kNeeded, where, ": incomplete entry");
  require(status.comp_method == ZIP_CM_STORE && status.encryption_method == ZIP_EM_NONE, where,
          ": compressed or encrypted members are not supported");
  require(status.size == status.comp_size && status.size <= left, where, ": ", status.size,
          " bytes do not fit the file");
  left -= status.size;
  return status.size;
}

Tensor read_member(MemberReader& reader, std::size_t bytes, const std::string& where) {
  require(bytes >= kNpyPrefixBytes, where, ": ", bytes, " bytes are too few");
  std::array<std::byte, kNpyPrefixBytes> prefix{};
  reader.read(prefix);
  const std::size_t text_bytes = npy_text_bytes(prefix, where);
  const std::size_t start = kNpyPrefixBytes + text_bytes;
  require(start <= bytes, where, ": header of ", text_bytes, " bytes in ", bytes);
  std::string text(text_bytes, '\0');
  reader.read(std::as_writable_bytes(std::span<char>(text)));
  const NpyHeader header = parse_npy_text(text, where);
  const auto expected =
      checked_byte_count(header.shape, static_cast<Index>(element_size(header.dtype)));
  require(expected.has_value() && static_cast<std::size_t>(*expected) == bytes - start, where, ": ",
          header.dtype, " ", header.shape, " does not take the ", bytes - start,
          " bytes there are");
  Tensor tensor = Tensor::empty(header.shape, header.dtype);
  reader.read(writable_bytes_of(tensor));
  reader.expect_end();
  if (header.dtype == DType::boolean) {
    check_booleans(bytes_of(tensor), where);
  }
  return tensor;
}

}  // namespace

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  require(tensor.defined(), shown(path), ": the tensor is undefined");
  const NpyArray array(tensor);
  replace_file(path, [&](FileWriter& writer) {
    writer.write(array.header);
    writer.write(bytes_of(array.values));
  });
}

void write_npz(const std::filesystem::path& path, const NamedTensors& tensors) {
  check_tensors(path, tensors);
  if (tensors.empty()) {  // the library writes no file then
    constexpr std::size_t kOtherFieldsBytes = 18;
    return write_file(path, "PK\x05\x06" + std::string(kOtherFieldsBytes, '\0'));
  }
  const TemporaryFile temporary{temporary_path(path)};
  ::unlink(temporary.path.c_str());  // left by a killed process that had the same number
  std::deque<NpyArray> arrays;
  ZipArchive archive(temporary.path, ZIP_CREATE | ZIP_EXCL, shown(path));
  for (const auto& [name, tensor] : tensors) {
    add_member(archive, name, arrays.emplace_back(tensor));
  }
  archive.close();
  sync_file(temporary.path);
  move_into_place(temporary.path, path);
}

NamedTensors read_npz(const std::filesystem::path& path) {
  auto left = static_cast<std::uint64_t>(InputFile(path).size());  // also refuses pipes and folders
  // The consistency check also refuses repeated names.
  const ZipArchive archive(path, ZIP_RDONLY | ZIP_CHECKCONS, shown(path));
  const zip_int64_t count = ::zip_get_num_entries(archive.get(), 0);
  require(count >= 0 && count <= static_cast<zip_int64_t>(kMaxTensors), shown(path), ": ", count,
          " members, at most ", kMaxTensors, " are accepted");
  NamedTensors tensors;
  for (zip_uint64_t index = 0; index < static_cast<zip_uint64_t>(count); ++index) {
    const char* member = ::zip_get_name(archive.get(), index, 0);
    archive.check(member != nullptr);
    std::string name = member;
    const std::string where = shown(path) + ": member " + in_quotes(name);
    require(name.ends_with(kSuffix), where, ": its name does not end in .npy");
    name.resize(name.size() - kSuffix.size());
    check_tensor_name(path, name);
    const std::size_t bytes = member_bytes(archive, index, left, where);
    MemberReader reader(archive, index, where);
    tensors.emplace_back(name, read_member(reader, bytes, where));
  }
  return tensors;
}

}  // namespace headlight
