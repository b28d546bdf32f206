#include "base/strings/base64.h"
#include "support/test.h"

namespace page_test {
// `page`, with the real program and stand-ins for the WebAssembly build. tests/web/file_page.sh
// opens pages in browsers.

std::string model_of_bytes(const TemporaryFolder& folder) {
  GptConfig config{.vocab_size = ByteTokenizer().vocab_size(),
                   .block_size = 5,
                   .n_layer = 1,
                   .n_head = 2,
                   .n_embd = 6};
  const std::string path = folder.at("model");
  fs::create_directory(path);
  write_model_files(path, Gpt(config), ByteTokenizer());
  return path;
}

std::string engine(const TemporaryFolder& folder) {
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

TEST_CASE("page writes one file with the model and the program", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string out = folder.at("demo.html");
  const std::string printed = output_of(
      {"page", model, "--out", out, "--engine", engine(folder), "--text", "a <b> & \"c\""});
  CHECK(printed == out + "\n");
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
  CHECK(!fs::exists(out + ".tmp.gguf"));
}

TEST_CASE("page takes the WebAssembly program from one of its files or from another page",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string first = folder.at("first.html");
  const std::string second = folder.at("second.html");
  const auto written = [&](const std::string& engine_place, const std::string& out) {
    REQUIRE(run_headlight({"page", model, "--out", out, "--engine", engine_place}).exit_code == 0);
    const std::string html = file_contents(out);
    return embedded(html, kProgram) == "program" &&
           contains(html, "\"engine\":\"headlightEngine = '\\u003c/script\\u003e';\"");
  };
  CHECK(written(engine(folder) + "/headlight.wasm.gz", first));
  CHECK(written(first, second));
}

TEST_CASE("page without --engine takes the WebAssembly program of the build or of docs/demo.html",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("page.html");
  const ProgramResult result =
      run_headlight({"page", model_of_bytes(folder), "--out", out, "--log_level", "debug"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(contains(result.err, "takes the WebAssembly program from "));
  const std::string program = embedded(file_contents(out), kProgram);
  CHECK(program.starts_with("\x1f\x8b"));  // gzip
  CHECK(program.size() > 500'000);
}

TEST_CASE("page embeds a GGUF file as it is", "[cli]") {
  const TemporaryFolder folder;
  const std::string gguf = folder.at("model.gguf");
  REQUIRE(run_headlight(
              {"export", model_of_bytes(folder), "--to", "gguf", "--type", "f16", "--out", gguf})
              .exit_code == 0);
  const std::string out = folder.at("demo.html");
  REQUIRE(run_headlight({"page", gguf, "--out", out, "--engine", engine(folder)}).exit_code == 0);
  CHECK(embedded(file_contents(out), kModel) == file_contents(gguf));
}

TEST_CASE("page writes the model into a second file", "[cli]") {
  const TemporaryFolder folder;
  const std::string gguf = folder.at("model.gguf");
  const std::string model = model_of_bytes(folder);
  REQUIRE(run_headlight({"export", model, "--to", "gguf", "--out", gguf}).exit_code == 0);
  const auto page = [&](const std::string& of, const std::string& out) {
    return run_headlight({"page", of, "--separate", "--out", out, "--engine", engine(folder)});
  };
  const std::string out = folder.at("demo.html");
  CHECK(page(gguf, out).out == out + "\n" + folder.at("demo.bin") + "\n");
  const std::string html = file_contents(out);
  CHECK(contains(html, "connect-src 'self'"));
  CHECK(contains(html, "\"file\":\"demo.bin\""));
  CHECK(!contains(html, kModel));
  CHECK(embedded(html, kProgram) == "program");
  CHECK(file_contents(folder.at("demo.bin")) == file_contents(gguf));
  REQUIRE(page(gguf, out).exit_code == 0);  // replaces its own file
  CHECK(file_contents(out) == html);

  const auto refused = [&](const std::string& of, const std::string& name, const char* message) {
    const ProgramResult result = page(of, folder.at(name));
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.err, message));
  };
  refused(gguf, "page.bin", "--out: expected a name that does not end in .bin");
  refused(folder.at("demo.bin"), "demo.html", "--separate: would replace the model");
  write_file(folder.at("other.bin"), "letters");
  refused(gguf, "other.html", "--separate: expected no file or the model of an earlier page");
  CHECK(file_contents(folder.at("other.bin")) == "letters");
  CHECK(!fs::exists(folder.at("other.html")));
  fs::create_directory(folder.at("folder.html"));
  refused(gguf, "folder.html", "folder.html");
  CHECK(!fs::exists(folder.at("folder.bin")));
}

TEST_CASE("page refuses a GGUF file that it could not open", "[cli]") {
  const TemporaryFolder folder;
  const std::string gguf = folder.at("model.gguf");
  REQUIRE(
      run_headlight({"export", model_of_bytes(folder), "--to", "gguf", "--out", gguf}).exit_code ==
      0);
  const std::string bytes = file_contents(gguf);
  const auto refused = [&](const std::string& content, const std::string& message) {
    write_file(gguf, content);
    for (const std::string mode : {"--separate", "--json"}) {
      const ProgramResult result = run_headlight(
          {"page", gguf, mode, "--out", folder.at("demo.html"), "--engine", engine(folder)});
      INFO(result.err);
      CHECK(result.exit_code == 2);
      CHECK(contains(result.err, message));
      CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    }
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = bytes;
    return other.replace(other.find(from), from.size(), to);
  };
  refused(bytes.substr(0, bytes.size() / 2), "model.gguf");
  refused(changed("general.architecture", "general.architecturX"), "general.architecture");
  refused(changed("blk.0.attn_output.weight", "blk.0.attn_outpuX.weight"), "attn_outpu");
  refused(changed("{\"version\":\"1.0\"", "[\"version\":\"1.0\""), "tokenizer");
  CHECK(!fs::exists(folder.at("demo.html")));
  CHECK(!fs::exists(folder.at("demo.bin")));

  write_file(gguf, bytes);
  fs::resize_file(gguf, (std::uintmax_t{1} << 30) + 1);  // with a hole: takes no space on the disk
  const ProgramResult large =
      run_headlight({"page", gguf, "--out", folder.at("demo.html"), "--engine", engine(folder)});
  CHECK(large.exit_code == 2);
  CHECK(contains(large.err, "a page embeds at most 1024, because"));
}

TEST_CASE("page names what is missing", "[cli]") {
  const TemporaryFolder folder;
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
  const std::string lacking = error({"page", model, "--out", out, "--engine", folder.at("model")});
  CHECK(contains(lacking, "in 5 minutes on 2 cores: cmake --preset wasm && cmake --build"));
  CHECK(contains(lacking, "share/headlight/page of an installed package"));
  CHECK(std::ranges::count(lacking, '\n') == 1);
  CHECK(contains(error({"page", model, "--out", out, "--engine", folder.write("x.html", "<p>")}),
                 "--engine: " + folder.at("x.html") + ": expected a folder with headlight.js"));
  CHECK(!fs::exists(out));
}

TEST_CASE("page embeds the steps of a story", "[cli]") {
  const TemporaryFolder folder;
  write_file(
      folder.at("story.md"),
      "# Title\n\n`?lang=ko&text=a+%25`\n\n## One\n`?part=heads#grid/0.1`\nA line\nand <b>.\n"
      "## Two\n`?part=write&text=b&changes=0.1:off,mlp.0:scale0.5`\nB.\n");
  const std::string out = folder.at("demo.html");
  output_of(words("page", model_of_bytes(folder), "--out", out, "--engine", engine(folder),
                  "--story", folder.at("story.md"), "--views write,heads"));
  const std::string html = file_contents(out);
  CHECK(contains(html, "<html lang=\"ko\">"));
  CHECK(contains(html, "\"views\":[\"write\",\"heads\"]"));
  CHECK(contains(html,
                 "{\"title\":\"One\",\"address\":\"?part=heads\\u0026text=a%20%25#grid/0.1\","
                 "\"text\":\"A line and \\u003cb\\u003e.\"}"));
  CHECK(contains(html, "?changes=0.1:off,mlp.0:scale0.5\\u0026part=write\\u0026text=b\""));
}

TEST_CASE("page speaks the language of --lang, its story or the locale", "[cli]") {
  const TemporaryFolder folder;
  write_file(folder.at("story.md"), "# A\n\n`?lang=ko`\n\n## B\n`?part=heads`\nC.\n");
  const std::string out = folder.at("demo.html");
  const std::vector<std::string> plain{"page",     model_of_bytes(folder), "--out", out,
                                       "--engine", engine(folder)};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plain.begin(), plain.end());
    return more;
  };
  const auto language = [&](const ProgramResult& result) {
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    const std::string html = file_contents(out);
    return html.substr(html.find("<html lang=\"") + 12, 2);
  };
  const std::vector<std::string> korean{"LANG=ko_KR.UTF-8"};
  CHECK(language(run_headlight(plain)) == "en");
  CHECK(language(run_headlight_with(korean, plain)) == "ko");
  CHECK(language(run_headlight_with(korean, with({"--lang", "en"}))) == "en");
  const std::string story = folder.at("story.md");
  CHECK(language(run_headlight(with({"--story", story}))) == "ko");
  CHECK(contains(run_headlight(with({"--story", story, "--lang", "en"})).err,
                 "--lang: the story gives the language ko, got en"));
}

TEST_CASE("page takes one story for each language", "[cli]") {
  const TemporaryFolder folder;
  const auto story = [&](const std::string& name, const std::string& address) {
    write_file(folder.at(name), "# " + name + "\n\n" + address + "\n\n## B\n`?part=heads`\nC.\n");
    return folder.at(name);
  };
  const std::string english = story("English", "`?lang=en`");
  const std::string korean = story("Korean", "`?lang=ko`");
  const std::string neither = story("Neither", "");
  const std::string out = folder.at("demo.html");
  const std::vector<std::string> plain{"page",     model_of_bytes(folder), "--out", out,
                                       "--engine", engine(folder)};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plain.begin(), plain.end());
    return run_headlight(more);
  };
  REQUIRE(run({"--story", korean, "--story", english}).exit_code == 0);
  const std::string html = file_contents(out);
  CHECK(contains(html, "<html lang=\"en\" data-follows-browser>"));
  CHECK(contains(html, "{\"title\":\"Korean\",\"language\":\"ko\",\"steps\""));
  CHECK(contains(html, "{\"title\":\"English\",\"language\":\"en\",\"steps\""));
  REQUIRE(run({"--story", english, korean, "--lang", "ko"}).exit_code == 0);
  CHECK(contains(file_contents(out), "<html lang=\"ko\">"));
  CHECK(contains(run({"--story", english, "--story", english}).err,
                 "--story: expected one story for each language, got two in en"));
  CHECK(contains(run({"--story", english, "--story", neither}).err, "'Neither' has none"));
}

