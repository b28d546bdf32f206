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
  blank_line,  // documents are separated by lines of white space
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

  // Throws Error about "separator" if it is empty or not UTF-8, which would cut characters apart.
  void validate() const;
};

// Returns the documents of `text` in order, as views into the text. Removes line ends around a
// document and drops blank documents, so that the result may be empty. DocumentSplit::none returns
// the whole text. Throws as validate() does.
std::vector<std::string_view> find_documents(std::string_view text,
                                             const DocumentSplitOptions& options);

// Returns copies of the documents. Throws Error if there is none.
std::vector<std::string> split_documents(std::string_view text,
                                         const DocumentSplitOptions& options);

}  // namespace headlight
