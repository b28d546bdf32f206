#include <sys/stat.h>
#include <unistd.h>

#include "support/bytes/compressed.h"
#include "support/test.h"

namespace text_source_test {
using namespace std::string_literals;

// A folder with one text file that is rewritten.
struct Folder : TemporaryFolder {
  fs::path file(const std::string& bytes) const { return write("x.txt", bytes); }
};

TEST_CASE("a text file is read byte for byte, NUL and a missing last line end included") {
  const Folder folder;
  CHECK(read_text_file(folder.file("a\n\0b\xED\x95\x9C"s)) == "a\n\0b\xED\x95\x9C"s);
  CHECK(read_text_file(folder.file("x")) == "x");
  CHECK(read_text_file(folder.file("\n")) == "\n");
}

TEST_CASE("a text file larger than one read is read whole") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 400000; ++i) {
    text += std::to_string(i) + "\n";
  }
  CHECK((read_text_file(folder.file(text)) == text));
}

TEST_CASE("a file whose size the system does not know beforehand is read whole") {
  if (fs::exists("/proc/self/status")) {
    const std::string text = read_text_file("/proc/self/status");
    CHECK(text.find("Pid:\t" + std::to_string(getpid())) != std::string::npos);
    CHECK(text.back() == '\n');
  }
  CHECK_FALSE(fs::exists("/proc/self/no such file"));
}

TEST_CASE("a byte order mark is removed and line ends of Windows become plain ones") {
  const Folder folder;
  CHECK(read_text_file(folder.file("\xEF\xBB\xBFhi")) == "hi");
  CHECK(read_text_file(folder.file("hi\xEF\xBB\xBF")) == "hi\xEF\xBB\xBF");
  CHECK(read_text_file(folder.file("a\r\n\r\nb\rc\r\r\n\r")) == "a\n\nb\rc\r\n\r");
}

TEST_CASE("an empty text file is refused") {
  const Folder folder;
  const std::string name = (folder / "x.txt").string();
  CHECK_THROWS_WITH(read_text_file(folder.file("")), name + ": is empty");
  CHECK_THROWS_WITH(read_text_file(folder.file("\xEF\xBB\xBF")), name + ": is empty");
}

TEST_CASE("a text file that is not UTF-8 is refused, naming the byte in the file") {
  const Folder folder;
  const std::string name = (folder / "x.txt").string();
  CHECK_THROWS_WITH(read_text_file(folder.file("ab\r\n\xFF")), name + ": invalid UTF-8 at byte 4");
  CHECK_THROWS_WITH(read_text_file(folder.file("\xEF\xBB\xBF\xC3")),
                    name + ": invalid UTF-8 at byte 3");
}

TEST_CASE("a text file that looks like CP949 is refused with the command that converts it") {
  const Folder folder;
  const std::string name = (folder / "x.txt").string();
  const std::string hint = " (if it is CP949: iconv -f CP949 -t UTF-8 " + name + " > " +
                           (folder / "x.utf8.txt").string() + ")";
  const std::string greeting = "\xBE\xC8\xB3\xE7\xC7\xCF\xBC\xBC\xBF\xE4";
  CHECK_THROWS_WITH(read_text_file(folder.file("ab " + greeting + "\n")),
                    name + ": invalid UTF-8 at byte 3" + hint);
  // The first pair is also a UTF-8 character.
  CHECK_THROWS_WITH(read_text_file(folder.file("\xC7\xB0" + greeting)),
                    name + ": invalid UTF-8 at byte 2" + hint);
  CHECK_THROWS_WITH(read_text_file(folder.file("d\xE9j\xE0 vu, \xE9t\xE9")),
                    contains_text(": invalid UTF-8 at byte 1 (if it is Latin-1: iconv -f "
                                  "ISO-8859-1 -t UTF-8 "));
  CHECK_THROWS_WITH(read_text_file(folder.file("he said \x93no\x94, and \xE9")),
                    contains_text("iconv -f WINDOWS-1252"));
  // UTF-8 with a broken byte gets no hint.
  CHECK_THROWS_WITH(read_text_file(folder.file("\xED\x95\x9C\xEA\xB5\xAD\xFF\xEC\x96\xB4")),
                    name + ": invalid UTF-8 at byte 6");
}

