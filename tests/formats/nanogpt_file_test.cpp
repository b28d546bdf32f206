#include "formats/nanogpt/nanogpt_file.h"
#include "storage/compressed/zip_archive.h"
#include "support/bytes/pickle_writer.h"
#include "support/test.h"

namespace nanogpt_file_test {
// A file of torch.save with an optimizer; make_checkpoint.py wrote it.
const fs::path kFixture = HEADLIGHT_SOURCE_DIR "/tests/formats/nanogpt/ckpt.pt";

// The fields of a tensor in data.pkl.
struct Fields {
  std::string storage = "torch FloatStorage";
  std::string key = "0";
  Index elements = 6;
  Index offset = 0;
  Shape shape{3, 2};
  Shape strides{2, 1};
};

void add_global(PickleWriter& pickle, const std::string& words) {
  const std::size_t blank = words.find(' ');
  pickle.global(words.substr(0, blank), words.substr(blank + 1));
}

void add_tensor(PickleWriter& pickle, const Fields& fields) {
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.begin_tuple();
  pickle.begin_tuple();
  pickle.text("storage");
  add_global(pickle, fields.storage);
  pickle.text(fields.key);
  pickle.text("cpu");
  pickle.integer(fields.elements);
  pickle.end_tuple();
  pickle.persistent();
  pickle.integer(fields.offset);
  pickle.integers(fields.shape);
  pickle.integers(fields.strides);
  pickle.boolean(false);
  pickle.none();
  pickle.end_tuple();
  pickle.call();
}

using Sizes = std::vector<std::pair<std::string, Index>>;

const Sizes kSizes{
    {"n_layer", 1}, {"n_head", 1}, {"n_embd", 2}, {"block_size", 4}, {"vocab_size", 3}};

// A checkpoint with one tensor, transformer.wte.weight.
std::string pickle_of(const Fields& fields, const Sizes& sizes = kSizes,
                      const std::string& dataset = "letters") {
  PickleWriter pickle;
  pickle.begin_dictionary();
  pickle.text("model");
  pickle.begin_dictionary();
  pickle.text("transformer.wte.weight");
  add_tensor(pickle, fields);
  pickle.end_dictionary();
  pickle.text("model_args");
  pickle.begin_dictionary();
  for (const auto& [key, size] : sizes) {
    pickle.text(key);
    pickle.integer(size);
  }
  pickle.end_dictionary();
  pickle.text("config");
  pickle.begin_dictionary();
  pickle.text("dataset");
  pickle.text(dataset);
  pickle.end_dictionary();
  pickle.end_dictionary();
  return pickle.finish();
}

// Writes an archive of data.pkl, 24 bytes of elements and more members.
void write_archive(const fs::path& path, const std::string& pickle,
                   const std::vector<std::pair<std::string, std::string>>& more = {}) {
  const std::string zeros(24, '\0');
  const auto bytes = [](const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  };
  replace_zip(path, [&](ZipArchive& archive) {
    archive.add("ckpt/data.pkl", bytes(pickle));
    archive.add("ckpt/data/0", bytes(zeros));
    for (const auto& [name, content] : more) {
      archive.add(name, bytes(content));
    }
    archive.close();
  });
}

std::string refusal(const std::string& pickle,
                    const std::vector<std::pair<std::string, std::string>>& more = {}) {
  const TemporaryFolder folder;
  write_archive(folder / "ckpt.pt", pickle, more);
  return error_of([&] { NanoGptFile(folder / "ckpt.pt"); });
}

std::string tensor_refusal(const Fields& fields) { return refusal(pickle_of(fields)); }

TEST_CASE("a file of torch.save gives PyTorch's logits") {
  const std::unique_ptr<Gpt> model = load_weights(kFixture);
  const std::vector<double> logits = model->logits(make_batch({{0, 1, 2}})).to_vector();
  const std::vector<double> expected{1.27622581,  -0.59367204, -2.11012363, 1.38822162, -0.82726282,
                                     -2.31066847, 0.33703238,  2.15246272,  1.67305112};
  REQUIRE(logits.size() == expected.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    CHECK(logits[i] == Approx(expected[i]).margin(1e-5));
  }
}

TEST_CASE("a changed byte of the elements is refused") {
  const TemporaryFolder folder;
  std::string bytes = file_contents(kFixture.string());
  const std::size_t place = bytes.find("ckpt/data/1") + 60;
  bytes[place] = static_cast<char>(bytes[place] ^ 1);
  write_file(folder / "ckpt.pt", bytes);
  check_error([&] { load_weights(folder / "ckpt.pt"); }, {"member 'ckpt/data/1': CRC error"});
}

TEST_CASE("a pickle with other names is refused by name, and nothing is called") {
  CHECK(refusal(pickle_of({})) == "no error");
  CHECK(contains(refusal("\x80\x02"
                         "cos\nsystem\nX\x02\0\0\0ls\x85R."),
                 "/ckpt.pt: data.pkl uses os.system: not a nanoGPT checkpoint"));
  CHECK(contains(refusal("\x80\x04\x8c\x02os\x8c\x06system\x93."), "data.pkl uses os.system: not"));
  CHECK(contains(tensor_refusal({.storage = "torch LongStorage"}),
                 "data.pkl uses torch.LongStorage: not"));
  CHECK(contains(refusal("\x80\x02}."), "data.pkl: has no model_args: not a nanoGPT checkpoint"));
  CHECK(
      contains(refusal("\x80\x02i."), "pickle operation 105 is not supported; expected a nanoGPT"));
}

TEST_CASE("a tensor that does not fit its storage is refused") {
  CHECK(contains(tensor_refusal({.key = "7"}), "'transformer.wte.weight': its storage is missing"));
  CHECK(contains(tensor_refusal({.elements = 7}),
                 "its storage has another size than data.pkl states"));
  CHECK(contains(tensor_refusal({.elements = -6}), "its storage has another size"));
  CHECK(contains(tensor_refusal({.offset = 1}), "exceeds its storage"));
  CHECK(contains(tensor_refusal({.offset = -1}), "exceeds its storage"));
  CHECK(contains(tensor_refusal({.offset = Index{1} << 62}), "exceeds its storage"));
  CHECK(contains(tensor_refusal({.shape = {4, 2}}), "exceeds its storage"));
  CHECK(contains(tensor_refusal({.strides = {1, 3}}), "expected contiguous elements"));
  CHECK(contains(tensor_refusal({.shape = {-3, 2}}), "expected contiguous elements"));
  CHECK(
      contains(tensor_refusal({.shape = {Index{1} << 40, Index{1} << 40}}), "expected contiguous"));
  CHECK(contains(tensor_refusal({.storage = "torch._utils _rebuild_tensor_v2"}),
                 "expected a tensor"));
}

TEST_CASE("absurd sizes and other archives are refused before memory is taken") {
  Sizes sizes = kSizes;
  sizes[2].second = Index{1} << 40;
  CHECK(contains(refusal(pickle_of({}, sizes)), "data.pkl: model_args: n_embd: expected 1 to"));
  sizes.pop_back();
  CHECK(contains(refusal(pickle_of({}, sizes)), "model_args: vocab_size: is missing"));
  CHECK(contains(refusal(pickle_of({}), {{"ckpt/byteorder", "big"}}),
                 "byteorder: expected little, got 'big'"));
  CHECK(
      contains(refusal(pickle_of({}), {{"more/data.pkl", "x"}}), "two members are named data.pkl"));
  const TemporaryFolder folder;
  sizes = kSizes;
  sizes[4].second = 16000000;
  write_archive(folder / "ckpt.pt", pickle_of({}, sizes));
  CHECK(
      contains(error_of([&] { load_weights(folder / "ckpt.pt"); }),
               "wte.weight: expected shape [16000000, 2] according to its model_args, got [3, 2]"));
  write_file(folder / "old.pt", "\x80\x02\x8a\x0al\xfc");
  CHECK(
      contains(error_of([&] { load_weights(folder / "old.pt"); }), "old.pt: is not a zip archive"));
}

TEST_CASE("the tokenizer of a checkpoint is beside it or in nanoGPT's data folder") {
  const TemporaryFolder folder;
  const fs::path checkpoint = folder / "out/ckpt.pt";
  fs::create_directories(folder / "out");
  fs::create_directories(folder / "data/letters");
  fs::copy_file(kFixture, checkpoint);
  CHECK(contains(error_of([&] { load_model(checkpoint); }),
                 "ckpt.pt: no tokenizer: put the meta.pkl of its data, or GPT-2's tokenizer.json"));
  const auto vocabulary = [](const std::u32string& characters) {
    return CharTokenizer({characters.begin(), characters.end()}, SpecialTokens::none);
  };
  write_nanogpt_vocabulary(folder / "data/letters/meta.pkl", vocabulary(U"abc"));
  CHECK(load_model(checkpoint).tokenizer->encode("cab") == Ids{2, 0, 1});
  CHECK(open_tokenizer(folder / "out")->vocab_size() == 3);
  write_nanogpt_vocabulary(folder / "out/meta.pkl", vocabulary(U"cba"));
  CHECK(load_model(folder / "out").tokenizer->encode("cab") == Ids{0, 2, 1});
  write_nanogpt_vocabulary(folder / "out/meta.pkl", vocabulary(U"abcd"));
  std::string warnings;
  load_model(checkpoint, {.warn = [&](const std::string& line) { warnings += line; }});
  CHECK(contains(warnings, "the tokenizer has 4 tokens, the model rows for 3: texts with tokens"));
}

TEST_CASE("the name of a data set does not lead out of the data folder") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "out");
  fs::create_directories(folder / "data");
  write_nanogpt_vocabulary(folder / "meta.pkl", CharTokenizer({U'a'}, SpecialTokens::none));
  for (const std::string name : {"..", "../", "../out/..", "/", ""}) {
    CAPTURE(name);
    write_archive(folder / "out/ckpt.pt", pickle_of({}, kSizes, name));
    CHECK(contains(error_of([&] { load_tokenizer(folder / "out/ckpt.pt"); }), "no tokenizer"));
  }
}

TEST_CASE("tensors of a torch file take at most twice the memory of their storages") {
  const TemporaryFolder folder;
  const auto state_of = [&](int names, Index offset) {
    PickleWriter pickle;
    pickle.begin_dictionary();
    for (int i = 0; i < names; ++i) {
      pickle.text(std::to_string(i) + ".weight");
      add_tensor(pickle, {.offset = offset * (i % 2), .shape = {1, 4}, .strides = {4, 1}});
    }
    pickle.end_dictionary();
    write_archive(folder / "state.pt", pickle.finish());
    return error_of([&] { read_torch_state(folder / "state.pt"); });
  };
  CHECK(state_of(2, 0) == "no error");
  CHECK(state_of(3, 2) == "no error");  // 48 of 24 bytes
  const std::string too_many =
      ": data.pkl: the tensors have 64 bytes, but their storages only 24: ";
  CHECK(contains(state_of(4, 0), too_many));
  CHECK(contains(state_of(4, 2), too_many));
}
}  // namespace nanogpt_file_test
