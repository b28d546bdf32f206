#include "python/analysis/text_data.h"

#include "headlight/datasets/dataset_parts.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/datasets/token_file.h"
#include "python/errors.h"
#include "tokenizers/special_names.h"

namespace headlight::python {
namespace {

std::string path_of(nb::handle value) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(value));
}

TokenDataset read_files(const Model& model, const std::vector<std::string>& paths,
                        const std::string& documents) {
  std::vector<std::string> warnings;
  TextFormat format;
  format.split.mode = parse_name<DocumentSplit>("documents", documents);
  TokenDataset data;
  {
    const nb::gil_scoped_release released;
    const Tokenizer& tokenizer = *model.tokenizer();
    data = join_datasets(
        read_datasets(find_text_files(paths, kTrainFile, &warnings), format, tokenizer, warnings),
        document_ends(tokenizer));
  }
  warn(warnings);
  return data;
}

// Returns the sequences as documents without other tokens.
TokenDataset dataset_of(std::vector<std::vector<std::int32_t>> ids) {
  TokenDataset data;
  for (std::vector<std::int32_t>& sequence : ids) {
    data.token_count += std::ssize(sequence);
    data.sequences.push_back(std::move(sequence));
  }
  data.documents = true;
  return data;
}

}  // namespace

std::vector<std::string> paths_of(nb::handle data) {
  if (nb::hasattr(data, "__fspath__")) {
    return {path_of(data)};
  }
  std::vector<std::string> paths;
  if (nb::isinstance<nb::list>(data) && nb::len(data) > 0 &&
      nb::hasattr(nb::object(data[0]), "__fspath__")) {
    for (const nb::handle item : data) {
      paths.push_back(path_of(item));
    }
  }
  return paths;
}

bool is_list_of_texts(nb::handle data) {
  return nb::isinstance<nb::list>(data) && nb::len(data) > 0 &&
         nb::isinstance<nb::str>(nb::object(data[0]));
}

namespace {

TokenDataset data_of(const Model& model, const TextData& data, const std::string& documents) {
  if (const std::vector<std::string> paths = paths_of(data.value); !paths.empty()) {
    return read_files(model, paths, documents);
  }
  const Tokenizer& tokenizer = *model.tokenizer();
  if (is_list_of_texts(data.value)) {
    std::vector<std::vector<std::int32_t>> ids;
    for (const std::string& text : read_texts(data.value, "data")) {
      ids.push_back(tokenizer.encode(without_end_name(tokenizer, text)));
    }
    return document_dataset(std::move(ids), document_ends(tokenizer));
  }
  InputSequences inputs = read_inputs({data.value}, tokenizer, "data");
  require_value(!inputs.ids.front().empty(), "data", "expected a text or token ids, got none");
  TokenDataset result = inputs.is_one ? stream_dataset(std::move(inputs.ids.front()))
                                      : dataset_of(std::move(inputs.ids));
  return result;
}

// Returns whether the data are token ids, which are read whole, without more tokens.
bool is_ids(const TextData& data) {
  return !nb::isinstance<nb::str>(data.value) && !is_list_of_texts(data.value) &&
         paths_of(data.value).empty();
}

}  // namespace

TokenDataset read_data(const Model& model, const TextData& data, const std::string& documents) {
  TokenDataset result = data_of(model, data, documents);
  const GptConfig& config = model.gpt().config();
  if (is_ids(data)) {
    result.documents = result.documents || !config.causal;
  } else {
    result = whole_sequences(std::move(result), config, *model.tokenizer());
  }
  require_value(has_targets(result), "data", "expected at least two tokens in a row, got ",
                result.token_count);
  return result;
}

std::vector<std::vector<std::int32_t>> read_windows(const Model& model, const TextData& data,
                                                    const std::string& documents) {
  TokenDataset read = read_data(model, data, documents);
  const std::int32_t window_begin = read.window_begin;
  return cut_windows(
      model.gpt().config().causal ? input_ids(std::move(read)) : token_ids(std::move(read)),
      window_begin, model.gpt().block_size());
}

}  // namespace headlight::python
