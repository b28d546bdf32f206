#pragma once

#include <string>

#include "show/html/page_files.h"

namespace headlight {

// Returns `main` and all modules that it imports as one script.
//
// Each module follows its imports, without import statements, the word `export` and unindented
// comments, in a function of its own. The page stays one file that opens from a disk, and its
// policy allows only this script. Import maps would need scripts from data: URLs, and a bundler is
// one more program to install.
//
// Throws Error "MODULE: ..." if a module breaks one of these rules. Imports have the form
// `import {name, ...} from './file.js';`, or '/file.js' from the folder of `main`. The imported
// module exports a declaration of that name. No two modules export a variable (`export let`) of the
// same name. No module imports itself, even through others.
std::string page_script(const PageReader& read, const std::string& main = "main.js");

}  // namespace headlight
