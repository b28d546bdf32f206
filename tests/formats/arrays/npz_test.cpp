#include <sys/stat.h>
#include <unistd.h>

#include "formats/arrays/npy_format.h"
#include "fuzz/stored_archive.h"
#include "support/programs/session.h"
#include "support/rows.h"
#include "support/test.h"

// Returns a header line as NumPy writes it.
std::string npy_text(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n";
}

std::string text_error(const std::string& text) {
  return error_of([&] { parse_npy_text(text, "a.npz"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  require(from.size() == to.size(), "lengths differ");
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string read_error(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.npz", bytes);
  return error_of([&] { read_npz(folder / "a.npz"); });
}

// Returns an archive of one stored member "a.npy" and a correct checksum, without the library.
std::string archive_of(const std::string& content) {
  return fuzz::stored_archive({{"a.npy", content}});
}

std::string npz_bytes(const NamedTensors& tensors) {
  const TemporaryFolder folder;
  write_npz(folder / "a.npz", tensors);
  CHECK(folder.names() == std::vector<std::string>{"a.npz"});
  return file_contents(folder / "a.npz");
}

// Sets one byte in both headers of the only member, at the given offsets. The local header begins
// the file; the central one begins with PK 01 02.
std::string with_field(std::string bytes, std::size_t local, std::size_t central, char value) {
  const std::size_t directory = bytes.find("PK\x01\x02");
  require(directory != std::string::npos, "no central directory");
  bytes[local] = value;
  bytes[directory + central] = value;
  return bytes;
}

TEST_CASE("a tiny npy file has the expected bytes") {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", Tensor::from<float>({1.0F, -2.0F}, {2}));
  CHECK(file_contents(folder / "a.npy") ==
        std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" + std::string(60, ' ') +
            "\n" + std::string("\0\0\x80\x3F\0\0\0\xC0", 8));
}

TEST_CASE("npy headers spell types and tuples as NumPy does and align the data to 64 bytes") {
  const auto header = [](DType dtype, const Shape& shape) {
    return format_npy_header({dtype, shape});
  };
  CHECK(contains(header(DType::float64, {}),
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"));
  CHECK(contains(header(DType::int32, {5}),
                 "{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }"));
  check_parts(header(DType::boolean, {2, 0, 3}), {"'descr': '|b1'", "'shape': (2, 0, 3), }"});
  CHECK_THROWS_AS(header(DType::bfloat16, {1}), Error);
  for (Index size = 1; size < 1000000000000; size *= 10) {
    const std::string text = header(DType::float32, {size, size, 1});
    CHECK(text.size() % 64 == 0);
    CHECK(text.back() == '\n');
    CHECK(static_cast<unsigned char>(text[8]) + 10U == text.size());
  }
}

TEST_CASE("writing an npz file tells the written share and has one temporary folder") {
  const TemporaryFolder folder;
  std::vector<double> shares;
  std::vector<std::string> names;
  write_npz(folder / "a.npz", {{"a", Tensor::zeros({1000})}, {"b", Tensor::zeros({3000})}},
            {{"names", {"x"}}}, [&](double share) {
              shares.push_back(share);
              names = shares.size() == 2 ? folder.names() : names;
            });
  REQUIRE(shares.size() > 2);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares[1] < 0.9);
  CHECK(shares.back() == 1);
  // An interruption removes this folder, with all that libzip writes.
  CHECK(names == std::vector<std::string>{"a.npz.tmp." + std::to_string(::getpid())});
  CHECK(folder.names() == std::vector<std::string>{"a.npz"});
}

TEST_CASE("an npz file does not replace a folder or a pipe") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const fs::path& path : {folder / "pipe", folder / "."}) {
    CHECK_THROWS_WITH(write_npz(path, {{"a", Tensor::arange(3)}}),
                      path.string() + ": not a regular file");
  }
  CHECK(fs::is_fifo(folder / "pipe"));
}

TEST_CASE("npz members are stored, dated 1980-01-01, and the same tensors give the same bytes") {
  const NamedTensors tensors{{"a", Tensor::arange(3)}, {"b", Tensor::scalar(2)}};
  const std::string bytes = npz_bytes(tensors);
  CHECK(bytes == npz_bytes(tensors));
  CHECK(bytes.substr(0, 4) == "PK\x03\x04");
  CHECK(bytes.substr(8, 2) == std::string("\0\0", 2));         // method: stored
  CHECK(bytes.substr(10, 4) == std::string("\0\0\x21\0", 4));  // midnight, first of January 1980
  CHECK(bytes.substr(30, 5) == "a.npy");
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", tensors[0].second);
  CHECK(contains(bytes, file_contents(folder / "a.npy")));
}

TEST_CASE("unusable names and tensors are not written into an archive") {
  const TemporaryFolder folder;
  const auto error = [&](const NamedTensors& tensors) {
    return error_of([&] { write_npz(folder / "a.npz", tensors); });
  };
  const Tensor one = Tensor::scalar(1);
  CHECK(contains(error({{"../a", one}}), "is not usable as a file name"));
  CHECK(contains(error({{"a", one}, {"a", one}}), "two tensors are named 'a'"));
  CHECK(contains(error({{"a", Tensor()}}), "tensor 'a' is undefined"));
  CHECK(contains(error({{"a\xFF", one}}), "Invalid argument"));
  check_error([&] { write_npy(folder / "a.npy", Tensor()); }, {"undefined"});
  check_error([&] { write_npz(folder / "none" / "a.npz", {{"a", one}}); }, {"No such file"});
  CHECK(folder.names().empty());
}

TEST_CASE("float32 is written and read as float16 on request") {
  const TemporaryFolder folder;
  const std::vector<float> values{0.0F, -0.0F, 1.0F, 1.0F + 0x1p-11F, 65504.0F, 65520.0F, 0x1p-24F};
  std::vector<float> many(20000);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<float>(i % 2048);
  }
  write_npz(folder / "a.npz",
            {{"some", Tensor::from(values, {7})},
             {"many", Tensor::from(many, {100, 200})},
             {"none", Tensor::empty({0, 3})},
             {"ids", Tensor::arange(3)}},
            StoredFloats::float16);
  CHECK(contains(file_contents(folder / "a.npz"),
                 "{'descr': '<f2', 'fortran_order': False, 'shape': (7,), }"));
  const NamedTensors read = read_npz(folder / "a.npz");
  CHECK(read[0].second.dtype() == DType::float32);
  CHECK(read[0].second.to_vector() == std::vector<double>{0, -0.0, 1, 1, 65504,
                                                          std::numeric_limits<double>::infinity(),
                                                          0x1p-24});
  CHECK(read[1].second.to_vector() == std::vector<double>(many.begin(), many.end()));
  CHECK(read[2].second.shape() == Shape{0, 3});
  CHECK(read[3].second.dtype() == DType::int32);
  check_error([&] { write_npz(folder / "b.npz", NamedTensors{}, StoredFloats::bfloat16); },
              {"NumPy has no bfloat16"});
  CHECK(folder.names() == std::vector<std::string>{"a.npz"});
}

TEST_CASE("an npy header may order and space its dictionary freely") {
  const NpyHeader header =
      parse_npy_text("{ \"shape\":(2,3) ,'fortran_order':False,'descr':'|b1'}\n", "a.npz");
  CHECK(header.dtype == DType::boolean);
  CHECK(header.shape == Shape{2, 3});
  CHECK(parse_npy_text(npy_text("<f8", "False", "()"), "a").shape.rank() == 0);
  CHECK(parse_npy_text(npy_text("<i4", "False", "(7,)"), "a").shape == Shape{7});
  CHECK(parse_npy_text(npy_text("<f4", "False", "(0, 1, 1, 1, 1, 1, 1, 1)"), "a").shape.rank() ==
        8);
}

TEST_CASE("a malicious npy header is refused in one line") {
  const std::string good = npy_text("<f4", "False", "(2, 3)");
  CHECK(text_error(good) == "no error");
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    CHECK(text_error(good.substr(0, length)).starts_with("a.npz: the header "));
  }
  for (const auto& [text, expected] : std::map<std::string, std::string>{
           {npy_text("<f4", "False", "(" + std::string(60000, '9') + ",)"), "too long"},
           {good + "x", "does not end"},
           {good + "\n", "does not end"},
           {std::string(65535, '{'), "has no quoted string where one is expected"},
           {std::string(65535, ' '), "has no '{'"}}) {
    CHECK(mentions(text_error(text), {"a.npz: ", expected}));
  }
  check_rows("formats/arrays/npy_headers.txt", [](const Row& row) {
    const std::string error = text_error(unescaped(row.given) + "\n");
    CHECK_FALSE(contains(error, "\n"));
    return error;
  });
}

TEST_CASE("a malicious archive is refused in one line") {
  const std::string good = npz_bytes({{"aaaa", Tensor::ones({2}, DType::boolean)}});
  const std::string pair = npz_bytes({{"aaaa", Tensor::scalar(1)}, {"bbbb", Tensor::scalar(2)}});
  const std::string booleans = format_npy_header({DType::boolean, {2}});
  REQUIRE(read_error(good) == "no error");
  REQUIRE(read_error(archive_of(booleans + "\x01\x01")) == "no error");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "ot a zip archive"},
      {"not an archive", "ot a zip archive"},
      {good + "x", "Zip archive inconsistent"},
      {replaced(good, "aaaa.npy", "aaaa.txt"), "does not end in .npy"},
      {replaced(good, "aaaa.npy", "../a.npy"), "is not usable as a file name"},
      {replaced(good, "aaaa.npy", "/aaa.npy"), "is not usable as a file name"},
      {replaced(good, "aaaa.npy", "aa\na.npy"), "contains a control character"},
      {replaced(pair, "bbbb.npy", "aaaa.npy"), "File already exists"},
      {with_field(good, 8, 10, 8), "compressed or encrypted"},
      {with_field(good, 22, 24, 1), "bytes, more than the file has"},
      {with_field(good, 6, 8, 1), "compressed or encrypted"},
      {replaced(good, "NUMPY\x01", "NUMPY\x02"), "not a version 1.0 .npy file"},
      {replaced(good, "(2,)", "(3,)"), "does not match its 2 bytes"},
      {replaced(good, "'|b1'", "'<f4'"), "does not match its 2 bytes"},
      {replaced(good, "\n\x01\x01", "\n\x01\x02"), "CRC error"},
      // Right checksums, but wrong content.
      {archive_of(booleans + "\x01\x02"), "member 'a.npy': element 1 is neither 0 nor 1"},
      {archive_of(""), "0 bytes are too few"},
      {archive_of("\x93NUMPY\x01"), "7 bytes are too few"},
      {archive_of(std::string("\x93NUMPY\x01\0\xFF\xFF", 10)), "header of 65535 bytes"},
      {archive_of(booleans), "does not match its 0 bytes"},
      {archive_of(format_npy_header({DType::boolean, {Index{1} << 40, Index{1} << 40}})),
       "does not match its 0 bytes"},
  };
  for (const auto& [bytes, expected] : cases) {
    CAPTURE(expected);
    const std::string error = read_error(bytes);
    CAPTURE(error);
    check_parts(error, {expected, "a.npz: "});
    CHECK_FALSE(contains(error, "\n"));
  }
}

