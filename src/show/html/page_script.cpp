#include "show/html/page_script.h"

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "headlight/base/error.h"
#include "headlight/base/index.h"

namespace headlight {
namespace {

// Returns an import path relative to the page's folder: "views/head.js", "../dom.js" -> "dom.js".
// A server's path such as "/views/dom.js" begins at that folder.
std::string resolved(const std::string& importer, const std::string& path) {
  if (path.starts_with('/')) {
    return path.substr(1);
  }
  return (std::filesystem::path(importer).parent_path() / path).lexically_normal().generic_string();
}

// Joins a module and its imports into one script. Each module follows its imports, in a scope of
// its own: a function that returns its exports. Exported variables (`export let`) live outside of
// the scopes, because their importers must see every change.
class Bundle {
 public:
  Bundle(const PageReader& read, const std::string& main) : read_(read) { add(main); }

  std::string script() && { return variables_ + script_; }

 private:
  struct Module {
    std::string scope;               // variable that holds the exports
    std::set<std::string> exported;  // without variables
    std::set<std::string> variables;
    std::set<std::string> declared;
    std::string text = {};
    bool is_complete = false;  // false while its imports are added
  };

  const Module& add(const std::string& name) {
    const auto [entry, is_new] = modules_.try_emplace(name);
    Module& module = entry->second;
    require(is_new || module.is_complete, name, ": imports itself through other modules");
    if (is_new) {
      add_lines(name, module);
      module.is_complete = true;
      module.scope = concat_text("scope", ++scopes_);
      std::string exports;
      for (const std::string& exported : module.exported) {
        exports += (exports.empty() ? "" : ", ") + exported;
      }
      script_ += concat_text("const ", module.scope, " = (() => {\n", module.text, "return {",
                             exports, "};\n})();\n");
    }
    return module;
  }

  // Adds the lines without the word `export` and without unindented comments, which would be an
  // eighth of every page.
  void add_lines(const std::string& name, Module& module) {
    std::istringstream lines(read_(name));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("import ")) {
        for (std::string more; line.back() != ';' && std::getline(lines, more);) {
          line += "\n" + more;
        }
        add_import(name, line, module);
      } else if (!line.starts_with("//")) {
        module.text += without_export(name, line, module) + "\n";
      }
    }
  }

  void add_import(const std::string& importer, const std::string& statement, Module& to) {
    static const std::regex kImport(R"(import \{(\w+(?:,\s+\w+)*)\} from '([./][\w./]+)';\s*)");
    static const std::regex kName(R"(\w+)");
    std::smatch match;
    require(std::regex_match(statement, match, kImport), importer,
            ": expected import {name, ...} from './file.js';, got ", statement);
    const std::string names = match[1];
    const std::string path = resolved(importer, match[2]);
    const Module& module = add(path);
    std::string taken;
    for (std::sregex_iterator name(names.begin(), names.end(), kName), end; name != end; ++name) {
      const std::string imported = name->str();
      if (module.variables.count(imported) == 0) {
        require(module.exported.count(imported) > 0, importer, ": imports ", imported, ", which ",
                path, " does not export");
        taken += (taken.empty() ? "" : ", ") + imported;
      }
    }
    if (!taken.empty()) {
      to.text += concat_text("const {", taken, "} = ", module.scope, ";\n");
    }
  }

  // Records the declaration in a line; an unindented line is at the top level. Returns the line
  // without `export`, and without `let` for an exported variable.
  std::string without_export(const std::string& name, std::string line, Module& module) {
    static const std::regex kDeclaration(
        R"((?:(?:async )?function\*? ?|class |const |let |var )(\w*))");
    constexpr std::string_view kExport = "export ";
    const bool is_exported = line.starts_with(kExport);
    line.erase(0, is_exported ? kExport.size() : 0);
    std::smatch match;
    const bool declares =
        std::regex_search(line, match, kDeclaration, std::regex_constants::match_continuous);
    require(declares ? match.length(1) > 0 : !is_exported, name,
            ": expected a function, a class, or one name of const or let, got ", line);
    if (!declares) {
      return line;
    }
    const std::string declared = match[1];
    require(module.declared.insert(declared).second, name, ": declares ", declared, " twice");
    constexpr std::string_view kLet = "let ";
    if (!is_exported || !line.starts_with(kLet)) {
      if (is_exported) {
        module.exported.insert(declared);
      }
      return line;
    }
    const auto [owner, is_new] = owners_.emplace(declared, name);
    require(is_new, name, ": ", owner->second, " exports a variable ", declared, ", too");
    module.variables.insert(declared);
    variables_ += "let " + declared + ";\n";
    return line.substr(kLet.size());
  }

  const PageReader& read_;
  std::map<std::string, Module> modules_;
  std::map<std::string, std::string> owners_;  // exported variable -> module that declares it
  Index scopes_ = 0;
  std::string variables_;
  std::string script_;
};

}  // namespace

std::string page_script(const PageReader& read, const std::string& main) {
  return Bundle(read, main).script();
}

}  // namespace headlight