// The text as UTF-16, from characters below U+10000.
std::string utf16(const std::u16string& text, bool big, bool has_mark) {
  std::string bytes;
  for (const char16_t unit : (has_mark ? u"\uFEFF" : u"") + text) {
    const auto high = static_cast<char>(unit >> 8);
    const auto low = static_cast<char>(unit & 0xFF);
    bytes += big ? high : low;
    bytes += big ? low : high;
  }
  return bytes;
}

TEST_CASE("a text in UTF-16 is refused with the command that converts it") {
  const Folder folder;
  const std::string name = (folder / "x.txt").string();
  const std::string target = (folder / "x.utf8.txt").string();
  const auto refused = [&](const std::string& encoding) {
    return name + ": expected UTF-8, got " + encoding + "; convert it: iconv -f " + encoding +
           " -t UTF-8 " + name + " > " + target;
  };
  for (const std::u16string text : {u"One day.\n", u"\uAC00\uB098 \uB2E4\uB77C, 3\n"}) {
    for (const bool big : {false, true}) {
      CHECK_THROWS_WITH(read_text_file(folder.file(utf16(text, big, true))), refused("UTF-16"));
      CHECK_THROWS_WITH(read_text_file(folder.file(utf16(text, big, false))),
                        refused(big ? "UTF-16BE" : "UTF-16LE"));
    }
  }
  CHECK_THROWS_WITH(read_text_file(folder.file("\xFF\xFE\0\0a\0\0\0"s)), refused("UTF-32"));
  // A few zero bytes are text, as in a list of names that end with them.
  const std::string names = "one\0two\0three\0four\0"s;
  CHECK(read_text_file(folder.file(names)) == names);
}

TEST_CASE("files of tables and documents are refused as such") {
  const Folder folder;
  const auto refused = [&](const std::string& content, const std::string& name) {
    CHECK_THROWS_WITH(read_text_file(folder.file(content)),
                      contains_text("expected text in UTF-8, got " + name));
  };
  refused("PAR1\x15\x04\x15\x10", "a Parquet file; write its rows as JSON lines");
  refused("ARROW1\0\0\x10"s, "an Arrow file");
  refused("SQLite format 3\0\x10"s, "an SQLite database");
  refused("PK\x03\x04\x14", "a zip archive");
  refused("%PDF-1.7\n", "a PDF file; convert it with pdftotext");
  CHECK(read_text_file(folder.file("PAR1 is a word")) == "PAR1 is a word");
}

TEST_CASE("the command that converts a text quotes its name for a shell") {
  const Folder folder;
  const fs::path path = folder / "it's a text";
  std::ofstream(path, std::ios::binary) << utf16(u"One day.", false, true);
  CHECK_THROWS_WITH(read_text_file(path),
                    contains_text("UTF-8 '" + folder.path().string() + "/it'\\''s a text' > '" +
                                  folder.path().string() + "/it'\\''s a text.utf8'"));
  const fs::path packed = folder / "x.txt.gz";
  std::ofstream(packed, std::ios::binary) << gzip(utf16(u"One day.", false, true));
  CHECK_THROWS_WITH(
      read_text_file(packed),
      contains_text("convert it: gzip -dc " + packed.string() + " | iconv -f UTF-16 -t UTF-8 > " +
                    (folder / "x.utf8.txt").string()));
  const fs::path strange = folder / "a\nb.txt";
  std::ofstream(strange, std::ios::binary) << utf16(u"One day.", false, true);
  CHECK_THROWS_WITH(read_text_file(strange), contains_text(" -t UTF-8 FILE > NEW"));
}

