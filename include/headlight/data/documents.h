#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"

namespace headlight {

// How a text is cut into documents.
enum class DocumentSplit {
  none,        // the whole text is one stream
  line,        // every line is a document
  blank_line,  // documents are separated by lines that hold nothing but blanks
  token,       // documents are separated by the text DocumentSplitOptions::separator
};

template <>
inline constexpr auto kChoices<DocumentSplit> =
    std::to_array<Choice<DocumentSplit>>({{"none", DocumentSplit::none},
                                          {"line", DocumentSplit::line},
                                          {"blank_line", DocumentSplit::blank_line},
                                          {"token", DocumentSplit::token}});

struct DocumentSplitOptions {
  DocumentSplit mode = DocumentSplit::none;
  std::string separator = "<|endoftext|>";  // used by DocumentSplit::token; UTF-8, not empty

  // Throws Error about "separator" when the documents of a text cannot be found by it: bytes that
  // are no characters would cut characters apart.
  void validate() const;
};

// The documents of `text` in order, as parts of it. Line ends around a document are removed, and
// documents of nothing but blanks and line ends are dropped, so that there may be none;
// DocumentSplit::none gives the text as it is. Throws Error as validate() does.
std::vector<std::string_view> find_documents(std::string_view text,
                                             const DocumentSplitOptions& options);

// Copies of them. Throws Error when there is none.
std::vector<std::string> split_documents(std::string_view text,
                                         const DocumentSplitOptions& options);

}  // namespace headlight
