#include "course/report/prose.h"

#include <sstream>

#include "base/strings/filled_text.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "headlight/base/error.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli::lab {
namespace {

std::string underlined(const std::string& title) {
  std::string line;
  for (std::size_t i = 0; i < display_width(title); ++i) {
    line += "─";
  }
  return title + "\n" + line + "\n";
}

// Cells of a table line "| a | b |", without blanks around them.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  line.remove_prefix(1);
  for (std::size_t end = line.find('|'); end != line.npos; end = line.find('|')) {
    const std::string_view cell = line.substr(0, end);
    const std::size_t first = cell.find_first_not_of(' ');
    cells.emplace_back(
        first == cell.npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    line.remove_prefix(end + 1);
  }
  return cells;
}

// Removes the next block from `lines`: a fenced block without its fences, or lines up to a blank.
std::vector<std::string> next_block(std::span<const std::string>& lines) {
  const bool is_fenced = lines.front() == "```";
  const auto end = std::find(lines.begin() + 1, lines.end(), is_fenced ? "```" : "");
  const std::vector<std::string> block(lines.begin() + (is_fenced ? 1 : 0), end);
  lines = {end == lines.end() ? end : end + 1, lines.end()};
  return block;
}

// Element or member of a value; null if it is missing.
const Json* part_of(const Json& value, const std::string& name) {
  if (!value.is_array()) {
    return value.find(name);
  }
  const bool is_index = name.find_first_not_of("0123456789") == name.npos;
  const std::size_t index = is_index ? std::stoul(name) : value.size();
  return index < value.size() ? &value[index] : nullptr;
}

}  // namespace

Prose::Prose(std::string file, std::string_view text) : file_(std::move(file)) {
  std::istringstream in{std::string(text)};
  Lines* section = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) {
      title_ = line.substr(2);
    } else if (line.starts_with("## ")) {
      section = &sections_[line.substr(3)];
    } else if (section != nullptr) {
      section->push_back(line);
    }
  }
}

std::string Prose::section(std::string_view name, const Json& values) const {
  std::string text;
  for (std::span<const std::string> lines = lines_of(name); !lines.empty();) {
    const std::string& first = lines.front();
    if (first.empty()) {
      lines = lines.subspan(1);
    } else if (first.starts_with("### ")) {
      text += underlined(filled(first.substr(4), values));
      lines = lines.subspan(1);
    } else if (first.starts_with("|")) {
      text += table(next_block(lines), values) + "\n";
    } else if (first == "```") {
      text += filled(joined(next_block(lines), "\n"), values) + "\n\n";
    } else {
      text += wrapped(filled(joined(next_block(lines), " "), values), kColumns) + "\n";
    }
  }
  return text;
}

std::string Prose::entry(std::string_view section, std::string_view name,
                         const Json& values) const {
  const std::string start = concat_text("- ", name, ": ");
  std::string text;
  for (const std::string& line : lines_of(section)) {
    if (line.starts_with(start)) {
      text = line.substr(start.size());
    } else if (!text.empty() && line.starts_with("  ")) {
      text += line.substr(1);
    } else if (!text.empty()) {
      break;
    }
  }
  require(!text.empty(), file_, ": section '", section, "' has no entry '", name, "'");
  return filled(text, values);
}

const Prose::Lines& Prose::lines_of(std::string_view section) const {
  const auto found = sections_.find(section);
  require(found != sections_.end(), file_, ": there is no section '", section, "'");
  return found->second;
}

std::string Prose::table(const Lines& lines, const Json& values) const {
  const std::vector<std::string> titles = cells_of(lines[0]);
  const std::vector<std::string> marks = cells_of(lines.size() > 1 ? lines[1] : "|");
  require(titles.size() == marks.size(), file_,
          ": a table needs a mark for each of its columns: ", lines[0]);
  std::vector<Table::Column> columns;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    columns.push_back({titles[i], marks[i].starts_with(":")});
  }
  Table table(columns);
  const auto add = [&](const std::string& line, const Json& row_values) {
    table.add(transformed(cells_of(line),
                          [&](const std::string& cell) { return filled(cell, row_values); }));
  };
  for (const std::string& line : std::span(lines).subspan(2)) {
    // A row that begins with {{LIST.KEY}} repeats for every element of the list.
    const std::size_t open = line.find("{{");
    const std::string list =
        open == line.npos ? "" : line.substr(open + 2, line.find('.', open) - open - 2);
    const Json* elements = values.find(list);
    if (elements == nullptr || !elements->is_array()) {
      add(line, values);
      continue;
    }
    for (const Json& element : *elements) {
      Json row_values = values;
      row_values[list] = element;
      add(line, row_values);
    }
  }
  return table.text();
}

std::string Prose::filled(std::string_view text, const Json& values) const {
  return filled_text(
      text, file_, [&](std::string_view name, std::string& out) { out += value_of(name, values); });
}

std::string Prose::value_of(std::string_view placeholder, const Json& values) const {
  const std::size_t mark = std::min(placeholder.find_first_of(":?"), placeholder.size());
  const Json* value = &values;
  std::istringstream path{std::string(placeholder.substr(0, mark))};
  for (std::string part; value != nullptr && std::getline(path, part, '.');) {
    value = part_of(*value, part);
  }
  require(value != nullptr, file_, ": no value has the name {{", placeholder, "}}");
  std::string_view format = placeholder.substr(mark);
  if (format.starts_with("?")) {
    const std::size_t fallback = format.find(':');
    return std::string(value->boolean() ? format.substr(1, fallback - 1)
                                        : format.substr(fallback + 1));
  }
  return number_text(*value, format.empty() ? format : format.substr(1));
}

std::string Prose::number_text(const Json& value, std::string_view format) const {
  if (value.is_null()) {
    return "-";
  }
  if (value.is_string()) {
    return value.text().substr(0, value.text().find_last_not_of('\n') + 1);
  }
  if (value.is_object()) {
    Json ends = Json::object();
    for (const auto& [name, end] : value.members()) {
      ends[name] = number_text(end, format);
    }
    return entry("words", "interval", ends);
  }
  if (format.empty() || format == ",") {
    return !value.is_integer() ? concat_text(value.number())
           : format.empty()    ? std::to_string(value.integer())
                               : grouped(value.integer());
  }
  const int decimals = format.back() - '0';
  return format.front() == '+'   ? signed_number(value.number(), decimals)
         : format.front() == '%' ? fixed_number(100 * value.number(), decimals)
                                 : fixed_number(value.number(), decimals);
}

}  // namespace headlight::cli::lab
