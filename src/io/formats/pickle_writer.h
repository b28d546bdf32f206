#pragma once

#include <string>
#include <string_view>

#include "headlight/tensor/shape.h"

namespace headlight {

// Writes the machine code of Python's pickle, protocol 2
// (https://docs.python.org/3/library/pickletools.html): every call pushes a value onto the stack of
// the program that reads it, or joins values that are there.
class PickleWriter {
 public:
  PickleWriter() : code_("\x80\x02") {}

  void text(std::string_view value);  // UTF-8
  void integer(Index value);
  void number(double value);
  void boolean(bool value) { code_ += value ? '\x88' : '\x89'; }
  void none() { code_ += 'N'; }

  // A dictionary: begin_dictionary(), then key and value in turn, then end_dictionary().
  void begin_dictionary() { code_ += "}("; }
  void end_dictionary() { code_ += 'u'; }
  // A tuple: begin_tuple(), its values, end_tuple().
  void begin_tuple() { code_ += '('; }
  void end_tuple() { code_ += 't'; }
  void integers(const Shape& values);  // as a tuple

  // A name of a module, such as "collections" "OrderedDict".
  void global(std::string_view module, std::string_view name);
  // Calls the global below with the tuple on top.
  void call() { code_ += 'R'; }
  // Turns the tuple on top into what the reader's persistent_load makes of it.
  void persistent() { code_ += 'Q'; }

  // The whole program; nothing may be added afterwards.
  std::string finish();

 private:
  void append(std::uint64_t value, int bytes);  // little endian

  std::string code_;
};

}  // namespace headlight