TEST_CASE("names of axes are stored as NumPy texts of four bytes a character") {
  const TemporaryFolder folder;
  const NamedTensors tensors{{"a", Tensor::scalar(1)}};
  write_npz(folder / "a.npz", tensors, NamedTexts{{"axis", {"0.1", "하늘", ""}}, {"none", {}}});
  const std::string bytes = file_contents(folder / "a.npz");
  check_parts(bytes, {"{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }",
                      "{'descr': '<U1', 'fortran_order': False, 'shape': (0,), }",
                      std::string("0\0\0\0.\0\0\0"
                                  "1\0\0\0\x58\xd5\0\0\x98\xb2",
                                  18)});
  const NamedTensors read = read_npz(folder / "a.npz");
  REQUIRE(read.size() == 1);
  CHECK(read[0].first == "a");
  const std::vector<ArrayInfo> listed = read_npz_header(folder / "a.npz");
  REQUIRE(listed.size() == 3);
  CHECK_FALSE(listed[0].texts);
  CHECK(listed[1].texts);
  CHECK(listed[1].shape == Shape{3});
  NamedTexts texts;
  read_npz(folder / "a.npz", &texts);
  CHECK(texts == NamedTexts{{"axis", {"0.1", "하늘", ""}}, {"none", {}}});
  check_error([&] { write_npz(folder / "b.npz", tensors, NamedTexts{{"a", {}}}); }, {"a"});
  CHECK(contains(text_error(npy_text("<U0", "False", "(3,)")), "strings that are empty"));
  CHECK(contains(text_error(npy_text("<U99999999", "False", "(3,)")), "too long"));
  CHECK(contains(text_error(npy_text("<Ux", "False", "(3,)")), "strings that are empty"));
}

TEST_CASE("texts that are no list or no valid characters are refused when texts are read") {
  const TemporaryFolder folder;
  const auto error = [&](const Shape& shape, const std::string& element) {
    const std::string header = format_npy_header({.shape = shape, .characters = 1});
    write_bytes(folder / "a.npz", archive_of(header + element));
    CHECK(read_npz(folder / "a.npz").empty());
    NamedTexts texts;
    return error_of([&] { read_npz(folder / "a.npz", &texts); });
  };
  CHECK(contains(error({1, 1}, std::string("a\0\0\0", 4)), "expected one axis"));
  CHECK(contains(error({1}, std::string("\0\xD8\0\0", 4)),
                 "55296 is not a valid Unicode code point"));
  CHECK(error({1}, std::string("a\0\0\0", 4)) == "no error");
}
