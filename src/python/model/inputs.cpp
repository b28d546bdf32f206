#include "python/model/inputs.h"

#include <nanobind/stl/string.h>

#include "headlight/base/utf8.h"
#include "python/autograd/arrays.h"

namespace headlight::python {
namespace {

bool is_list(nb::handle value) {
  return nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
}

std::string text_of(nb::handle value, std::string_view about) {
  std::string text;
  require_value(nb::try_cast(value, text), about, "expected UTF-8 text");
  return text;
}

// Checks ids of a 1-D tensor against the vocabulary.
std::vector<std::int32_t> ids_of(const std::int32_t* ids, Index count, std::int32_t least,
                                 const Tokenizer& tokenizer, std::string_view about) {
  for (Index i = 0; i < count; ++i) {
    require_value(ids[i] >= least && ids[i] < tokenizer.vocab_size(), about,
                  "expected token ids from ", least, " to ", tokenizer.vocab_size() - 1, ", got ",
                  ids[i], " at position ", i);
  }
  return {ids, ids + count};
}

// Reads inputs, one after another.
class InputReader {
 public:
  InputReader(const Tokenizer& tokenizer, std::string_view about, std::int32_t least)
      : tokenizer_(tokenizer), about_(about), least_(least) {}

  void read(nb::handle value) {
    if (nb::isinstance<nb::str>(value)) {
      result.ids.push_back(tokenizer_.encode_prompt(text_of(value, about_)));
      result.is_one = true;
    } else if (is_list(value) && holds_sequences(value)) {
      for (const nb::handle item : value) {
        read(item);
        require_value(result.is_one, about_, "expected a list of texts or of token ids");
      }
      result.is_one = false;
    } else {
      read_array(value);
    }
  }

  InputSequences result;

 private:
  static bool holds_sequences(nb::handle list) {
    return nb::len(list) > 0 && PyIndex_Check(nb::object(list[0]).ptr()) == 0;
  }

  void read_array(nb::handle value) {
    const Tensor ids = tensor_of(value, about_, DType::int32);
    result.is_one = ids.rank() == 1;
    require_value(ids.rank() == 1 || ids.rank() == 2, about_,
                  "expected token ids of shape [T] or [B, T], got ", ids.shape());
    const Index rows = ids.rank() == 2 ? ids.size(0) : 1;
    for (Index row = 0; row < rows; ++row) {
      result.ids.push_back(ids_of(ids.data<std::int32_t>() + row * ids.size(-1), ids.size(-1),
                                  least_, tokenizer_, about_));
    }
  }

  const Tokenizer& tokenizer_;
  std::string_view about_;
  std::int32_t least_;
};

}  // namespace

InputSequences read_inputs(const Inputs& inputs, const Tokenizer& tokenizer, std::string_view about,
                           std::int32_t least) {
  InputReader reader(tokenizer, about, least);
  reader.read(inputs.value);
  require_value(!reader.result.ids.empty(), about, "expected a text or token ids, got none");
  return std::move(reader.result);
}

std::vector<std::int32_t> read_one(const Inputs& input, const Tokenizer& tokenizer,
                                   std::string_view about) {
  InputSequences inputs = read_inputs(input, tokenizer, about);
  require_value(inputs.is_one, about, "expected one text, got several");
  return std::move(inputs.ids.front());
}

std::vector<std::string> read_texts(nb::handle value, std::string_view about) {
  if (nb::isinstance<nb::str>(value)) {
    return {text_of(value, about)};
  }
  require_value(is_list(value), about, "expected a str or a list of str");
  std::vector<std::string> texts;
  for (const nb::handle item : value) {
    texts.push_back(text_of(item, about));
  }
  return texts;
}

}  // namespace headlight::python
