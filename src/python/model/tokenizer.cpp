#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/base/utf8.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/formats/tokenizer_directory.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "tokenizers/bytes_of_ids.h"
#include "tokenizers/text_encoder.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

std::vector<std::int32_t> checked_ids(const Tokenizer& tokenizer, const Inputs& ids) {
  const Tensor array = tensor_of(ids.value, "ids", DType::int32);
  require_value(array.rank() == 1, "ids", "expected token ids of shape [T], got ", array.shape());
  const auto* data = array.data<std::int32_t>();
  std::vector<std::int32_t> result(data, data + array.numel());
  for (const std::int32_t id : result) {
    tokenizer.token_label(id);  // throws for an id that is out of range
  }
  return result;
}

std::vector<std::int32_t> encoded(const Tokenizer& tokenizer, std::string_view text,
                                  bool special_tokens, bool prompt) {
  const nb::gil_scoped_release released;
  const TextEncoder encoder(tokenizer, special_tokens);
  return prompt ? encoder.encode_prompt(text) : encoder.encode(text);
}

IdArray encode_text(const Tokenizer& tokenizer, std::string_view text, bool special_tokens,
                    bool prompt) {
  return array_of(encoded(tokenizer, text, special_tokens, prompt));
}

std::vector<IdArray> encode_batch(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                                  bool special_tokens, bool prompt) {
  std::vector<IdArray> ids;
  for (const std::string& text : texts) {
    ids.push_back(encode_text(tokenizer, text, special_tokens, prompt));
  }
  return ids;
}

// Returns [T, 2]: first character of every token, and the character after its last one.
Array offsets_of(const Tokenizer& tokenizer, const Inputs& inputs) {
  const std::vector<std::int32_t> ids = checked_ids(tokenizer, inputs);
  BytesOfIds reader(tokenizer, false);
  Tensor spans = Tensor::empty({std::ssize(ids), 2}, DType::int32);
  auto* span = spans.data<std::int32_t>();
  std::string text;
  std::int32_t characters = 0;  // that begin in `text`
  for (const std::int32_t id : ids) {
    const std::string bytes = reader.next(std::span(&id, 1));
    const bool begins_inside = !bytes.empty() && is_utf8_continuation(bytes[0]);
    *span++ = characters - (begins_inside ? 1 : 0);
    characters += static_cast<std::int32_t>(std::ssize(bytes) -
                                            std::ranges::count_if(bytes, is_utf8_continuation));
    *span++ = characters;
    text += bytes;
  }
  require_utf8_value(text, "ids");
  return array_of(spans);
}

std::string decode_ids(const Tokenizer& tokenizer, const Inputs& ids, bool skip_special_tokens) {
  const std::vector<std::int32_t> tokens = checked_ids(tokenizer, ids);
  return replace_invalid_utf8(BytesOfIds(tokenizer, skip_special_tokens).next(tokens));
}

ChatMessage message_of(const nb::dict& given) {
  nb::dict rest = nb::steal<nb::dict>(PyDict_Copy(given.ptr()));
  const auto take = [&](const char* key) {
    const nb::object value = rest.attr("pop")(key, nb::none());
    return value.is_none()
               ? std::string()
               : read_value<std::string>(value, "messages", "texts of role and content");
  };
  ChatMessage message{.role = take("role"), .content = take("content")};
  message.more = nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(rest));
  return message;
}

IdArray apply_chat_template(const Tokenizer& tokenizer, const std::vector<nb::dict>& messages,
                            bool continue_final_message, const nb::object& tools) {
  std::vector<ChatMessage> chat;
  for (const nb::dict& message : messages) {
    chat.push_back(message_of(message));
  }
  const std::string functions =
      tools.is_none() ? ""
                      : nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(tools));
  return array_of(
      ChatFormat(tokenizer.chat_template(), tokenizer)
          .encode(chat, continue_final_message ? ChatPrompt::last_answer : ChatPrompt::new_answer,
                  functions));
}

std::shared_ptr<Tokenizer> load_tokenizer_at(const PathInput& input,
                                             const std::optional<PathInput>& base) {
  const nb::gil_scoped_release released;
  return open_tokenizer(input.path, base ? base->path : std::filesystem::path());
}

}  // namespace

void add_tokenizer(nb::module_& module) {
  nb::class_<Tokenizer>(module, "Tokenizer", "Converts text to token ids from 0 to V - 1 and back.")
      .def_prop_ro("kind", &Tokenizer::kind,
                   "\"char\", \"byte\", \"bpe\", \"wordpiece\" or "
                   "\"unigram\".")
      .def_prop_ro("vocab_size", &Tokenizer::vocab_size,
                   "V: number of ids, special tokens included.")
      .def_prop_ro("end_token", &Tokenizer::end_token, "Id that ends texts; None: there is none.")
      .def_prop_ro("begin_token", &Tokenizer::begin_token,
                   "Id that begins texts; None: there is none.")
      .def("__len__", &Tokenizer::vocab_size)
      .def("encode", &encode_text, "text"_a, nb::kw_only(), "special_tokens"_a = true,
           "prompt"_a = false,
           "Returns the ids of a text, int32 of shape [T].\n\n"
           "Parameters\n----------\n"
           "special_tokens : read names of special tokens in the text as those tokens.\n"
           "prompt : add the tokens that begin and end the model's prompts.")
      .def("encode_batch", &encode_batch, "texts"_a, nb::kw_only(), "special_tokens"_a = true,
           "prompt"_a = false, "Returns the ids of several texts; see encode().")
      .def(
          "apply_chat_template", &apply_chat_template, "messages"_a, nb::kw_only(),
          "continue_final_message"_a = false, "tools"_a = nb::none(),
          nb::sig("def apply_chat_template(self, messages: "
                  "collections.abc.Sequence[collections.abc.Mapping[str, typing.Any]], *, "
                  "continue_final_message: bool = False, tools: "
                  "collections.abc.Sequence[collections.abc.Mapping[str, typing.Any]] | None = None"
                  ") -> numpy.typing.NDArray[numpy.int32]"),
          "Returns the ids of a conversation as a prompt, by the chat template of the model.\n\n"
          "Parameters\n----------\n"
          "messages : dicts with role and content.\n"
          "continue_final_message : end inside the last message, instead of at the beginning of "
          "the assistant's next one.\n"
          "tools : functions that the model may call, as JSON schemas.\n\n"
          "Raises\n------\n"
          "ValueError : the model has no chat template, or the template refuses the messages.")
      .def("decode", &decode_ids, "ids"_a, nb::kw_only(), "skip_special_tokens"_a = false,
           "Returns the text of ids of shape [T]. Bytes that are no whole character become U+FFFD.")
      .def("offsets", &offsets_of, "ids"_a,
           "Returns the characters of each token in decode(ids), int32 of shape [T, 2]: the first "
           "one, and the one after the last.")
      .def("token", &Tokenizer::token_label, "id"_a,
           "Returns one token for display: bytes that are no whole character as <0xEA>.");
  module.def("load_tokenizer", &load_tokenizer_at, "path"_a, nb::kw_only(), "base"_a = nb::none(),
             "Loads the tokenizer of a run, a model or a file such as tokenizer.json.\n\n"
             "Parameters\n----------\n"
             "base : base model of an adapter, if it has moved or the adapter names none.");
}

}  // namespace headlight::python
