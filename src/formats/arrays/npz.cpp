#include "headlight/formats/arrays/npz.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string>

#include "base/strings/display_text.h"
#include "base/strings/printable.h"
#include "formats/arrays/npy_format.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/storage/file_writer.h"
#include "storage/compressed/zip_member.h"
#include "storage/input_file.h"
#include "tensor/array_source.h"
#include "tensor/float16.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::string_view kNpySuffix = ".npy";

// A list of texts in file format.
struct NpyTexts {
  explicit NpyTexts(const std::vector<std::string>& texts) {
    std::size_t width = 1;
    for (const std::string& text : texts) {
      width = std::max(width, code_points(text).size());
    }
    for (const std::string& text : texts) {
      std::u32string points = code_points(text);
      points.resize(width);
      characters += points;
    }
    header = format_npy_header({.shape = {std::ssize(texts)}, .characters = width});
  }

  std::u32string characters;
  std::string header;
};

struct Member {
  std::string name;   // without .npy
  std::string where;  // file and member, for errors
  std::size_t bytes = 0;
};

// Reads the header. The elements must fill the rest of the member exactly.
NpyHeader read_header(ZipMemberReader& reader, const Member& member) {
  const std::string& where = member.where;
  require(member.bytes >= kNpyPrefixBytes, where, ": ", member.bytes,
          " bytes are too few for a .npy array");
  std::array<std::byte, kNpyPrefixBytes> prefix{};
  reader.read(prefix);
  const std::size_t text_bytes = npy_text_bytes(prefix, where);
  const std::size_t start = kNpyPrefixBytes + text_bytes;
  require(start <= member.bytes, where, ": expected a header of ", text_bytes,
          " bytes, but the member has ", member.bytes, " bytes");
  std::string text(text_bytes, '\0');
  reader.read(std::as_writable_bytes(std::span<char>(text)));
  const NpyHeader header = parse_npy_text(text, where);
  const auto expected =
      checked_byte_count(header.shape, static_cast<Index>(header.element_bytes()));
  require(expected.has_value() && static_cast<std::size_t>(*expected) == member.bytes - start,
          where, ": ", header.half ? "float16" : name_of(header.dtype), " ", header.shape,
          " does not match its ", member.bytes - start, " bytes of data");
  return header;
}

Tensor read_elements(ZipMemberReader& reader, const NpyHeader& header, const std::string& where) {
  Tensor tensor = Tensor::empty(header.shape, header.dtype);
  if (header.half) {
    const auto read = [&](Index, std::span<std::byte> bytes) { reader.read(bytes); };
    convert_elements<std::uint16_t, float>(tensor, read, half_to_float);
  } else {
    reader.read(writable_bytes_of(tensor));
  }
  reader.expect_end();
  if (header.dtype == DType::boolean) {
    check_booleans(bytes_of(tensor), where);
  }
  return tensor;
}

// Reads a text of `width` code points, without the zeros that pad it.
std::string read_text(ZipMemberReader& reader, std::size_t width, const std::string& where) {
  std::u32string points(width, U'\0');
  reader.read(std::as_writable_bytes(std::span<char32_t>(points)));
  points.resize(points.find_last_not_of(U'\0') + 1);
  std::string text;
  for (const char32_t point : points) {
    require(point < 0xD800 || (point > 0xDFFF && point <= 0x10FFFF), where, ": ",
            static_cast<std::uint32_t>(point), " is not a valid Unicode code point");
    append_utf8(point, text);
  }
  return text;
}

std::vector<std::string> read_texts(ZipMemberReader& reader, const NpyHeader& header,
                                    const std::string& where) {
  require(header.shape.rank() == 1, where, ": strings of shape ", header.shape,
          ", expected one axis");
  std::vector<std::string> texts(static_cast<std::size_t>(header.shape[0]));
  for (std::string& text : texts) {
    text = read_text(reader, header.characters, where);
  }
  reader.expect_end();
  return texts;
}

template <class Visit>
void for_each_member(const std::filesystem::path& path, const Visit& visit) {
  auto left = static_cast<std::uint64_t>(InputFile(path).size());  // also refuses pipes and folders
  // The consistency check also refuses repeated names.
  const ZipArchive archive(path, ZIP_RDONLY | ZIP_CHECKCONS, shown(path));
  const zip_int64_t count = ::zip_get_num_entries(archive.get(), 0);
  require(count >= 0 && count <= static_cast<zip_int64_t>(kMaxTensors), shown(path), ": ", count,
          " members, at most ", kMaxTensors, " are accepted");
  for (zip_uint64_t index = 0; index < static_cast<zip_uint64_t>(count); ++index) {
    const char* file_name = ::zip_get_name(archive.get(), index, 0);
    archive.check(file_name != nullptr);
    Member member{.name = file_name, .where = shown(path) + ": member " + in_quotes(file_name)};
    require(member.name.ends_with(kNpySuffix), member.where, ": its name does not end in .npy");
    member.name.resize(member.name.size() - kNpySuffix.size());
    check_tensor_name(path, member.name);
    member.bytes = stored_bytes(archive, index, "numpy.savez", left, member.where);
    ZipMemberReader reader(archive, index, member.where);
    visit(reader, member);
  }
}