TEST_CASE("a path that is no text file is refused in one line without waiting") {
  const Folder folder;
  const fs::path missing = folder / "none.txt";
  CHECK_THROWS_WITH(read_text_file(missing), missing.string() + ": No such file or directory");
  CHECK_THROWS_WITH(read_text_file(""), ": No such file or directory");
  CHECK_THROWS_WITH(read_text_file(folder.path()),
                    folder.path().string() + ": is a directory, expected a text file");
  const fs::path pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_text_file(pipe), pipe.string() + ": is not a regular file");
  CHECK_THROWS_WITH(read_text_file("/dev/null"), "/dev/null: is not a regular file");
  const fs::path link = folder / "link";
  fs::create_symlink(missing, link);
  CHECK_THROWS_WITH(read_text_file(link), link.string() + ": No such file or directory");
}

TEST_CASE("a text file that cannot be read is refused") {
  const Folder folder;
  const fs::path path = folder.file("text");
  fs::permissions(path, fs::perms::none);
  if (geteuid() == 0) {  // the superuser may read everything
    CHECK(read_text_file(path) == "text");
  } else {
    CHECK_THROWS_WITH(read_text_file(path), path.string() + ": cannot be opened for reading");
  }
  if (fs::exists("/proc/self/mem")) {  // it opens, but its beginning is not readable
    CHECK_THROWS_WITH(read_text_file("/proc/self/mem"), "/proc/self/mem: reading failed at byte 0");
  }
}

using Texts = std::vector<std::string>;

TextFile file_of(const std::string& name, const std::string& bytes) {
  return {.path = name, .held = std::make_shared<const std::string>(bytes)};
}

Texts parts_of(const TextFile& file, const TextFormat& format) {
  Texts parts;
  bool numbered = true;
  read_text(file, format, [&](const TextPart& part) {
    numbered = numbered && part.number == static_cast<Index>(parts.size());
    parts.emplace_back(part.text);
  });
  CHECK(numbered);
  return parts;
}

std::string whole_of(const TextFile& file, const TextFormat& format) {
  std::string whole;
  for (const std::string& part : parts_of(file, format)) {
    whole += part;
  }
  return whole;
}

TextFormat with_key(const std::string& key) {
  TextFormat format;
  format.jsonl = key;
  return format;
}

TextFormat cut_at(DocumentSplit mode) { return {.split = {.mode = mode}}; }

// Returns a text longer than one read, with line ends, characters and separators on both sides of
// the border.
std::string long_text(int shift) {
  std::string text(static_cast<std::size_t>(shift), 'x');
  while (text.size() < std::size_t{9} << 19) {
    text += "\xED\x95\x9C one\r\n \t\r\n\r\ntwo\xC3\xA9<|endoftext|><|endoftext|>\r\n3\n\n";
  }
  return text;
}

std::string with_unified_line_ends(const std::string& bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes.compare(at, 2, "\r\n") != 0) {
      text += bytes[at];
    }
  }
  return text;
}

TEST_CASE("documents are the same wherever a read buffer ends", "[io]") {
  for (int shift = 0; shift < 48; shift += 15) {
    const std::string bytes = long_text(shift);
    const std::string text = with_unified_line_ends(bytes);
    const TextFile file = file_of("a.txt", bytes);
    for (const DocumentSplit mode :
         {DocumentSplit::line, DocumentSplit::blank_line, DocumentSplit::token}) {
      INFO(shift << " " << static_cast<int>(mode));
      CHECK((parts_of(file, cut_at(mode)) == split_documents(text, {.mode = mode})));
    }
    for (const StreamCut cut :
         {StreamCut::character, StreamCut::piece, StreamCut::line, StreamCut::end}) {
      const Texts parts = parts_of(file, {.cut = cut});
      CHECK((parts.size() > 1) == (cut != StreamCut::end));
      CHECK((whole_of(file, {.cut = cut}) == text));
      CHECK((whole_of(file, {.cut = cut, .as_it_is = true, .any_bytes = true}) == bytes));
    }
  }
}

