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
  void check_refused_page(const Arguments& more, const std::string& message) const {
    check_refused(page(model, more), {message});
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

TEST_CASE("page writes one file with the model and the program", "[cli]") {
  const Given given;
  CHECK(output_of(given.page(given.model, {"--text", "a <b> & \"c\""})) == given.out + "\n");
  const std::string html = file_contents(given.out);
  check_parts(html, {"default-src 'none'", "\"text\":\"a \\u003cb\\u003e \\u0026 \\\"c\\\"\"",
                     "headlightEngine = '\\u003c/script\\u003e';"});
  CHECK(html.ends_with("<i id=\"end-of-file\" hidden></i>\n</body>\n</html>\n"));
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
  CHECK(!fs::exists(given.out + ".tmp.gguf"));
}

TEST_CASE("page takes the WebAssembly program from one of its files or from another page",
          "[cli]") {
  const Given given;
  const std::string first = given.folder.at("first.html");
  output_of(given.page(given.model,
                       words("--out", first, "--engine", given.engine + "/headlight.wasm.gz")));
  for (const std::string& html : {file_contents(first), given.html({"--engine", first})}) {
    CHECK(embedded(html, kProgram) == "program");
    check_parts(html, {"\"engine\":\"headlightEngine = '\\u003c/script\\u003e';\""});
  }
}

TEST_CASE("page without --engine takes the WebAssembly program of the build or of docs/demo.html",
          "[cli]") {
  const Given given;
  const std::string log = log_of(words("page", given.model, "--log_level debug --out", given.out));
  CHECK(contains(log, "takes the WebAssembly program from "));
  const std::string program = embedded(file_contents(given.out), kProgram);
  CHECK(program.starts_with("\x1f\x8b"));  // gzip
  CHECK(program.size() > 500'000);
}

TEST_CASE("page embeds a GGUF file as it is", "[cli]") {
  const Given given;
  const std::string gguf = given.gguf();
  CHECK(embedded(given.html_of(gguf, {}), kModel) == file_contents(gguf));
}

TEST_CASE("page writes the model into a second file", "[cli]") {
  const Given given;
  const std::string gguf = given.gguf();
  const Arguments separate = given.page(gguf, {"--separate"});
  const std::string second = given.folder.at("demo.bin");
  CHECK(output_of(separate) == given.out + "\n" + second + "\n");
  const std::string html = file_contents(given.out);
  check_parts(html, {"connect-src 'self'", "\"file\":\"demo.bin\""});
  CHECK_FALSE(contains(html, kModel));
  CHECK(embedded(html, kProgram) == "program");
  CHECK(file_contents(second) == file_contents(gguf));
  CHECK(given.html_of(gguf, {"--separate"}) == html);  // replaces its own file

  const auto refused = [&](const std::string& of, const std::string& name, const char* message) {
    check_refused(given.page(of, words("--separate --out", given.folder.at(name))), {message});
  };
  refused(gguf, "page.bin", "--out: expected a name that does not end in .bin");
  refused(second, "demo.html", "--separate: would replace the model");
  given.folder.write("other.bin", "letters");
  refused(gguf, "other.html", "--separate: expected no file or the model of an earlier page");
  CHECK(file_contents(given.folder.at("other.bin")) == "letters");
  CHECK(!fs::exists(given.folder.at("other.html")));
  fs::create_directory(given.folder.at("folder.html"));
  refused(gguf, "folder.html", "folder.html");
  CHECK(!fs::exists(given.folder.at("folder.bin")));
}

TEST_CASE("page refuses a GGUF file that it could not open", "[cli]") {
  const Given given;
  const std::string gguf = given.gguf();
  const std::string bytes = file_contents(gguf);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string other = bytes;
    return other.replace(other.find(from), from.size(), to);
  };
  for (const auto& [content, message] : std::vector<std::pair<std::string, std::string>>{
           {bytes.substr(0, bytes.size() / 2), "model.gguf"},
           {replaced("general.architecture", "general.architecturX"), "general.architecture"},
           {replaced("blk.0.attn_output.weight", "blk.0.attn_outpuX.weight"), "attn_outpu"},
           {replaced("{\"version\":\"1.0\"", "[\"version\":\"1.0\""), "tokenizer"}}) {
    write_file(gguf, content);
    for (const std::string mode : {"--separate", "--json"}) {
      check_refused(given.page(gguf, {mode}), {message});
    }
  }
  CHECK(!fs::exists(given.out));
  CHECK(!fs::exists(given.folder.at("demo.bin")));
  write_file(gguf, bytes);
  fs::resize_file(gguf, (std::uintmax_t{1} << 30) + 1);  // with a hole: takes no space on the disk
  check_refused(given.page(gguf, {}), {"a page embeds at most 1024, because"});
}

TEST_CASE("page names what is missing", "[cli]") {
  const Given given;
  const std::string file = given.folder.write("x.html", "<p>");
  const std::string latin = given.folder.write("latin.txt", "caf\xE9");
  check_refused(words("page", given.model), {"--out: expected the name of the page"});
  check_refused(given.page(given.model, {"--engine", given.model}),
                {"in 5 minutes on 2 cores: cmake --preset wasm && cmake --build",
                 "share/headlight/page of an installed package"});
  check_refused(given.page("", {}), {"expected a MODEL, or --train"});
  check_refused(given.page("", {"--train"}), {"--data: expected a text to learn from"});
  check_refused(given.page("", {"--train", "--data", latin}), {"expected UTF-8 text"});
  check_refused(given.page("", words("--train --weights int8")), {"--weights: needs a MODEL"});
  given.check_refused_page({"--out", given.folder.at("none/demo.html")},
                           "--out: expected a file in an existing folder");
  given.check_refused_page({"--engine", file},
                           "--engine: " + file + ": expected a folder with headlight.js");
  given.check_refused_page({"--data", latin}, "--data: needs --train");
  given.check_refused_page({"--views", "heads,lens"},
                           "--views: expected write, chat, heads, layers or pair, got 'lens'");
  given.check_refused_page({"--views", "heads,heads"}, "--views: names heads twice");
  CHECK(!fs::exists(given.out));
}

TEST_CASE("page embeds the steps of a story", "[cli]") {
  const Given given;
  const std::string story = given.folder.write(
      "story.md",
      "# Title\n\n`?lang=ko&text=a+%25`\n\n## One\n`?part=heads#grid/0.1`\nA line\nand <b>.\n"
      "## Two\n`?part=write&text=b&changes=0.1:off,mlp.0:scale0.5`\nB.\n");
  check_parts(given.html(words("--story", story, "--views write,heads")),
              {"<html lang=\"ko\">", "\"views\":[\"write\",\"heads\"]",
               "{\"title\":\"One\",\"address\":\"?part=heads\\u0026text=a%20%25#grid/0.1\","
               "\"text\":\"A line and \\u003cb\\u003e.\"}",
               "?changes=0.1:off,mlp.0:scale0.5\\u0026part=write\\u0026text=b\""});
}

TEST_CASE("page speaks the language of --lang, its story or the locale", "[cli]") {
  const Given given;
  const std::string story =
      given.folder.write("story.md", "# A\n\n`?lang=ko`\n\n## B\n`?part=heads`\nC.\n");
  const auto language = [&](const Arguments& environment, const Arguments& more) {
    const ProgramResult result = run_headlight_with(environment, given.page(given.model, more));
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    const std::string html = file_contents(given.out);
    return html.substr(html.find("<html lang=\"") + 12, 2);
  };
  const Arguments korean{"LANG=ko_KR.UTF-8"};
  CHECK(language({}, {}) == "en");
  CHECK(language(korean, {}) == "ko");
  CHECK(language(korean, {"--lang", "en"}) == "en");
  CHECK(language({}, {"--story", story}) == "ko");
  given.check_refused_page({"--story", story, "--lang", "en"},
                           "--lang: the story gives the language ko, got en");
}

TEST_CASE("page takes one story for each language", "[cli]") {
  const Given given;
  const auto story = [&](const std::string& name, const std::string& address) {
    return given.folder.write(name,
                              "# " + name + "\n\n" + address + "\n\n## B\n`?part=heads`\nC.\n");
  };
  const std::string english = story("English", "`?lang=en`");
  const std::string korean = story("Korean", "`?lang=ko`");
  check_parts(given.html({"--story", korean, "--story", english}),
              {"<html lang=\"en\" data-follows-browser>",
               "{\"title\":\"Korean\",\"language\":\"ko\",\"steps\"",
               "{\"title\":\"English\",\"language\":\"en\",\"steps\""});
  check_parts(given.html({"--story", english, korean, "--lang", "ko"}), {"<html lang=\"ko\">"});
  given.check_refused_page({"--story", english, "--story", english},
                           "--story: expected one story for each language, got two in en");
  given.check_refused_page({"--story", english, "--story", story("Neither", "")},
                           "'Neither' has none");
}

TEST_CASE("page names the line of a story that it cannot show", "[cli]") {
  const Given given;
  const auto refused = [&](const std::string& text, const std::string& message) {
    const std::string story = given.folder.write("story.md", text);
    given.check_refused_page(words("--story", story, "--views heads,pair"), "story.md: " + message);
  };
  const auto refused_address = [&](const std::string& address, const std::string& message) {
    refused("# A\n## B\n`" + address + "`\nx\n", "line 3: " + message);
  };
  refused("", "line 1: expected steps");
  refused("# A\n\ntext\n", "line 3: expected a title (#)");
  refused("## A\n", "line 1: expected the title");
  refused("# A\n## B\nx\n## C\n", "line 2: step 'B' has no address");
  refused("# A\n## B\n`?part=heads`\n", "line 2: step 'B' has no text");
  refused_address("?part=layers", "part: expected heads or pair, got 'layers'");
  refused_address("?changes=0.2:off", "expected a head from 0.0 to 0.1, got 0.2");
  refused_address("?changes=0:off", "changes: expected changes such as");
  refused_address("#grid/1.0", "expected a layer from 0 to 0, got 1");
  refused_address("#lens", "expected #model, #head");
  refused_address("?text=50%", "expected two hexadecimal digits");
  refused_address("?text=%FF", "text: invalid UTF-8");
  refused_address("?part=pair", "part=pair: expected the texts");
  refused_address("?text=a&text=b", "text: given twice");
  refused_address("?colour=1", "expected an entry of the page's address");
  refused_address("?carry=0.1:x", "carry: expected a part");
  // Long addresses once ended the program.
  const std::string digits((1 << 20) - 400, '1');
  refused_address("?changes=0.1:scale" + digits + "x", "changes: expected");
  refused_address("?carry=0.1:" + digits, "carry: expected a part");
  std::string options;
  for (int i = 0; i < 150'000; ++i) {
    options += "&doc=1";
  }
  refused_address("#grid/0.1" + options + "&doc=11", "expected #model, #head");
  for (const char* address :
       {"?carry=0.1:5>", "?carry=0.1.1", "?carry=mlp_out.x", "?changes=0.1", "?changes=0.1:scale.5",
        "?changes=mlp:off", "?changes=0.1:offf", "#grid/0.1/", "#grid/0.1/3/sends",
        "#grid/0.1/3/receives/1", "#grid&doc=-", "#grid&x=1"}) {
    refused_address(address, "");
  }
  CHECK(!fs::exists(given.out));
}

TEST_CASE("page takes every form of a story's address", "[cli]") {
  const Given given;
  for (const std::string address :
       {"?changes=0.1:scale,mlp.0:scale5.,layer.0:scale0.25,0.0:freeze", "?carry=resid_post.0",
        "?carry=0.1:5>15", "?carry=mlp_out.0:0>1", "#model", "#grid/0.1/3/receives&doc=-1&beside=2",
        "#neuron/0.0&doc=3"}) {
    INFO(address);
    given.html(words("--views heads --story",
                     given.folder.write("story.md", "# A\n## B\n`" + address + "`\nx\n")));
    fs::remove(given.out);
  }
}

TEST_CASE("page has a tab for training, also without a model", "[cli]") {
  const Given given;
  const std::string text = given.folder.write("words.txt", "Words to learn from.");
  const std::string alone = given.html_of("", {"--train", "--data", text});
  check_parts(alone, {"\"training\":{\"text\":\"Words to learn from.\",\"mixed\":false}",
                      "\"bytes\":0,", "\"pair\",\"train\"]"});
  CHECK(embedded(alone, kModel).empty());
  CHECK(embedded(alone, kProgram) == "program");
  const std::string both = given.html(words("--train --data", text, "--views heads"));
  check_parts(both, {"\"views\":[\"heads\",\"train\"]"});
  CHECK(!embedded(both, kModel).empty());
  fs::create_directory(given.folder.at("data"));
  given.folder.write("data/toy.txt", "The corpus.");  // beside the folder of the engine
  check_parts(given.html_of("", {"--train"}), {"{\"text\":\"The corpus.\",\"mixed\":true}"});
}
}  // namespace page_test