Tensor storable(const Tensor& tensor) {
  return tensor.dtype() == DType::bfloat16 ? convert(tensor, DType::float32) : tensor;
}

std::vector<ArraySource> sources_of(const NamedTensors& tensors) {
  std::vector<ArraySource> arrays;
  for (const auto& [name, tensor] : tensors) {
    arrays.push_back(source_of(name, storable(tensor)));
  }
  return arrays;
}

// Adds an array, which must live until close().
void add_array(ZipArchive& archive, const ArraySource& array, StoredFloats floats) {
  const NpyHeader header{array.dtype, array.shape, is_halved(array.dtype, floats)};
  std::string head = format_npy_header(header);
  const std::size_t size =
      head.size() + static_cast<std::size_t>(numel(array.shape)) * header.element_bytes();
  archive.add(array.name + std::string(kNpySuffix), size,
              [head = std::move(head), elements = StoredElements(array, floats),
               given = std::size_t{0}](std::span<std::byte> bytes) mutable {
                const std::size_t left = head.size() - std::min(given, head.size());
                const std::size_t count = std::min(left, bytes.size());
                std::memcpy(bytes.data(), head.data() + head.size() - left, count);
                given += count;
                elements.read(bytes.subspan(count));
              });
}

void write_members(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
                   const NamedTexts& texts, StoredFloats floats,
                   const std::function<void(double)>& progress) {
  require(floats != StoredFloats::bfloat16, shown(path), ": NumPy has no bfloat16");
  if (arrays.empty() && texts.empty()) {  // the library cannot write an empty archive
    constexpr std::size_t kOtherFieldsBytes = 18;
    return write_file(path, "PK\x05\x06" + std::string(kOtherFieldsBytes, '\0'));
  }
  replace_zip(path, [&](ZipArchive& archive) {
    for (const ArraySource& array : arrays) {
      add_array(archive, array, floats);
    }
    std::deque<NpyTexts> lists;
    for (const auto& [name, list] : texts) {
      const NpyTexts& array = lists.emplace_back(list);
      archive.add(name + std::string(kNpySuffix), std::as_bytes(std::span(array.header)),
                  std::as_bytes(std::span(array.characters)));
    }
    archive.close(progress);
  });
}

}  // namespace

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  require(tensor.defined(), shown(path), ": the tensor is undefined");
  const Tensor values = to_contiguous(storable(tensor));
  replace_file(path, [&](FileWriter& writer) {
    writer.write(format_npy_header({values.dtype(), values.shape()}));
    writer.write(bytes_of(values));
  });
}

void write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
               StoredFloats floats) {
  check_tensors(path, tensors);
  write_members(path, sources_of(tensors), {}, floats, [](double) {});
}

void write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
               const NamedTexts& texts, const std::function<void(double)>& progress) {
  NamedTensors all = tensors;  // for the check: names must differ in both lists
  for (const auto& [name, list] : texts) {
    all.emplace_back(name, Tensor::zeros({1}));
  }
  check_tensors(path, all);
  write_members(path, sources_of(tensors), texts, StoredFloats::float32, progress);
}

void write_npz(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
               StoredFloats floats) {
  for (const ArraySource& array : arrays) {
    check_tensor_name(path, array.name);
  }
  write_members(path, arrays, {}, floats, [](double) {});
}

NamedTensors read_npz(const std::filesystem::path& path, NamedTexts* texts, std::string_view only) {
  NamedTensors tensors;
  for_each_member(path, [&](ZipMemberReader& reader, const Member& member) {
    const NpyHeader header = read_header(reader, member);
    if (header.characters == 0) {
      const bool is_wanted = only.empty() || member.name == only;
      tensors.emplace_back(member.name,
                           is_wanted ? read_elements(reader, header, member.where) : Tensor());
    } else if (texts != nullptr) {
      texts->emplace_back(member.name, read_texts(reader, header, member.where));
    }
  });
  return tensors;
}

std::vector<ArrayInfo> read_npz_header(const std::filesystem::path& path) {
  std::vector<ArrayInfo> arrays;
  for_each_member(path, [&](ZipMemberReader& reader, const Member& member) {
    const NpyHeader header = read_header(reader, member);
    arrays.push_back({member.name, header.dtype, header.shape, header.characters > 0});
  });
  return arrays;
}

}  // namespace headlight
