#include "cli/option_groups/chat_template_option.h"

#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/terminal/log.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/formats/chat_template/known_templates.h"

namespace headlight::cli {

void add_chat_template_option(Options& options) {
  options
      .value("chat_template", concat_text("Use this chat template instead of the model's: ",
                                          joined(chat_template_names(), ", "),
                                          ", one of the model's by its name, or a file in Jinja"))
      .paths({"chat_template"});
}

ChatTemplates chat_template_option(const Options& options, const Tokenizer& tokenizer) {
  if (!options.given("chat_template")) {
    return tokenizer.chat_template();
  }
  std::string source = read_chat_template(options.text("chat_template"), tokenizer.chat_template());
  const std::string names =
      joined(transformed(ChatFormat(source, tokenizer).missing_names(), escaped), ", ");
  if (!names.empty()) {
    log_warning(concat_text("the vocabulary lacks special tokens of the chat template: ", names,
                            ": they are spelled as text"));
  }
  return source;
}

}  // namespace headlight::cli
