#include "views/html/page_script.h"

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "headlight/base/error.h"

namespace headlight {
namespace {

struct Import {
  std::string module;
  std::vector<std::string> names;
};

struct Module {
  std::vector<Import> imports;
  std::set<std::string> declared;  // top-level names
  std::set<std::string> exported;
  std::string script;  // without imports, the word `export`, and unindented comments
};

// Returns an import path relative to the page's folder: "views/head.js", "../dom.js" -> "dom.js".
std::string resolved(const std::string& importer, const std::string& path) {
  return (std::filesystem::path(importer).parent_path() / path).lexically_normal().generic_string();
}

Import parse_import(const std::string& module, const std::string& statement) {
  static const std::regex kImport(R"(import \{(\w+(?:,\s+\w+)*)\} from '(\.[\w./]+)';\s*)");
  static const std::regex kName(R"(\w+)");
  std::smatch match;
  require(std::regex_match(statement, match, kImport), module,
          ": expected import {name, ...} from './file.js';, got ", statement);
  const std::string names = match[1];
  Import result{resolved(module, match[2]), {}};
  for (std::sregex_iterator name(names.begin(), names.end(), kName), end; name != end; ++name) {
    result.names.push_back(name->str());
  }
  return result;
}

// Records the declaration in a line. An unindented line is at the top level.
void add_declaration(const std::string& name, const std::string& line, bool exported,
                     Module& module) {
  static const std::regex kDeclaration(
      R"((?:(?:async )?function\*? ?|class |const |let |var )(\w*))");
  std::smatch match;
  const bool declares =
      std::regex_search(line, match, kDeclaration, std::regex_constants::match_continuous);
  require(declares ? match.length(1) > 0 : !exported, name,
          ": expected a function, a class, or one name of const or let, got ", line);
  if (declares) {
    require(module.declared.insert(match[1]).second, name, ": declares ", match[1].str(), " twice");
  }
  if (exported) {
    module.exported.insert(match[1]);
  }
}

Module parse_module(const std::string& name, const std::string& text) {
  Module module;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("import ")) {
      for (std::string more; line.back() != ';' && std::getline(lines, more);) {
        line += "\n" + more;
      }
      module.imports.push_back(parse_import(name, line));
      continue;
    }
    if (line.starts_with("//")) {
      continue;  // comments on declarations would be an eighth of every page
    }
    constexpr std::string_view kExport = "export ";
    const bool exported = line.starts_with(kExport);
    if (exported) {
      line.erase(0, kExport.size());
    }
    add_declaration(name, line, exported, module);
    module.script += line + "\n";
  }
  return module;
}

// Joins a module and its imports into one script. Each module follows its imports.
class Bundle {
 public:
  Bundle(const PageReader& read, const std::string& main) : read_(read) { add(main); }

  std::string script() && { return std::move(script_); }

 private:
  const Module& add(const std::string& name) {
    const auto known = modules_.find(name);
    if (known != modules_.end()) {
      require(open_.count(name) == 0, name, ": imports itself through other modules");
      return known->second;
    }
    Module& module = modules_[name] = parse_module(name, read_(name));
    open_.insert(name);
    for (const Import& import : module.imports) {
      add_import(name, import);
    }
    open_.erase(name);
    for (const std::string& declared : module.declared) {
      const auto [other, is_new] = owners_.emplace(declared, name);
      require(is_new, name, ": ", other->second, " declares ", declared, ", too");
    }
    script_ += module.script;
    return module;
  }

  void add_import(const std::string& importer, const Import& import) {
    const Module& module = add(import.module);
    for (const std::string& name : import.names) {
      require(module.exported.count(name) > 0, importer, ": imports ", name, ", which ",
              import.module, " does not export");
    }
  }

  const PageReader& read_;
  std::map<std::string, Module> modules_;
  std::set<std::string> open_;                 // modules whose imports are being added
  std::map<std::string, std::string> owners_;  // name -> module that declares it
  std::string script_;
};

}  // namespace

std::string page_script(const PageReader& read, const std::string& main) {
  return Bundle(read, main).script();
}

}  // namespace headlight
