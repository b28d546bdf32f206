#include <sys/stat.h>
#include <unistd.h>

#include "support/bytes/compressed.h"
#include "support/programs/session.h"
#include "support/rows.h"
#include "support/test.h"

namespace text_source_test {
using namespace std::string_literals;

// A folder with one text file that is rewritten.
struct Folder : TemporaryFolder {
  fs::path file(const std::string& bytes) const { return write("x.txt", bytes); }
};

TEST_CASE("a text file larger than one read is read whole") {
  const Folder folder;
  const std::string text = joined(400000, [&](int i) { return std::to_string(i) + "\n"; });
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

TEST_CASE("a text file is read in UTF-8 with plain line ends, or refused as what it is") {
  const std::u16string latin = u"One day.\n";
  const std::u16string korean = u"\uAC00\uB098 \uB2E4\uB77C, 3\n";
  const Folder folder;
  const auto answer = [&](const std::string& bytes) {
    std::string text;
    const std::string path = folder.file(bytes);
    const std::string error = error_of([&] { text = read_text_file(path); });
    return error == "no error" ? text
                               : replaced_all(error, {{folder.at("x"), "F"}, {"F.txt: ", ": "}});
  };
  check_rows("datasets/text_files.txt",
             [&](const Row& row) { return answer(unescaped(row.given)); });
  for (const auto& [bytes, expected] : std::map<std::string, std::string>{
           {"a\n\0b\xED\x95\x9C"s, "a\n\0b\xED\x95\x9C"s},
           {"hi\xEF\xBB\xBF", "hi\xEF\xBB\xBF"},
           {"a\r\n\r\nb\rc\r\r\n\r", "a\n\nb\rc\r\n\r"},
           {"one\0two\0three\0four\0"s, "one\0two\0three\0four\0"s},  // a list of names
           {"", ": is empty"},
           {utf16(latin, true, true), ": ...got UTF-16; ...iconv -f UTF-16 -t UTF-8 ..."},
           {utf16(latin, true, false), ": expected UTF-8, got UTF-16BE; ..."},
           {utf16(latin, false, true), ": expected UTF-8, got UTF-16; ... F.txt > F.utf8.txt"},
           {utf16(korean, true, true), ": expected UTF-8, got UTF-16; ..."},
           {utf16(korean, false, false), ": expected UTF-8, got UTF-16LE; ..."}}) {
    INFO(answer(bytes));
    CHECK(fits(answer(bytes), expected));
  }
}

TEST_CASE("the command that converts a text quotes its name for a shell") {
  const Folder folder;
  const std::string text = utf16(u"One day.", false, true);
  const std::string place = folder.path().string();
  const auto refusal = [&](const std::string& name, const std::string& bytes) {
    return error_of([&] { read_text_file(folder.write(name, bytes)); });
  };
  CHECK(contains(refusal("it's a text", text),
                 "UTF-8 '" + place + "/it'\\''s a text' > '" + place + "/it'\\''s a text.utf8'"));
  CHECK(contains(
      refusal("x.txt.gz", gzip(text)),
      "gzip -dc " + place + "/x.txt.gz | iconv -f UTF-16 -t UTF-8 > " + place + "/x.utf8.txt"));
  CHECK(contains(refusal("a\nb.txt", text), " -t UTF-8 FILE > NEW"));
}

TEST_CASE("a path that is no readable text file is refused in one line without waiting") {
  const Folder folder;
  const auto refused = [&](const fs::path& path, const std::string& message) {
    CHECK(error_of([&] { read_text_file(path); }) == path.string() + ": " + message);
  };
  refused(folder / "none.txt", "No such file or directory");
  refused("", "No such file or directory");
  refused(folder.path(), "is a directory, expected a text file");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  refused(folder / "pipe", "is not a regular file");
  refused("/dev/null", "is not a regular file");
  fs::create_symlink(folder / "none.txt", folder / "link");
  refused(folder / "link", "No such file or directory");
  const fs::path path = folder.file("text");
  fs::permissions(path, fs::perms::none);
  if (geteuid() == 0) {  // the superuser may read everything
    CHECK(read_text_file(path) == "text");
  } else {
    refused(path, "cannot be opened for reading");
  }
  if (fs::exists("/proc/self/mem")) {  // it opens, but its beginning is not readable
    refused("/proc/self/mem", "reading failed at byte 0");
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

TEST_CASE("documents are the same wherever a read buffer ends", "[long]") {
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

TEST_CASE("the position of an invalid byte is counted from the beginning of the file") {
  const std::string bytes = "\xEF\xBB\xBF" + long_text(0) + "\xFFz";
  CHECK(error_of([&] { parts_of(file_of("a.txt", bytes), {}); }) ==
        "a.txt: invalid UTF-8 at byte " + std::to_string(bytes.size() - 2));
  CHECK(error_of([&] { parts_of(file_of("a.txt", bytes.substr(0, 8) + "\xED\x95"), {}); }) ==
        "a.txt: invalid UTF-8 at byte 8");
  CHECK(whole_of(file_of("a", "\xFF\xFE"), {.any_bytes = true}) == "\xFF\xFE");
}

TEST_CASE("each line of a JSON Lines file is a document whatever the split of plain text") {
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

TEST_CASE("invalid JSON Lines are refused with their line number") {
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

TEST_CASE("compressed text of one or several parts is decompressed correctly") {
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

TEST_CASE("compressed data that is cut short or damaged is one error") {
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

TEST_CASE("hundreds of damaged compressed files each give text or one error") {
  std::mt19937 random(7);
  const std::string text = with_unified_line_ends(long_text(0)).substr(0, 20000);
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string name = i % 2 == 0 ? "a.jsonl.gz" : "a.txt.zst";
    std::string bytes = i % 2 == 0 ? gzip(text) : zstandard(text);
    for (int flips = 1 + i % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    }
    const std::string error = error_of([&] { parts_of(file_of(name, bytes), {}); });
    refused += error == "no error" ? 0 : 1;
    CAPTURE(i, error);
    CHECK((error == "no error" || error.starts_with(name + ": ")));
    CHECK(error.find('\n') == std::string::npos);
  }
  CHECK(refused > 300);
}

TEST_CASE(
    "a small compressed file with gigabytes of text is refused where a part must fit into memory",
    "[long]") {
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

TEST_CASE("several files give their documents and every unsplit file gives one document") {
  const TextFile lines = file_of("b.jsonl", "\"two\"\n\"\"\n\"3\"");
  CHECK(read_documents({file_of("a.txt", "one\n"), lines}, {}) == Texts{"one\n", "two", "3"});
  check_error([] { read_documents({file_of("a.txt", "")}, {}); }, {"a.txt", "got none"});
}

TEST_CASE("the bytes of a file are reported once as they are read") {
  const TemporaryFolder folder;
  const std::string text(8'000'000, 'a');
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
