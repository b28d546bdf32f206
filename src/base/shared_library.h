#pragma once

#include <string>

namespace headlight {

// A shared library that is loaded while the program runs, and never unloaded. Libraries that few
// commands need would otherwise cost every start their time and memory.
class SharedLibrary {
 public:
  // Loads the library, if it is there. `about` begins all errors. Both are literals: the file's
  // name can then be found in the program, as the check of its bill of materials does.
  SharedLibrary(const char* about, const char* file);

  bool is_loaded() const { return handle_ != nullptr; }
  // Throws Error "ABOUTFILE cannot be loaded HINT" unless is_loaded().
  void require_loaded(const std::string& hint) const;
  // Throws Error when the library has no function of that name.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;

  const char* about_;
  const char* file_;
  void* handle_;  // null: there is no such library
};

}  // namespace headlight
