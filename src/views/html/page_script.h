#pragma once

#include <string>

#include "views/html/page_files.h"

namespace headlight {

// `main` and all modules that it imports as one module.
//
// Each follows those that it imports, without its import statements, the word `export` and comments
// that are not indented: what the modules declare then stands in one scope. That keeps the page one
// file which opens from a disk and whose policy allows no script but this one; import maps would
// need scripts from data: URLs, and a bundler would be a program more to install. It is enough for
// modules written so that the files work one by one, too, of which this function makes sure:
// imports read `import {name, ...} from './file.js';`, what is exported and imported is declared
// under that name, no two modules declare the same name, and none imports itself by a detour.
//
// Throws Error, naming the module, where one is not written so.
std::string page_script(const PageReader& read, const std::string& main = "main.js");

}  // namespace headlight