TEST_CASE("page names the line of a story that it cannot show", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string page_engine = engine(folder);
  const auto refused = [&](const std::string& story, const std::string& message) {
    write_file(folder.at("story.md"), story);
    const ProgramResult result =
        run_headlight(words("page", model, "--out", folder.at("demo.html"), "--engine", page_engine,
                            "--story", folder.at("story.md"), "--views heads,pair"));
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.err, "story.md: " + message));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  };
  refused("", "line 1: expected steps");
  refused("# A\n\ntext\n", "line 3: expected a title (#)");
  refused("## A\n", "line 1: expected the title");
  refused("# A\n## B\nx\n## C\n", "line 2: step 'B' has no address");
  refused("# A\n## B\n`?part=heads`\n", "line 2: step 'B' has no text");
  refused("# A\n## B\n`?part=layers`\nx\n", "line 3: part: expected heads or pair, got 'layers'");
  refused("# A\n## B\n`?changes=0.2:off`\nx\n", "line 3: expected a head from 0.0 to 0.1, got 0.2");
  refused("# A\n## B\n`?changes=0:off`\nx\n", "line 3: changes: expected changes such as");
  refused("# A\n## B\n`#grid/1.0`\nx\n", "line 3: expected a layer from 0 to 0, got 1");
  refused("# A\n## B\n`#lens`\nx\n", "line 3: expected #model, #head");
  refused("# A\n## B\n`?text=50%`\nx\n", "line 3: expected two hexadecimal digits");
  refused("# A\n## B\n`?text=%FF`\nx\n", "line 3: text: invalid UTF-8");
  refused("# A\n## B\n`?part=pair`\nx\n", "line 3: part=pair: expected the texts");
  refused("# A\n## B\n`?text=a&text=b`\nx\n", "line 3: text: given twice");
  refused("# A\n## B\n`?colour=1`\nx\n", "line 3: expected an entry of the page's address");
  refused("# A\n## B\n`?carry=0.1:x`\nx\n", "line 3: carry: expected a part");
  // Long addresses once ended the program.
  const std::string digits((1 << 20) - 400, '1');
  refused("# A\n## B\n`?changes=0.1:scale" + digits + "x`\nx\n", "line 3: changes: expected");
  refused("# A\n## B\n`?carry=0.1:" + digits + "`\nx\n", "line 3: carry: expected a part");
  std::string options;
  for (int i = 0; i < 150'000; ++i) {
    options += "&doc=1";
  }
  refused("# A\n## B\n`#grid/0.1" + options + "&doc=11`\nx\n", "line 3: expected #model, #head");
  for (const char* address :
       {"?carry=0.1:5>", "?carry=0.1.1", "?carry=mlp_out.x", "?changes=0.1", "?changes=0.1:scale.5",
        "?changes=mlp:off", "?changes=0.1:offf", "#grid/0.1/", "#grid/0.1/3/sends",
        "#grid/0.1/3/receives/1", "#grid&doc=-", "#grid&x=1"}) {
    refused(concat_text("# A\n## B\n`", address, "`\nx\n"), "line 3: ");
  }
  CHECK(!fs::exists(folder.at("demo.html")));
}

