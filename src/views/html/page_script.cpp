#include "views/html/page_script.h"

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "headlight/base/error.h"

namespace headlight {
namespace {

// Returns an import path relative to the page's folder: "views/head.js", "../dom.js" -> "dom.js".
std::string resolved(const std::string& importer, const std::string& path) {
  return (std::filesystem::path(importer).parent_path() / path).lexically_normal().generic_string();
}

// Joins a module and its imports into one script. Each module follows its imports.
class Bundle {
 public:
  Bundle(const PageReader& read, const std::string& main) : read_(read) { add(main); }

  std::string script() && { return std::move(script_); }

 private:
  struct Module {
    std::set<std::string> exported;
    bool is_complete = false;  // false while its imports are added
  };

  const Module& add(const std::string& name) {
    const auto [place, is_new] = modules_.try_emplace(name);
    Module& module = place->second;
    require(is_new || module.is_complete, name, ": imports itself through other modules");
    if (is_new) {
      add_lines(name, module);
      module.is_complete = true;
    }
    return module;
  }

  // Adds the lines without the word `export` and without unindented comments, which would be an
  // eighth of every page.
  void add_lines(const std::string& name, Module& module) {
    constexpr std::string_view kExport = "export ";
    std::istringstream lines(read_(name));
    std::string own;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("import ")) {
        for (std::string more; line.back() != ';' && std::getline(lines, more);) {
          line += "\n" + more;
        }
        add_import(name, line);
      } else if (!line.starts_with("//")) {
        const bool is_exported = line.starts_with(kExport);
        line.erase(0, is_exported ? kExport.size() : 0);
        add_declaration(name, line, is_exported, module);
        own += line + "\n";
      }
    }
    script_ += own;
  }

  void add_import(const std::string& importer, const std::string& statement) {
    static const std::regex kImport(R"(import \{(\w+(?:,\s+\w+)*)\} from '(\.[\w./]+)';\s*)");
    static const std::regex kName(R"(\w+)");
    std::smatch match;
    require(std::regex_match(statement, match, kImport), importer,
            ": expected import {name, ...} from './file.js';, got ", statement);
    const std::string names = match[1];
    const std::string path = resolved(importer, match[2]);
    const Module& module = add(path);
    for (std::sregex_iterator name(names.begin(), names.end(), kName), end; name != end; ++name) {
      require(module.exported.count(name->str()) > 0, importer, ": imports ", name->str(),
              ", which ", path, " does not export");
    }
  }

  // Records the declaration in a line. An unindented line is at the top level.
  void add_declaration(const std::string& name, const std::string& line, bool is_exported,
                       Module& module) {
    static const std::regex kDeclaration(
        R"((?:(?:async )?function\*? ?|class |const |let |var )(\w*))");
    std::smatch match;
    const bool declares =
        std::regex_search(line, match, kDeclaration, std::regex_constants::match_continuous);
    require(declares ? match.length(1) > 0 : !is_exported, name,
            ": expected a function, a class, or one name of const or let, got ", line);
    if (declares) {
      const auto [owner, is_new] = owners_.emplace(match[1], name);
      require(is_new || owner->second != name, name, ": declares ", owner->first, " twice");
      require(is_new, name, ": ", owner->second, " declares ", owner->first, ", too");
    }
    if (is_exported) {
      module.exported.insert(match[1]);
    }
  }

  const PageReader& read_;
  std::map<std::string, Module> modules_;
  std::map<std::string, std::string> owners_;  // name -> module that declares it
  std::string script_;
};

}  // namespace

std::string page_script(const PageReader& read, const std::string& main) {
  return Bundle(read, main).script();
}

}  // namespace headlight
