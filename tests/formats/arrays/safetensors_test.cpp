#include "support/test.h"

// Returns a file with this header text and these data bytes.
std::string file_bytes(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>((length >> (8 * i)) & 0xFF);
  }
  return bytes + header + data;
}

// Reads the only tensor of a file that holds `data` as `dtype` with one axis.
Tensor read_one(const std::string& dtype, Index size, const std::string& data) {
  const TemporaryFolder folder;
  write_bytes(folder / "a",
              file_bytes("{\"t\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(size) +
                             "],\"data_offsets\":[0," + std::to_string(data.size()) + "]}}",
                         data));
  const NamedTensors tensors = read_safetensors(folder / "a");
  require(tensors.size() == 1 && tensors[0].first == "t", "expected one tensor t");
  return tensors[0].second;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.numel());
}

std::string write_error(const NamedTensors& tensors,
                        const std::map<std::string, std::string>& metadata = {}) {
  const TemporaryFolder folder;
  const std::string error = error_of([&] { write_safetensors(folder / "a", tensors, metadata); });
  CHECK(folder.names().size() == (error == "no error" ? 1 : 0));
  return error;
}

TEST_CASE("a tiny safetensors file has the expected bytes") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {{"a", Tensor::from<float>({1.0F, -2.0F}, {2})}});
  CHECK(
      file_contents(folder / "a") ==
      std::string("\x58\0\0\0\0\0\0\0", 8) +
          R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" +
          "   " + std::string("\0\0\x80\x3F\0\0\0\xC0", 8));
}

TEST_CASE("larger elements come first in the file and otherwise the order is kept") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a",
                    {{"mask", Tensor::ones({3}, DType::boolean)},
                     {"b", Tensor::zeros({2, 1}, DType::int32)},
                     {"a", Tensor::zeros({}, DType::float32)},
                     {"wide", Tensor::zeros({1}, DType::float64)}},
                    {});
  const std::string bytes = file_contents(folder / "a");
  CHECK(contains(bytes, R"({"wide":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"I32","shape":[2,1],"data_offsets":[8,16]},)"
                        R"("a":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
                        R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[20,23]}})"));
  CHECK(bytes.ends_with(std::string("\0\0\0\0\x01\x01\x01", 7)));
  const NamedTensors tensors = read_safetensors(folder / "a");
  REQUIRE(tensors.size() == 4);
  CHECK(tensors[0].first == "wide");
  CHECK(tensors[3].first == "mask");
}

TEST_CASE("null metadata is read as no metadata") {
  const TemporaryFolder folder;
  const std::string header =
      R"({"__metadata__":null,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  write_bytes(folder / "a",
              std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header + "x");
  CHECK(read_safetensors_metadata(folder / "a").empty());
  CHECK(read_safetensors_header(folder / "a").size() == 1);
}

TEST_CASE("names and metadata with quotes and other scripts survive a round trip") {
  const TemporaryFolder folder;
  const std::string name = "blocks.0/\"무게\"\\x";
  write_safetensors(folder / "a", {{name, Tensor::scalar(1)}}, {{"say \"hi\"", "line\nbreak"}});
  CHECK(read_safetensors(folder / "a")[0].first == name);
  CHECK(contains(file_contents(folder / "a"), R"({"__metadata__":{"say \"hi\"":"line\nbreak"},)"));
}

TEST_CASE("half precision numbers become float32") {
  // 1, -2, smallest subnormal 2^-24, largest subnormal, largest 65504, -infinity, NaN, -0
  const Tensor halves =
      read_one("F16", 8,
               std::string("\x00\x3C\x00\xC0\x01\x00\xFF\x03\xFF\x7B\x00\xFC\x01\x7E\x00\x80", 16));
  REQUIRE(halves.dtype() == DType::float32);
  const std::vector<float> values = values_of<float>(halves);
  CHECK(values[0] == 1.0F);
  CHECK(values[1] == -2.0F);
  CHECK(values[2] == std::ldexp(1.0F, -24));
  CHECK(values[3] == std::ldexp(1023.0F, -24));
  CHECK(values[4] == 65504.0F);
  CHECK(values[5] == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(values[6]));
  CHECK(values[7] == 0.0F);
  CHECK(std::signbit(values[7]));
}

TEST_CASE("float32 is written as either half on request") {
  const TemporaryFolder folder;
  std::vector<float> many(20000);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<float>(i) / 3;
  }
  const NamedTensors tensors{{"half", Tensor::from(many, {200, 100})},
                             {"exact", Tensor::from<double>({1.0 / 3}, {1})},
                             {"ids", Tensor::arange(3)}};
  for (const StoredFloats type : {StoredFloats::float16, StoredFloats::bfloat16}) {
    write_safetensors(folder / "a", tensors, {}, type);
    const auto header = read_safetensors_header(folder / "a");
    CHECK(header.at("half").dtype == (type == StoredFloats::float16 ? "F16" : "BF16"));
    CHECK(header.at("exact").dtype == "F64");
    CHECK(header.at("half").begin == header.at("ids").end);
    const NamedTensors read = read_safetensors(folder / "a");
    REQUIRE(read[2].second.shape() == Shape{200, 100});
    const double error = type == StoredFloats::float16 ? 0x1p-11 : 0x1p-8;
    const std::vector<double> values = read[2].second.to_vector();
    for (std::size_t i = 0; i < many.size(); ++i) {
      if (std::abs(values[i] - many[i]) > error * many[i]) {
        FAIL(values[i] << " is not " << many[i]);
      }
    }
  }
}