TEST_CASE("page takes every form of a story's address", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string page_engine = engine(folder);
  for (const char* address :
       {"?changes=0.1:scale,mlp.0:scale5.,layer.0:scale0.25,0.0:freeze", "?carry=resid_post.0",
        "?carry=0.1:5>15", "?carry=mlp_out.0:0>1", "#model", "#grid/0.1/3/receives&doc=-1&beside=2",
        "#neuron/0.0&doc=3"}) {
    INFO(address);
    write_file(folder.at("story.md"), concat_text("# A\n## B\n`", address, "`\nx\n"));
    output_of(words("page", model, "--out", folder.at("demo.html"), "--engine", page_engine,
                    "--story", folder.at("story.md"), "--views heads"));
    fs::remove(folder.at("demo.html"));
  }
}

TEST_CASE("page has the tabs of --views", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = model_of_bytes(folder);
  const std::string page_engine = engine(folder);
  const auto error = [&](const std::string& views) {
    const ProgramResult result = run_headlight(words("page", model, "--out", folder.at("demo.html"),
                                                     "--engine", page_engine, "--views", views));
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK(contains(error("heads,lens"),
                 "--views: expected write, chat, heads, layers or pair, got 'lens'"));
  CHECK(contains(error("heads,heads"), "--views: names heads twice"));
}

TEST_CASE("page has a tab for training, also without a model", "[cli]") {
  const TemporaryFolder folder;
  const std::string page_engine = engine(folder);
  write_file(folder.at("words.txt"), "Words to learn from.");
  const std::string out = folder.at("demo.html");
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "page");
    arguments.insert(arguments.end(), {"--out", out, "--engine", page_engine});
    return run_headlight(arguments);
  };
  REQUIRE(run({"--train", "--data", folder.at("words.txt")}).exit_code == 0);
  const std::string html = file_contents(out);
  CHECK(contains(html, "\"training\":{\"text\":\"Words to learn from.\",\"mixed\":false}"));
  CHECK(contains(html, "\"bytes\":0,"));
  CHECK(contains(html, "\"pair\",\"train\"]"));
  CHECK(embedded(html, kModel).empty());
  CHECK(embedded(html, kProgram) == "program");
  const std::string model = model_of_bytes(folder);
  REQUIRE(run({model, "--train", "--data", folder.at("words.txt"), "--views", "heads"}).exit_code ==
          0);
  CHECK(contains(file_contents(out), "\"views\":[\"heads\",\"train\"]"));
  CHECK(!embedded(file_contents(out), kModel).empty());
  fs::create_directory(folder.at("data"));
  write_file(folder.at("data/toy.txt"), "The corpus.");  // beside the folder of the engine
  REQUIRE(run({"--train"}).exit_code == 0);
  CHECK(contains(file_contents(out), "{\"text\":\"The corpus.\",\"mixed\":true}"));
}

TEST_CASE("page names what training lacks", "[cli]") {
  const TemporaryFolder folder;
  const std::string page_engine = engine(folder);
  write_file(folder.at("latin.txt"), "caf\xE9");
  const auto error = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "page");
    arguments.insert(arguments.end(), {"--out", folder.at("demo.html"), "--engine", page_engine});
    const ProgramResult result = run_headlight(arguments);
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK(contains(error({}), "expected a MODEL, or --train"));
  CHECK(contains(error({"--train"}), "--data: expected a text to learn from"));
  CHECK(contains(error({"--train", "--data", folder.at("latin.txt")}), "expected UTF-8 text"));
  CHECK(contains(error({"--train", "--weights", "int8"}), "--weights: needs a MODEL"));
  CHECK(contains(error({model_of_bytes(folder), "--data", folder.at("latin.txt")}),
                 "--data: needs --train"));
}
}  // namespace page_test
