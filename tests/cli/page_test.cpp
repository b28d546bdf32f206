#include <map>
#include <regex>

#include "base/base64.h"
#include "headlight/files/file_writer.h"
#include "headlight/formats/model_directory.h"
#include "headlight/text/byte_tokenizer.h"
#include "support/catch.h"
#include "support/program.h"
#include "support/tensors.h"

namespace page_test {

// `page`, with the real program and stand-ins for the WebAssembly build. tests/web/file_page.sh
// opens pages in browsers.
using namespace headlight;

namespace {

namespace fs = std::filesystem;

std::string model_of_bytes(const ScratchFolder& folder) {
  GptConfig config;
  config.vocab_size = ByteTokenizer().vocab_size();
  config.block_size = 5;
  config.n_layer = 1;
  config.n_head = 2;
  config.n_embd = 6;
  const std::string path = folder.at("model");
  fs::create_directory(path);
  write_model_files(path, Gpt(config), ByteTokenizer());
  return path;
}

std::string engine(const ScratchFolder& folder) {
  fs::create_directory(folder.at("engine"));
  write_file(folder.at("engine/headlight.js"), "headlightEngine = '</script>';");
  write_file(folder.at("engine/headlight.wasm.gz"), "program");
  return folder.at("engine");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns the bytes of all elements that begin with `opening`.
std::string embedded(const std::string& html, const std::string& opening) {
  std::string bytes;
  for (std::size_t at = html.find(opening); at != std::string::npos;
       at = html.find(opening, at + 1)) {
    const std::size_t begin = at + opening.size();
    bytes += bytes_of_base64(html.substr(begin, html.find('<', begin) - begin)).value();
  }
  return bytes;
}

const std::string kModel = "<script type=\"text/plain\" class=\"page-model\">";
const std::string kProgram = "<script type=\"text/plain\" id=\"page-program\">";

}  // namespace

TEST_CASE("page writes one file with the model and the program", "[cli]") {
  const ScratchFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string out = folder.at("demo.html");
  const ProgramResult result = run_headlight(
      {"page", model, "--out", out, "--engine", engine(folder), "--text", "a <b> & \"c\""});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out == out + "\n");
  const std::string html = file_contents(out);
  CHECK(contains(html, "default-src 'none'"));
  CHECK(contains(html, "\"text\":\"a \\u003cb\\u003e \\u0026 \\\"c\\\"\""));
  CHECK(contains(html, "headlightEngine = '\\u003c/script\\u003e';"));
  CHECK(html.ends_with("<i id=\"end-of-file\" hidden></i>\n</body>\n</html>\n"));
  CHECK(!std::regex_search(html, std::regex("<(link|script|img)[^>]* (src|href)=\"[^d]")));
  CHECK(embedded(html, kProgram) == "program");
  write_file(folder.at("back.gguf"), embedded(html, kModel));
  const NamedTensors written = load_model(model).model->parameters();
  const std::map<std::string, Tensor> expected(written.begin(), written.end());
  const NamedTensors read = load_model(folder.at("back.gguf")).model->parameters();
  CHECK(read.size() == 9);  // without biases: all are zero
  for (const auto& [name, tensor] : read) {
    CHECK(tensor.to_vector() == expected.at(name).to_vector());
  }
  CHECK(!fs::exists(out + ".gguf.tmp"));
}

TEST_CASE("page embeds a GGUF file as it is", "[cli]") {
  const ScratchFolder folder;
  const std::string gguf = folder.at("model.gguf");
  REQUIRE(run_headlight(
              {"export", model_of_bytes(folder), "--to", "gguf", "--type", "f16", "--out", gguf})
              .exit_code == 0);
  const std::string out = folder.at("demo.html");
  REQUIRE(run_headlight({"page", gguf, "--out", out, "--engine", engine(folder)}).exit_code == 0);
  CHECK(embedded(file_contents(out), kModel) == file_contents(gguf));
}

TEST_CASE("page names what is missing", "[cli]") {
  const ScratchFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string out = folder.at("demo.html");
  const auto error = [](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_headlight(arguments);
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK(contains(error({"page", model}), "--out: expected the name of the page"));
  CHECK(contains(
      error({"page", model, "--out", folder.at("none/demo.html"), "--engine", engine(folder)}),
      "--out: expected a file in an existing folder"));
  CHECK(contains(error({"page", model, "--out", out, "--engine", folder.at("model")}),
                 "build them with: cmake --preset wasm"));
  CHECK(!fs::exists(out));
}

}  // namespace page_test
