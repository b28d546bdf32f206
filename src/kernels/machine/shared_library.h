#pragma once

#include <string>

namespace headlight {

// A shared library that is loaded at run time and never unloaded. Linking it would slow down the
// start of every command, although few commands need it.
class SharedLibrary {
 public:
  // Loads the library. Throws nothing: is_loaded() is false if that fails. `about` begins the
  // errors of the other functions. Both arguments are literals, so that the check of the bill of
  // materials finds the file name in the program.
  SharedLibrary(const char* about, const char* file);

  bool is_loaded() const { return handle_ != nullptr; }
  // Throws Error "ABOUTFILE cannot be loaded HINT" unless is_loaded().
  void require_loaded(const std::string& hint) const;
  // A function of the library, of the type that the caller declares.
  struct Found {
    void* address;

    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  // Returns the function `name`. Throws Error if the library has none.
  Found find(const char* name) const;

 private:
  const char* about_;
  const char* file_;
  void* handle_;  // null: the library could not be loaded
};

}  // namespace headlight
