#include "support/programs/session.h"
#include "support/test.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct SessionLine {
  int number;
  std::string text;
};

struct SessionText {
  std::string name;
  std::vector<SessionLine> lines = {};
};

// Splits a text at the first blank.
std::pair<std::string, std::string> head_and_rest(const std::string& text) {
  const std::size_t blank = text.find(' ');
  return blank == std::string::npos ? std::pair(text, std::string())
                                    : std::pair(text.substr(0, blank), text.substr(blank + 1));
}

std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(separator, begin)) != std::string::npos;) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Returns one session for each value that its line "each NAME A | B" has.
std::vector<SessionText> for_each_value(const SessionText& session) {
  const auto each = std::find_if(session.lines.begin(), session.lines.end(),
                                 [](const auto& line) { return line.text.starts_with("each "); });
  if (each == session.lines.end()) {
    return {session};
  }
  const auto named = head_and_rest(each->text.substr(5));
  std::vector<SessionText> all;
  for (const std::string& value : split_at(named.second, " | ")) {
    SessionText one{session.name + " (" + value + ")"};
    for (const SessionLine& line : session.lines) {
      if (line.number != each->number) {
        one.lines.push_back(
            {line.number, replaced_all(line.text, {{"{" + named.first + "}", value}})});
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<SessionText> sessions_of(const std::string& file) {
  std::ifstream in(HEADLIGHT_SOURCE_DIR "/tests/" + file);
  REQUIRE(in.is_open());
  std::vector<SessionText> sessions;
  std::vector<SessionLine> first;  // lines of every session
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("== ")) {
      sessions.push_back({line.substr(3), first});
    } else if (!line.empty() && line[0] != '#') {
      (sessions.empty() ? first : sessions.back().lines).push_back({number, line});
    }
  }
  return sessions;
}

// True if the text has the parts between "..." in this order.
bool has_in_order(const std::string& text, const std::string& expected) {
  std::size_t at = 0;
  for (const std::string& part : split_at(expected, "...")) {
    at = text.find(part, at);
    if (at == std::string::npos) {
      return false;
    }
    at += part.size();
  }
  return true;
}

// Returns the value at a path such as "rows/-1/loss", "rows/*/loss" (a list of all), "rows#" or "."
// (all); null if there is none.
json value_at(const json& document, const std::string& path) {
  if (path == ".") {
    return document;
  }
  if (const std::size_t star = path.find('*'); star != std::string::npos) {
    json all = json::array();
    const std::string rest = path.substr(std::min(star + 2, path.size()));
    for (const json& element : value_at(document, star == 0 ? "." : path.substr(0, star - 1))) {
      all.push_back(value_at(element, rest.empty() ? "." : rest));
    }
    return all;
  }
  json at = document;
  for (std::string part : split_at(path, "/")) {
    const bool is_size = part.ends_with('#');
    part.resize(part.size() - (is_size ? 1 : 0));
    if (at.is_array() && !part.empty()) {
      const long index = std::stol(part);
      const long place = index < 0 ? index + static_cast<long>(at.size()) : index;
      const bool exists = place >= 0 && place < static_cast<long>(at.size());
      at = exists ? json(at[static_cast<std::size_t>(place)]) : json();
    } else if (!part.empty()) {
      at = at.contains(part) ? json(at[part]) : json();
    }
    at = !is_size ? at : at.is_string() ? json(at.get<std::string>().size()) : json(at.size());
  }
  return at;
}

bool compares(const json& value, const std::string& op, const json& expected) {
  if (value.is_array() && !expected.is_array()) {
    return !value.empty() && std::ranges::all_of(value, [&](const json& element) {
      return compares(element, op, expected);
    });
  }
  if (op == "=" || op == "!=") {
    return op == "=" ? value == expected : value != expected && !value.is_null();
  }
  if (value.is_array()) {
    return value.size() == expected.size() &&
           std::equal(value.begin(), value.end(), expected.begin(),
                      [&](const json& a, const json& b) { return compares(a, op, b); });
  }
  if (!value.is_number() || !expected.is_number()) {
    return op[0] == '~' && value.is_null() && expected.is_null();
  }
  const auto number = value.get<double>();
  const auto limit = expected.get<double>();
  const double most = op == "~5"   ? 5.0001e-6
                      : op == "~4" ? 5.0001e-5
                      : op == "~3" ? 1e-3 * std::abs(limit)
                      : op == "~"  ? 1e-5 * std::abs(limit)
                                   : -1;
  return op == "<" ? number < limit : op == ">" ? number > limit : std::abs(number - limit) <= most;
}

// Document of a text of JSON, or of JSON Lines.
json document_of(const std::string& text) {
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_discarded()) {
    return whole;
  }
  json lines = json::array();
  for (const std::string& line : lines_of(text)) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

// Arrays of a .npz or .safetensors file as JSON, by name: {"type", "shape", "values"}, or
// {"values"} of names of axes.
json arrays_of(const std::string& file) {
  json all = json::object();
  NamedTexts texts;
  for (const auto& [name, tensor] :
       file.ends_with(".npz") ? read_npz(file, &texts) : read_safetensors(file)) {
    all[name] = {{"type", name_of(tensor.dtype())}, {"values", tensor.to_vector()}};
    all[name]["shape"] = json::array();
    for (Index axis = 0; axis < tensor.rank(); ++axis) {
      all[name]["shape"].push_back(tensor.size(axis));
    }
  }
  for (const auto& [name, values] : texts) {
    all[name] = {{"values", values}};
  }
  return all;
}

// Contents of a file, or of the files below a folder by path. Locks name processes, which differ.
std::map<std::string, std::string> contents_of(const std::string& name) {
  if (!fs::is_directory(name)) {
    return {{"", file_contents(name)}};
  }
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(name)) {
    const bool is_read = entry.is_regular_file() && entry.path().filename() != ".lock";
    files[fs::relative(entry.path(), name).string()] = is_read ? file_contents(entry.path()) : "";
  }
  return files;
}

// Returns what a line "keep NAME WHAT" keeps of a text: all of it, a value of JSON, or what stands
// between two parts, "BEFORE...BEHIND".
std::string kept(const std::string& text, const std::string& what) {
  const std::size_t gap = what.find("...");
  if (what.empty()) {
    return text;
  }
  if (gap == std::string::npos) {
    const json value = value_at(document_of(text), what);
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  const std::size_t before = text.find(what.substr(0, gap));
  REQUIRE(before != std::string::npos);
  const std::size_t begin = before + gap;
  return text.substr(begin, text.find(what.substr(gap + 3), begin) - begin);
}

// Joins the texts of a value: those of all elements of a list. An object's text is its JSON; other
// values have none.
std::string joined_texts(const json& value) {
  if (!value.is_array()) {
    return value.is_string() ? value.get<std::string>() : value.is_object() ? value.dump() : "";
  }
  std::string all;
  for (const json& element : value) {
    all += joined_texts(element);
  }
  return all;
}

// Returns a text of "COUNT * TEXT", where {i} counts from 0, or of TEXT alone.
std::string repeated(const std::string& text) {
  const auto [count, more] = head_and_rest(text);
  if (!more.starts_with("* ")) {
    return unescaped(text);
  }
  return joined(std::stoi(count), [one = more.substr(2)](int i) {
    return unescaped(replaced_all(one, {{"{i}", std::to_string(i)}}));
  });
}

// Makes a folder the current one during its lifetime.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

class Session {
 public:
  Session(const ModelMakers& models, const SessionVerbs& verbs) : models_(models), verbs_(verbs) {}

  void run(const std::string& line) {
    if (line.starts_with("  ")) {
      check_last(line.substr(2));
      return;
    }
    const auto [word, rest] = head_and_rest(replaced_all(line, names_));
    if (const auto verb = verbs_.find(word); verb != verbs_.end()) {
      refused_ = false;
      last_ = verb->second(rest);
    } else if (std::string("$!+=").find(word[0]) != std::string::npos) {
      command(word, rest);
    } else if (word == "file") {
      const auto named = head_and_rest(rest);
      check_file(named.first, named.second);
    } else if (word == "@" || word == "append") {
      const auto named = head_and_rest(rest);
      write(named.first, (word == "append" ? file_contents(named.first) : ""), named.second);
    } else if (word == "let") {
      const auto named = head_and_rest(rest);
      names_["{" + named.first + "}"] = repeated(named.second);
    } else {
      change_files(word, rest);
    }
  }

 private:
  void command(const std::string& mark, const std::string& line) {
    Arguments given = split_words(line);
    std::transform(given.begin(), given.end(), given.begin(), unescaped);
    if (mark == "=") {
      base_ = given;
      return;
    }
    refused_ = mark[0] == '!';
    start(mark.back() == '+' || mark[0] == '+' ? changed(base_, given) : given);
    INFO("stdout: " << last_.out.substr(0, 2000) << "\nstderr: " << last_.err.substr(0, 4000));
    const std::string code = mark.substr(mark[0] == '!' ? mark.size() : 1);
    REQUIRE(last_.exit_code == (refused_ ? 2 : code.empty() ? 0 : std::stoi(code)));
    if (refused_) {
      CHECK(last_.out.empty());
      CHECK(last_.messages().size() == 1);
      CHECK(last_.err.starts_with("error: "));
    }
  }

  // Runs the program with what leading words "NAME=VALUE" and "< FILE" or "<< TEXT" give it.
  void start(Arguments words) {
    std::vector<std::string> environment;
    while (!words.empty() && std::isupper(static_cast<unsigned char>(words[0][0])) != 0) {
      environment.push_back(words[0]);
      words.erase(words.begin());
    }
    const std::string mark = words.size() > 2 ? words[words.size() - 2] : "";
    if (mark == "<" || mark == "<<") {
      const std::string input = mark == "<" ? file_contents(words.back()) : words.back();
      last_ = run_headlight_reading(input, Arguments(words.begin(), words.end() - 2));
    } else {
      last_ = environment.empty() ? run_headlight(words) : run_headlight_with(environment, words);
    }
  }

  void check_last(const std::string& line) {
    if (refused_) {
      check_text(last_.err, "has", line);
      return;
    }
    const auto [stream, check] = head_and_rest(line);
    REQUIRE((stream == "out" || stream == "err"));
    const auto [what, rest] = head_and_rest(check);
    check_text(stream == "out" ? last_.out : last_.err, what, rest);
  }

  void check_text(const std::string& text, const std::string& what, const std::string& expected) {
    const std::string bytes = replaced_all(unescaped(expected), names_);
    INFO("text: " << text.substr(0, 4000));
    if (what == "json") {
      check_value(text, replaced_all(expected, names_));
    } else if (what == "at" || what == "join") {
      const auto [path, check] = head_and_rest(expected);
      const auto [inner, rest] = head_and_rest(check);
      check_text(
          what == "at" ? kept(text, path) : joined_texts(value_at(document_of(text), "*/" + path)),
          inner, rest);
    } else if (what == "keep") {
      const auto [name, part] = head_and_rest(expected);
      names_["{" + name + "}"] = kept(text, unescaped(part));
    } else if (what == "is" || what == "differs") {
      CHECK((text == bytes) == (what == "is"));
    } else {
      REQUIRE((what == "has" || what == "lacks"));
      CHECK(has_in_order(text, bytes) == (what == "has"));
    }
  }

  static void check_value(const std::string& text, const std::string& line) {
    const auto [path, condition] = head_and_rest(line);
    const auto [op, literal] = head_and_rest(condition);
    const json value = value_at(document_of(text), path);
    const json parsed = json::parse(literal, nullptr, false);
    INFO(path << " is " << value.dump().substr(0, 1000));
    CHECK(compares(value, op, parsed.is_discarded() ? json(literal) : parsed));
  }

  void check_file(const std::string& name, const std::string& check) {
    const auto [what, rest] = head_and_rest(check);
    if (what == "missing") {
      CHECK_FALSE(fs::exists(name));
      return;
    }
    INFO(name);
    REQUIRE(fs::exists(name));
    if (what == "same" || what == "unlike") {
      REQUIRE(fs::exists(rest));
      const bool is_log = name.ends_with("metrics.jsonl");  // its times differ
      const auto folder = [](const std::string& file) { return fs::path(file).parent_path(); };
      CHECK((is_log ? metrics_of(folder(name)) == metrics_of(folder(rest))
                    : contents_of(name) == contents_of(rest)) == (what == "same"));
    } else if (what != "exists") {
      const bool is_arrays = (name.ends_with(".npz") || name.ends_with(".safetensors")) &&
                             (what == "json" || what == "keep");
      check_text(is_arrays ? arrays_of(name).dump() : file_contents(name), what, rest);
    }
  }

  static void write(const std::string& name, const std::string& before, const std::string& more) {
    if (fs::path(name).has_parent_path()) {
      fs::create_directories(fs::path(name).parent_path());
    }
    write_bytes(name, before + repeated(more));
  }

  void change_files(const std::string& word, const std::string& rest) {
    const auto [name, more] = head_and_rest(rest);
    if (word == "model") {
      fs::create_directories(name);
      models_.at(more)(name);
    } else if (word == "folder") {
      fs::create_directories(name);
    } else if (word == "enter") {
      fs::current_path(name);
    } else if (word == "remove") {
      REQUIRE(fs::remove_all(name) > 0);
    } else if (word == "move") {
      fs::rename(name, more);
    } else if (word == "copy") {
      fs::create_directories(fs::absolute(more).parent_path());
      fs::copy(fs::canonical(name), more,
               fs::copy_options::recursive | fs::copy_options::overwrite_existing |
                   fs::copy_options::copy_symlinks);
    } else if (word == "cut") {
      fs::resize_file(name, std::stoul(more));
    } else {
      REQUIRE(word == "edit");
      edit(name, split_at(more, " -> "));
    }
  }

  static void edit(const std::string& name, const std::vector<std::string>& change) {
    std::string text = file_contents(name);
    REQUIRE(change.size() == 2);
    const std::string before = unescaped(change[0]);
    REQUIRE(contains(text, before));
    write_bytes(name, text.replace(text.find(before), before.size(), unescaped(change[1])));
  }

  const ModelMakers& models_;
  const SessionVerbs& verbs_;
  TemporaryFolder folder_;
  InFolder here_{folder_.path()};
  std::map<std::string, std::string> names_{{"{dir}", fs::canonical(folder_.path()).string()},
                                            {"{source}", HEADLIGHT_SOURCE_DIR}};
  Arguments base_ = {};
  ProgramResult last_ = {};
  bool refused_ = false;
};

}  // namespace

std::string unescaped(const std::string& text) {
  const std::map<char, char> letters{{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}};
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const auto letter = letters.find(next);
    if (next == 'x') {
      bytes += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else if (letter != letters.end()) {
      bytes += letter->second;
      i += 1;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

std::string replaced_all(std::string text, const std::map<std::string, std::string>& names) {
  for (const auto& [name, value] : names) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

void run_sessions(const std::string& file, const ModelMakers& models, const SessionVerbs& verbs) {
  for (const SessionText& text : sessions_of(file)) {
    for (const SessionText& one : for_each_value(text)) {
      DYNAMIC_SECTION(one.name) {
        Session session(models, verbs);
        for (const SessionLine& line : one.lines) {
          INFO("tests/" << file << ":" << line.number << ": " << line.text.substr(0, 1000));
          session.run(line.text);
        }
      }
    }
  }
}

}  // namespace headlight::test