TEST_CASE("the position of an invalid byte is counted from the beginning of the file", "[io]") {
  const std::string bytes = "\xEF\xBB\xBF" + long_text(0) + "\xFFz";
  CHECK(error_of([&] { parts_of(file_of("a.txt", bytes), {}); }) ==
        "a.txt: invalid UTF-8 at byte " + std::to_string(bytes.size() - 2));
  CHECK(error_of([&] { parts_of(file_of("a.txt", bytes.substr(0, 8) + "\xED\x95"), {}); }) ==
        "a.txt: invalid UTF-8 at byte 8");
  CHECK(whole_of(file_of("a", "\xFF\xFE"), {.any_bytes = true}) == "\xFF\xFE");
}

TEST_CASE("each line of a JSON Lines file is a document whatever the split of plain text", "[io]") {
  const std::string lines =
      "\xEF\xBB\xBF{\"id\": 1, \"text\": \"one\\n\\ntwo\"}\r\n\n\"three\"\n \n{\"text\": \"\"}\n"
      "{\"text\": \"\\uD55C<|endoftext|>\"}";
  const Texts expected{"one\n\ntwo", "three", "", "\xED\x95\x9C<|endoftext|>"};
  for (const DocumentSplit mode : {DocumentSplit::none, DocumentSplit::line,
                                   DocumentSplit::blank_line, DocumentSplit::token}) {
    CHECK(parts_of(file_of("a.jsonl", lines), cut_at(mode)) == expected);
  }
  CHECK(parts_of(file_of("a.ndjson", lines), {}) == expected);
  CHECK(parts_of(file_of("a.txt", lines), with_key("text")) == expected);
  CHECK(parts_of(file_of("a.txt", "{\"content\": \"x\"}"), with_key("content")) == Texts{"x"});
  CHECK(parts_of(file_of("a.txt", "{}"), {}) == Texts{"{}"});
  CHECK(parts_of(file_of("a.jsonl", ""), {}).empty());
  const TextFormat format;
  CHECK(format.gives_documents(file_of("a.jsonl.gz", "")));
  CHECK_FALSE(format.gives_documents(file_of("a.txt", "")));
}

TEST_CASE("invalid JSON Lines are refused with their line number", "[io]") {
  const auto refusal = [](const std::string& lines) {
    return error_of([&] { parts_of(file_of("a.jsonl", lines), {}); });
  };
  CHECK(refusal("\"a\"\n\n{\"id\": 3, \"content\": \"x\", \"title\": \"y\"}\n") ==
        "a.jsonl: line 3: key \"text\" is missing; choose another with --jsonl: \"content\", "
        "\"title\"; the names of a question and its answer are \"prompt\" and \"completion\"");
  CHECK(contains(refusal("{\"dialog\": [{\"role\": \"user\"}]}"), "with --jsonl: \"dialog\""));
  CHECK(refusal("{}") == "a.jsonl: line 1: key \"text\" is missing");
  CHECK(refusal("{\"text\": 3}") == "a.jsonl: line 1: \"text\" must be a string, got number");
  CHECK(refusal("[1]") == "a.jsonl: line 1: expected a JSON object or string, got array");
  CHECK(contains(refusal("\"a\"\n{\"text\": \"b"), "a.jsonl: line 2: invalid JSON"));
  CHECK(contains(refusal("a"), "expected JSON Lines such as {\"text\": \"One day\"}"));
  CHECK(contains(refusal("\"a\" \"b\""), "a.jsonl: line 1: invalid JSON"));
  CHECK(refusal("\"a\"\n\"\xFF\"") == "a.jsonl: invalid UTF-8 at byte 5");
}

TEST_CASE("compressed text of one or several parts is decompressed correctly", "[io]") {
  const std::string text = with_unified_line_ends(long_text(3));
  CHECK((whole_of(file_of("a.txt.gz", gzip(text)), {}) == text));
  CHECK((whole_of(file_of("a.txt.zst", zstandard(text)), {}) == text));
  CHECK(whole_of(file_of("a.gz", gzip("one ") + gzip("") + gzip("two")), {}) == "one two");
  CHECK(whole_of(file_of("a.zst", zstandard("one ") + zstandard("") + zstandard("two")), {}) ==
        "one two");
  CHECK(parts_of(file_of("a.jsonl.gz", gzip("\"x\"\n")), {}) == Texts{"x"});
  // Without the ending, the first bytes decide, unless the file may hold any bytes.
  CHECK(whole_of(file_of("a.txt", gzip("one")), {}) == "one");
  CHECK(whole_of(file_of("-", zstandard("one")), {.any_bytes = true}) == "one");
  CHECK(whole_of(file_of("a", gzip("one")), {.any_bytes = true}) == gzip("one"));
}

