#include "base/strings/base64.h"
#include "support/saved_model.h"
#include "support/test.h"

namespace page_test {
// `page`, with the real program and stand-ins for the WebAssembly build. tests/web/file_page.sh
// opens pages in browsers.

Gpt small_model() {
  return Gpt({.vocab_size = 257, .block_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 6});
}

std::string stand_in(const TemporaryFolder& folder) {
  fs::create_directory(folder.at("engine"));
  write_file(folder.at("engine/headlight.js"), "headlightEngine = '</script>';");
  write_file(folder.at("engine/headlight.wasm.gz"), "program");
  return folder.at("engine");
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

// A model, the stand-in and the page that commands write.
struct Given {
  // Arguments of `page`, without a model if it is "".
  Arguments page(const std::string& of, const Arguments& more) const {
    const Arguments start = of.empty() ? words("page") : words("page", of);
    return changed(changed(start, words("--out", out, "--engine", engine)), more);
  }
  // The page that a command writes.
  std::string html(const Arguments& more) const { return html_of(model, more); }
  std::string html_of(const std::string& of, const Arguments& more) const {
    output_of(page(of, more));
    return file_contents(out);
  }
  // The model in a GGUF file.
  std::string gguf() const {
    output_of(words("export", model, "--to gguf --out", folder.at("model.gguf")));
    return folder.at("model.gguf");
  }

  TemporaryFolder folder;
  std::string model = save_model(folder, "model", small_model());
  std::string engine = stand_in(folder);
  std::string out = folder.at("demo.html");
};

TEST_CASE("page writes one file with the model and the program") {
  const Given given;
  const std::string html = given.html({});
  CHECK(!std::regex_search(html, std::regex("<(link|script|img)[^>]* (src|href)=\"[^d]")));
  CHECK(embedded(html, kProgram) == "program");
  const std::string back = given.folder.write("back.gguf", embedded(html, kModel));
  const NamedTensors written = load_model(given.model).model->parameters();
  const TensorMap expected(written.begin(), written.end());
  const NamedTensors read = load_model(back).model->parameters();
  CHECK(read.size() == 9);  // without biases: all are zero
  for (const auto& [name, tensor] : read) {
    CHECK(tensor.to_vector() == expected.at(name).to_vector());
  }
}

TEST_CASE("page without --engine takes the WebAssembly program of the build or of docs/demo.html") {
  const Given given;
  const std::string log = log_of(words("page", given.model, "--log_level debug --out", given.out));
  CHECK(contains(log, "takes the WebAssembly program from "));
  const std::string program = embedded(file_contents(given.out), kProgram);
  CHECK(program.starts_with("\x1f\x8b"));  // gzip
  CHECK(program.size() > 500'000);
}

TEST_CASE("page embeds a GGUF file as it is") {
  const Given given;
  const std::string gguf = given.gguf();
  CHECK(embedded(given.html_of(gguf, {}), kModel) == file_contents(gguf));
}
}  // namespace page_test
