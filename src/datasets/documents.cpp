#include "headlight/datasets/documents.h"

#include <algorithm>

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr std::string_view kLineEnds = "\r\n";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

void add_document(std::string_view text, std::vector<std::string_view>& documents) {
  if (!is_blank(text)) {
    const std::size_t first = text.find_first_not_of(kLineEnds);
    const std::size_t last = text.find_last_not_of(kLineEnds);
    documents.push_back(text.substr(first, last - first + 1));
  }
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> documents;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    add_document(text.substr(begin, end - begin), documents);
    begin = end + separator.size();
  }
  add_document(text.substr(begin), documents);
  return documents;
}

std::vector<std::string_view> split_at_blank_lines(std::string_view text) {
  std::vector<std::string_view> documents;
  std::size_t document = 0;  // start of the current document
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    if (is_blank(text.substr(line, end - line))) {
      add_document(text.substr(document, line - document), documents);
      document = end;
    }
    line = end + 1;
  }
  add_document(text.substr(document), documents);
  return documents;
}

}  // namespace

void DocumentSplitOptions::validate() const {
  if (mode == DocumentSplit::token) {
    require_value(!separator.empty(), "separator", "expected a text, got none");
    require_utf8_value(separator, "separator");
  }
}

std::vector<std::string_view> find_documents(std::string_view text,
                                             const DocumentSplitOptions& options) {
  options.validate();
  switch (options.mode) {
    case DocumentSplit::line:
      return split_at(text, "\n");
    case DocumentSplit::blank_line:
      return split_at_blank_lines(text);
    case DocumentSplit::token:
      return split_at(text, options.separator);
    case DocumentSplit::none:
      break;
  }
  return text.empty() ? std::vector<std::string_view>() : std::vector{text};
}

std::vector<std::string> split_documents(std::string_view text,
                                         const DocumentSplitOptions& options) {
  const std::vector<std::string_view> documents = find_documents(text, options);
  require_value(!documents.empty(), "documents",
                "expected at least one document in the text, got none");
  return {documents.begin(), documents.end()};
}

}  // namespace headlight
