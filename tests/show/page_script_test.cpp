#include "show/html/page_script.h"
#include "show/attention_samples.h"
#include "support/test.h"

namespace page_script_test {
using Modules = std::map<std::string, std::string>;

std::string script_of(const Modules& modules) {
  return page_script([&](const std::string& name) { return modules.at(name); });
}

TEST_CASE("The page's modules are joined into one script") {
  const std::string script =
      "\n" + page_script(page_file) + page_script(page_file, "results/main.js");
  int exporting = 0;
  for (const EmbeddedFile& file : page_files()) {
    const std::string_view text = file.contents;
    const std::size_t first_export = text.find("\nexport ");
    if (first_export != text.npos) {
      INFO(file.name);
      const std::size_t begin = first_export + std::string_view("\nexport ").size();
      const std::string line(text.substr(begin, text.find('\n', begin) - begin));
      CHECK(contains(script, "\n" + line.substr(line.starts_with("let ") ? 4 : 0) + "\n"));
      ++exporting;
    }
  }
  CHECK(exporting > 20);
  CHECK(contains(script, "openPage(pageData)"));
  check_lacks(script, {"\nimport ", "\nexport "});
}

TEST_CASE("A module appears once and after those that it imports") {
  CHECK(script_of({{"main.js",
                    "// main\n"
                    "import {a} from './views/a.js';\n"
                    "import {b, c,\n        d} from '/b.js';\n"
                    "\n"
                    "a(b, c, d);\n"},
                   {"views/a.js", "import {b} from '../b.js';\nexport const a = () => b;\n"},
                   {"b.js",
                    "export async function b() {\n  // why\n  const a = 1;\n}\n"
                    "export let c = 2;\nexport class d {}\nconst own = 3;\n"}}) ==
        "let c;\n"
        "const scope1 = (() => {\n"
        "async function b() {\n  // why\n  const a = 1;\n}\nc = 2;\nclass d {}\nconst own = 3;\n"
        "return {b, d};\n})();\n"
        "const scope2 = (() => {\nconst {b} = scope1;\nconst a = () => b;\nreturn {a};\n})();\n"
        "const scope3 = (() => {\nconst {a} = scope2;\nconst {b, d} = scope1;\n"
        "\na(b, c, d);\nreturn {};\n})();\n");
}

TEST_CASE("Modules that cannot be joined are refused") {
  const auto error = [](const std::string& main, const std::string& other) {
    return error_of([&] { script_of({{"main.js", main}, {"b.js", other}}); });
  };
  const std::string import = "import {b} from './b.js';\n";
  CHECK(error(import, "const b = 1;\n") == "main.js: imports b, which b.js does not export");
  CHECK(error(import + "const c = 1;\n", "export const b = 1;\nconst c = 2;\n") == "no error");
  CHECK(error(import + "export let c = 1;\n", "export let b = 1;\nexport let c = 2;\n") ==
        "main.js: b.js exports a variable c, too");
  CHECK(error("let a = 1;\nfunction a() {}\n", "") == "main.js: declares a twice");
  CHECK(error(import, "import {a} from './main.js';\nexport const b = 1;\n") ==
        "main.js: imports itself through other modules");
  for (const std::string form : {"import './b.js';", "import b from './b.js';",
                                 "import {b as a} from './b.js';", "import {b} from 'b.js';"}) {
    CHECK(error(form, "") == "main.js: expected import {name, ...} from './file.js';, got " + form);
  }
  for (const std::string form : {"default b;", "{b};", "* from './c.js';", "const {b} = c;"}) {
    CHECK(contains(error("export " + form + "\n", ""),
                   "main.js: expected a function, a class, or one name of const or let, got "));
  }
  CHECK(contains(error("const [a, b] = c;\n", ""), "main.js: expected a function"));
}
}  // namespace page_script_test