TEST_CASE("compressed data that is cut short or damaged is one error", "[io]") {
  const std::string text = "the cat and the hat, the rat and the bat and 1234567890";
  for (const std::string& name : {"a.gz"s, "a.zst"s}) {
    const std::string bytes = name == "a.gz" ? gzip(text) : zstandard(text);
    const auto refusal = [&](const std::string& damaged) {
      return error_of([&] { whole_of(file_of(name, damaged), {.any_bytes = true}); });
    };
    for (std::size_t length = 1; length < bytes.size(); ++length) {
      CAPTURE(name, length);
      CHECK(contains(refusal(bytes.substr(0, length)), name + ": ends in the middle of its "));
    }
    CHECK(contains(refusal(bytes + "more of it"), name + ": damaged "));
    CHECK(contains(refusal("plain text, not compressed"), name + ": damaged "));
    CHECK(refusal("") == "no error");
  }
}

TEST_CASE("hundreds of damaged compressed files each give text or one error", "[io]") {
  std::mt19937 random(7);
  const std::string text = with_unified_line_ends(long_text(0)).substr(0, 20000);
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string name = i % 2 == 0 ? "a.jsonl.gz" : "a.txt.zst";
    std::string bytes = i % 2 == 0 ? gzip(text) : zstandard(text);
    for (int flips = 1 + i % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    }
    std::string error;
    try {
      parts_of(file_of(name, bytes), {});
    } catch (const Error& caught) {
      error = caught.what();
      ++refused;
    }
    CAPTURE(i, error);
    CHECK((error.empty() || error.starts_with(name + ": ")));
    CHECK(error.find('\n') == std::string::npos);
  }
  CHECK(refused > 300);
}

TEST_CASE(
    "a small compressed file with gigabytes of text is refused where a part must fit into memory",
    "[io]") {
  std::string bomb;
  const std::string zeros = gzip(std::string(std::size_t{40} << 20, '\0'));
  for (int i = 0; i < 4; ++i) {
    bomb += zeros;
  }
  const TextFile file = file_of("bomb.gz", bomb);
  const auto refusal = [&](const TextFormat& format) {
    return error_of([&] { parts_of(file, format); });
  };
  CHECK(refusal({}) ==
        "bomb.gz: no word ends within 134217728 bytes after byte 0, so the text cannot be read in "
        "parts");
  CHECK(contains(refusal(cut_at(DocumentSplit::line)), "bomb.gz: no end of line within 134217728"));
  CHECK(contains(refusal(with_key("text")), "bomb.gz: line 1: longer than 134217728 bytes"));
}

TEST_CASE("several files give their documents and every unsplit file gives one document", "[io]") {
  const TextFile lines = file_of("b.jsonl", "\"two\"\n\"\"\n\"3\"");
  CHECK(read_documents({file_of("a.txt", "one\n"), lines}, {}) == Texts{"one\n", "two", "3"});
  CHECK(error_of([] { read_documents({file_of("a.txt", "")}, {}); }) ==
        "a.txt: expected a text, got none");
}

TEST_CASE("the bytes of a file are reported once as they are read", "[io]") {
  const TemporaryFolder folder;
  const std::string text(10'000'000, 'a');
  for (const bool is_compressed : {false, true}) {
    const std::string bytes = is_compressed ? gzip(text) : text;
    const fs::path path = folder / (is_compressed ? "a.txt.gz" : "a.txt");
    write_bytes(path, bytes);
    Index read = 0;
    TextFile file{.path = path.string()};
    file.on_read = [&](Index count) { read += count; };
    read_text(file, {.cut = StreamCut::character}, [](const TextPart&) {});
    CHECK(read == std::ssize(bytes));
  }
}
}  // namespace text_source_test
