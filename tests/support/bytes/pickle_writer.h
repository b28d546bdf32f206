#pragma once

#include "support/test.h"

namespace headlight {

// Writer of Python's pickle, protocol 2 (https://docs.python.org/3/library/pickletools.html). Every
// call pushes a value onto the reader's stack, or combines values on it.
class PickleWriter {
 public:
  PickleWriter() : code_("\x80\x02") {}

  void text(std::string_view value);  // UTF-8
  void integer(Index value);
  void number(double value);
  void boolean(bool value) { code_ += value ? '\x88' : '\x89'; }
  void none() { code_ += 'N'; }

  // Writes a dictionary: begin_dictionary(), then keys and values in turn, then end_dictionary().
  void begin_dictionary() { code_ += "}("; }
  void end_dictionary() { code_ += 'u'; }
  // Writes a tuple: begin_tuple(), its values, end_tuple().
  void begin_tuple() { code_ += '('; }
  void end_tuple() { code_ += 't'; }
  void integers(const Shape& values);  // as a tuple

  // Pushes a name of a module, for example "collections" "OrderedDict".
  void global(std::string_view module, std::string_view name);
  // Calls the global below the top with the tuple on top.
  void call() { code_ += 'R'; }
  // Replaces the tuple on top by the result of the reader's persistent_load.
  void persistent() { code_ += 'Q'; }

  // Returns the whole pickle. No calls may follow.
  std::string finish();

 private:
  void append(std::uint64_t value, int bytes);  // little endian

  std::string code_;
};

// Writes nanoGPT's meta.pkl of a tokenizer, and its special tokens as ids without a character.
void write_nanogpt_vocabulary(const std::filesystem::path& path, const CharTokenizer& tokenizer);

}  // namespace headlight