TEST_CASE("other integers become int32") {
  const auto ints = [](const Tensor& tensor) { return values_of<std::int32_t>(tensor); };
  CHECK(ints(read_one("U8", 2, "\xFF\x01")) == Ids{255, 1});
  CHECK(ints(read_one("I8", 2, "\xFF\x7F")) == Ids{-1, 127});
  CHECK(ints(read_one("I16", 2, std::string("\x00\x80\x02\x01", 4))) == Ids{-32768, 258});
  CHECK(ints(read_one("I64", 2,
                      std::string("\xFF\xFF\xFF\x7F\0\0\0\0\0\0\0\x80\xFF\xFF\xFF\xFF", 16))) ==
        Ids{2147483647, -2147483647 - 1});
  CHECK(contains(error_of([&] { read_one("I64", 1, std::string("\0\0\0\x80\0\0\0\0", 8)); }),
                 "tensor 't': 2147483648 is outside the range of int32"));
}

TEST_CASE("a converted tensor longer than one piece is read whole") {
  std::string data(20001, '\x05');
  data[8192] = '\x06';
  data.back() = '\x07';
  const Ids values = values_of<std::int32_t>(read_one("U8", 20001, data));
  CHECK(values[0] == 5);
  CHECK(values[8191] == 5);
  CHECK(values[8192] == 6);
  CHECK(values[20000] == 7);
}

TEST_CASE("a boolean byte that is neither 0 nor 1 is refused") {
  CHECK(contains(error_of([&] { read_one("BOOL", 3, std::string("\x01\0\x02", 3)); }),
                 "tensor 't': element 2 is neither 0 nor 1"));
}

TEST_CASE("type and shape and offset are read from the header alone") {
  const TemporaryFolder folder;
  write_bytes(folder / "a", file_bytes(R"({"b":{"dtype":"F16","shape":[2,1],"data_offsets":[3,7]},)"
                                       R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
                                       "1234567"));
  const auto header = read_safetensors_header(folder / "a");
  const Index start = static_cast<Index>(file_contents(folder / "a").size()) - 7;
  REQUIRE(header.size() == 2);
  CHECK(header.at("a").dtype == "U8");
  CHECK(header.at("a").shape == Shape{3});
  CHECK(header.at("a").begin == start);
  CHECK(header.at("a").end == start + 3);
  CHECK(header.at("b").dtype == "F16");
  CHECK(header.at("b").shape == Shape{2, 1});
  CHECK(header.at("b").begin == start + 3);
  CHECK(header.at("b").end == start + 7);
  const NamedTensors tensors = read_safetensors(folder / "a");
  CHECK(tensors[0].first == "a");
  CHECK(tensors[1].first == "b");
}

TEST_CASE("tensors that could not be read back are not written") {
  const Tensor one = Tensor::scalar(1);
  CHECK(write_error({{"a", one}}) == "no error");
  CHECK(contains(write_error({{"a", one}, {"a", one}}), "two tensors are named 'a'"));
  CHECK(contains(write_error({{"a", Tensor()}}), "tensor 'a' is undefined"));
  CHECK(contains(write_error({{"", one}}), "is empty"));
  CHECK(contains(write_error({{"a\nb", one}}), "'a\\x0ab' contains a control character"));
  CHECK(contains(write_error({{std::string("a\0b", 3), one}}), "contains a control character"));
  CHECK(contains(write_error({{"a/../b", one}}), "is not usable as a file name"));
  CHECK(contains(write_error({{"..", one}}), "is not usable as a file name"));
  CHECK(contains(write_error({{"/a", one}}), "is not usable as a file name"));
  CHECK(write_error({{"a..b/...", one}}) == "no error");
  CHECK(write_error({{std::string(1024, 'n'), one}}) == "no error");
  CHECK(contains(write_error({{std::string(1025, 'n'), one}}), "longer than 1024 bytes"));
  CHECK(contains(write_error({{"__metadata__", one}}), "cannot be named __metadata__"));
  CHECK(contains(write_error({{"a\xFF", one}}), "is not UTF-8"));
  CHECK(contains(write_error({{"a", one}}, {{"k", "\xFF"}}), "is not UTF-8"));
  CHECK(contains(write_error({{"a", one}}, {{"k", repeated("x", 17000000)}}), "at most 16777216"));
  CHECK(contains(write_error({{"a", one.strided_view({Index{1} << 61}, {0})}}), "too large"));
}
