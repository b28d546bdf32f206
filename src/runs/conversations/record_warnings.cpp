#include "runs/conversations/record_warnings.h"

#include "base/json.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "datasets/input_format_check.h"
#include "headlight/base/error.h"

namespace headlight {

void RecordWarnings::look(const std::string& text) {
  names_.add(text);
  has_decomposed_ = has_decomposed_ || has_decomposed_hangul(text);
}

void RecordWarnings::add_to(std::vector<std::string>& warnings, const std::string& name,
                            const std::set<std::string>& unread) const {
  const auto add = [&](const std::set<std::string>& names, const char* why) {
    if (!names.empty()) {
      warnings.push_back(
          concat_text(name, ": ", why, joined(transformed(names, quoted_text), ", ")));
    }
  };
  add(ignored_, "keys that are ignored: ");
  add(unread, "the chat template leaves out: ");
  if (std::string warning = names_.warning(name); !warning.empty()) {
    warnings.push_back(std::move(warning));
  }
  if (has_decomposed_) {
    warnings.push_back(decomposed_hangul_line(name));
  }
}

}  // namespace headlight
