#include "show/html/page_script.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
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

// Takes the word at the start of a text; "" if there is none.
std::string take_script_word(std::string_view& text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_part);
  const std::string word(text.begin(), end);
  text.remove_prefix(word.size());
  return word;
}

void skip_any_of(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

// Returns the name that a line declares, "" for a pattern such as {a, b}; nothing for other lines.
std::optional<std::string> declared_in(std::string_view line) {
  static constexpr std::array<std::string_view, 6> kBegins{"async function", "function", "class ",
                                                           "const ",         "let ",     "var "};
  for (const std::string_view begin : kBegins) {
    if (line.starts_with(begin)) {
      line.remove_prefix(begin.size());
      skip_any_of(line, "* ");
      return take_script_word(line);
    }
  }
  return std::nullopt;
}

// The parts of `import {name, ...} from './file.js';`.
struct ScriptImport {
  std::vector<std::string> names;
  std::string path;
};

// Returns nothing if the statement has another form.
std::optional<ScriptImport> import_in(std::string_view statement) {
  ScriptImport parts;
  for (std::string_view begin = "import {"; statement.starts_with(begin); begin = ",") {
    statement.remove_prefix(begin.size());
    skip_any_of(statement, " \n");
    parts.names.push_back(take_script_word(statement));
  }
  constexpr std::string_view kFrom = "} from '";
  const std::size_t end = statement.find("';");
  if (!statement.starts_with(kFrom) || end == statement.npos) {
    return std::nullopt;
  }
  parts.path = statement.substr(kFrom.size(), end - kFrom.size());
  const bool is_relative = parts.path.starts_with('.') || parts.path.starts_with('/');
  const bool has_names = std::count(parts.names.begin(), parts.names.end(), "") == 0;
  return is_relative && has_names ? std::optional(parts) : std::nullopt;
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
    const std::optional<ScriptImport> parts = import_in(statement);
    require(parts.has_value(), importer, ": expected import {name, ...} from './file.js';, got ",
            statement);
    const std::string path = resolved(importer, parts->path);
    const Module& module = add(path);
    std::string taken;
    for (const std::string& imported : parts->names) {
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
    constexpr std::string_view kExport = "export ";
    const bool is_exported = line.starts_with(kExport);
    line.erase(0, is_exported ? kExport.size() : 0);
    const std::optional<std::string> declaration = declared_in(line);
    require(declaration ? !declaration->empty() : !is_exported, name,
            ": expected a function, a class, or one name of const or let, got ", line);
    if (!declaration) {
      return line;
    }
    const std::string& declared = *declaration;
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
