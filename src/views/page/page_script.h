#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headlight {

// The text of a file of this folder, by name.
using PageReader = std::function<std::string(const std::string& name)>;

// main.js and all modules that it imports as one module.
//
// Each follows those that it imports, without its import statements and the word `export`: what the
// modules declare then stands in one scope. That keeps the page one file which opens from a disk
// and whose policy allows no script but this one; import maps would need scripts from data: URLs,
// and a bundler would be a program more to install. It is enough for modules written so that the
// files work one by one, too, of which this function makes sure: imports read
// `import {name, ...} from './file.js';`, what is exported and imported is declared under that
// name, no two modules declare the same name, and none imports itself by a detour.
//
// Throws Error, naming the module, where one is not written so.
std::string page_script(const PageReader& read);

}  // namespace headlight
