#include "runs/training_data.h"

#include <algorithm>

#include "base/all_errors.h"
#include "formats/tokenizers/word_level.h"
#include "headlight/datasets/dataset_parts.h"
#include "headlight/datasets/nanogpt_vocabulary.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/datasets/token_file.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/small_text.h"
#include "headlight/tokenizers/bpe_trainer.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "runs/conversations/conversations.h"

namespace headlight {
namespace {

struct DataFiles {
  struct Source {
    std::size_t count = 0;  // number of its files in `train`, in order
    Index weight = 1;
  };
  std::vector<TextFile> train;
  std::vector<Source> sources;
  std::vector<TextFile> validation;  // empty: parts of the train files, or files next to them
};

// Learns document by document, so that no token spans two documents.
std::unique_ptr<Tokenizer> learn_bpe(const TrainConfig& config, const std::vector<TextFile>& files,
                                     std::vector<std::string>& notes) {
  const Index wanted = config.vocab_size > 0 ? config.vocab_size : vocabulary_for(files);
  BpeTrainer trainer({.vocab_size = wanted, .whole_characters = config.whole_characters});
  use_each(files, "files", [&](const TextFile& file) {
    read_text(file, text_format_of(config), [&](const TextPart& part) { trainer.feed(part.text); });
  });
  auto tokenizer = std::make_unique<BpeTokenizer>(trainer.finish());
  std::string note = concat_text("learned ", tokenizer->vocab_size(), " tokens from the text");
  if (tokenizer->vocab_size() < wanted) {
    note += concat_text(", which has no more pairs to merge: vocab_size is ", wanted);
  } else if (config.vocab_size == 0) {
    note += " (--vocab_size sets another number)";
  }
  notes.push_back(std::move(note));
  return tokenizer;
}

// Returns the tokenizer found beside a file of ids. It cannot be made from ids alone.
std::unique_ptr<Tokenizer> tokenizer_of_ids(const TrainConfig& config, const TextFile& ids,
                                            std::vector<std::string>& notes) {
  const std::filesystem::path beside =
      std::filesystem::path(ids.path).replace_filename("tokenizer.json");
  const bool characters = is_named(config.tokenizer, NewTokenizer::characters);
  if (characters && std::filesystem::is_regular_file(beside)) {
    notes.push_back("using tokenizer.json next to " + ids.name());
    return open_tokenizer(beside);
  }
  auto tokenizer = characters ? vocabulary_beside(ids.path) : nullptr;
  require_value(
      tokenizer != nullptr, "tokenizer", ids.name(), " contains token ids, from which no ",
      config.tokenizer, " tokenizer can be made",
      characters ? ", and there is no tokenizer.json or meta.pkl next to it" : "",
      "; set tokenizer to the one that made them, start from its model with init_from, or set "
      "tokenizer to ids if no text stands behind them");
  notes.push_back("using the characters of meta.pkl next to " + ids.name());
  return tokenizer;
}

// Adds the paths that are not in `files` yet: several files may share one validation file.
void add_new(const std::vector<std::string>& paths, std::vector<TextFile>& files) {
  for (const std::string& path : paths) {
    const bool is_there = std::any_of(files.begin(), files.end(),
                                      [&](const TextFile& file) { return file.path == path; });
    if (!is_there) {
      files.push_back({.path = path});
    }
  }
}

// Returns a tokenizer for `vocab_size` ids, or for the ids up to the largest in the files.
std::unique_ptr<Tokenizer> tokenizer_of_numbers(const TrainConfig& config, const DataFiles& data,
                                                std::vector<std::string>& notes) {
  Index count = config.vocab_size;
  if (count == 0) {
    std::vector<TextFile> files = data.train;
    for (const TextFile& file : data.train) {
      add_new(file.validation_paths, files);
    }
    files.insert(files.end(), data.validation.begin(), data.validation.end());
    use_each(files, "files", [&](const TextFile& file) {
      require_value(is_token_file(file.path), "vocab_size", "expected the number of ids, because ",
                    file.name(), " is a text of numbers, got 0");
      count = std::max(count, id_count(file.path, text_format_of(config).token_dtype));
    });
    notes.push_back(concat_text("a vocabulary of the ids 0 to ", count - 1));
  }
  constexpr Index kMostReadIds = Index{1} << 22;
  require_value(count <= kMostReadIds, "vocab_size", "expected at most ", kMostReadIds,
                " ids, got ", count, "; if the ids have 16 bits, set token_dtype = uint16");
  return number_tokenizer(count);
}

std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, DataFiles& data,
                                          std::vector<std::string>& notes) {
  if (is_named(config.tokenizer, NewTokenizer::bytes)) {
    return std::make_unique<ByteTokenizer>();
  }
  if (is_named(config.tokenizer, NewTokenizer::ids)) {
    return tokenizer_of_numbers(config, data, notes);
  }
  if (!is_named(config.tokenizer, NewTokenizer::characters) &&
      !is_named(config.tokenizer, NewTokenizer::bpe)) {
    return open_tokenizer(config.tokenizer);
  }
  std::vector<TextFile>& files = data.train;
  const auto ids = std::find_if(files.begin(), files.end(),
                                [](const TextFile& file) { return is_token_file(file.path); });
  if (ids != files.end()) {
    return tokenizer_of_ids(config, *ids, notes);
  }
  hold_standard_input(files);
  if (is_named(config.tokenizer, NewTokenizer::bpe)) {
    return learn_bpe(config, files, notes);
  }
  return std::make_unique<CharTokenizer>(learn_characters(files, text_format_of(config)));
}

DataFiles find_files(const TrainConfig& config, std::vector<std::string>& warnings) {
  require_value(!config.data.empty(), "data",
                "expected a text or token file to train on (--data FILE)");
  DataFiles files;
  for (const WeightedFiles& source : find_weighted_files(config.data, &warnings)) {
    files.sources.push_back({.count = source.files.size(), .weight = source.weight});
    files.train.insert(files.train.end(), source.files.begin(), source.files.end());
  }
  files.validation = find_text_files(config.validation_data, "val.bin", &warnings);
  const auto is_input = [](const TextFile& file) { return file.is_standard_input(); };
  require_value(std::none_of(files.train.begin(), files.train.end(), is_input) ||
                    std::none_of(files.validation.begin(), files.validation.end(), is_input),
                "validation_data", "standard input can be read only once, and data uses it");
  return files;
}

// Throws Error, because padded and bucketed batches need documents.
void refuse_streams(const TrainConfig& config, const std::vector<TextFile>& files) {
  const auto stream = std::find_if(files.begin(), files.end(), [](const TextFile& file) {
    return is_token_file(file.path) && !has_documents(file.path);
  });
  require_value(false, "batching", config.batching, " needs documents; ",
                stream == files.end() ? "set documents to line, blank_line or token"
                                      : stream->name() +
                                            " contains one stream of token ids, and there is no "
                                            "index of documents (.idx) next to it");
}

// Throws Error for settings that do not fit a file of pairs of answers.
void require_settings_for_pairs(const TrainConfig& config, const std::string& file) {
  const std::string pairs = file + " contains pairs of answers, ";
  require_value(is_named(config.learn, Learn::assistant), "learn", pairs,
                "of which only the answers are learned: expected assistant, got ", config.learn);
  require_value(config.label_smoothing == 0, "label_smoothing", pairs,
                "whose loss has no smoothing: expected 0, got ", config.label_smoothing);
  require_value(config.z_loss == 0, "z_loss", pairs,
                "whose loss has no such term: expected 0, got ", config.z_loss);
}

// Throws Error for pairs of answers in a run that does not start from a model.
void require_model_for_pairs(const TrainConfig& config, const std::vector<TextFile>& files) {
  for (const TextFile& file : files) {
    require_value(
        kind_of_conversations(file, config.jsonl) != ConversationKind::pairs, "init_from",
        file.name(),
        " contains pairs of answers, which need a model to start from (--init_from MODEL)");
  }
}

class SplitReader {
 public:
  // Lines are added to the notes and warnings of `data`, which must outlive the reader.
  SplitReader(const TrainConfig& config, const Tokenizer& tokenizer, TrainingData& data)
      : config_(config),
        tokenizer_(tokenizer),
        data_(data),
        chat_format_(tokenizer.chat_template(), tokenizer) {}

  // Validates on validation_data, or on each file's last part or the validation file beside it.
  DatasetSplit read(const DataFiles& files) {
    validation_ = files.validation;
    std::vector<TokenDataset> train;
    std::vector<Index> weights;
    auto begin = files.train.begin();
    for (const DataFiles::Source& source : files.sources) {
      const auto end = begin + static_cast<std::ptrdiff_t>(source.count);
      train.push_back(read_source({begin, end}, !files.validation.empty()));
      weights.push_back(source.weight);
      begin = end;
    }
    std::vector<TokenDataset> evaluated;
    if (!validation_.empty()) {
      evaluated = read_all(validation_);
    }
    for (TokenDataset& part : last_parts_) {
      if (evaluated.empty() || !part.sequences.empty()) {
        evaluated.push_back(std::move(part));
      }
    }
    const DocumentEnds ends = document_ends(tokenizer_);
    return {.train = train.size() == 1 ? std::move(train.front())
                                       : mix_datasets(std::move(train), weights, ends),
            .validation = join_datasets(std::move(evaluated), ends)};
  }

 private:
  TokenDataset read_source(const std::vector<TextFile>& files, bool has_validation) {
    std::vector<TextFile> whole;  // used completely for training
    std::vector<TextFile> split_files;
    for (const TextFile& file : files) {
      const bool has_other = has_validation || !file.validation_paths.empty();
      (has_other ? whole : split_files).push_back(file);
      if (!has_validation) {
        add_new(file.validation_paths, validation_);
      }
    }
    std::vector<TokenDataset> train;
    if (!whole.empty()) {
      train = read_all(whole);
    }
    if (!split_files.empty()) {
      DatasetSplit parts = split(read_all(split_files));
      train.push_back(std::move(parts.train));
      last_parts_.push_back(std::move(parts.validation));
    }
    return join_datasets(std::move(train), document_ends(tokenizer_));
  }

  DatasetSplit split(std::vector<TokenDataset> parts) const {
    const DocumentEnds ends = document_ends(tokenizer_);
    return config_.split_seed == 0
               ? split_each(std::move(parts), config_.validation_fraction, ends)
               : split_at_random(std::move(parts), config_.validation_fraction,
                                 static_cast<std::uint64_t>(config_.split_seed), ends);
  }

  // Returns the datasets of texts and conversations.
  std::vector<TokenDataset> read_all(const std::vector<TextFile>& files) {
    std::vector<TextFile> texts;
    std::vector<TokenDataset> datasets;
    use_each(files, "files", [&](const TextFile& file) {
      const ConversationKind kind = kind_of_conversations(file, config_.jsonl);
      if (kind == ConversationKind::pairs) {
        require_settings_for_pairs(config_, file.name());
      }
      if (kind != ConversationKind::none) {
        datasets.push_back(read_chat(file));
      } else {
        texts.push_back(file);
        if (std::string line = warning_of_texts(file); !line.empty() && config_.jsonl.empty()) {
          data_.warnings.push_back(std::move(line));
        }
      }
    });
    if (!texts.empty()) {
      const std::vector<TokenDataset> more =
          read_datasets(texts, text_format_of(config_), tokenizer_, data_.warnings);
      datasets.insert(datasets.end(), more.begin(), more.end());
    }
    return datasets;
  }

  TokenDataset read_chat(const TextFile& file) {
    require_value(!is_named(config_.batching, Batching::packed), "batching", file.name(),
                  " contains conversations, which packed would cut; choose padded or bucketed");
    return read_conversations(file,
                              {.learn = parse_name<Learn>("learn", config_.learn),
                               .key = config_.jsonl,
                               .block_size = config_.gpt.block_size},
                              chat_format_, tokenizer_, data_.notes, data_.warnings);
  }

  const TrainConfig& config_;
  const Tokenizer& tokenizer_;
  TrainingData& data_;
  ChatFormat chat_format_;
  std::vector<TextFile> validation_;
  std::vector<TokenDataset> last_parts_;  // of files that were split
};

}  // namespace

void require_lasting_data(const TrainConfig& config) {
  const auto is_input = [](const std::string& name) {
    return split_weight(name).name == kStandardInput;
  };
  for (const auto* names : {&config.data, &config.validation_data}) {
    require(std::none_of(names->begin(), names->end(), is_input),
            "--resume: the data came from standard input, which cannot be read again; name a file "
            "with the same text (--data FILE)");
  }
}

TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                                const std::function<void(double)>& progress) {
  TrainingData result;
  DataFiles files = find_files(config, result.warnings);
  report_reading(files.train, progress);
  if (tokenizer == nullptr) {
    require_model_for_pairs(config, files.train);
    tokenizer = make_tokenizer(config, files, result.notes);
  }
  if (!tokenizer->warning().empty()) {
    result.warnings.push_back(tokenizer->warning());
  }
  tokenizer->set_reads_special(is_named(config.special_tokens, SpecialNames::on));
  DatasetSplit split = SplitReader(config, *tokenizer, result).read(files);
  if (!is_named(config.batching, Batching::packed) && !split.train.documents) {
    refuse_streams(config, files.train);
  }
  result.train = std::move(split.train);
  result.validation = std::move(split.validation);
  for (const TokenDataset* data : {&result.train, &result.validation}) {
    if (const Index unknown = count_token(*data, tokenizer->unknown()); unknown > 0) {
      result.notes.push_back(concat_text(unknown, " of the ", data->token_count, " tokens to ",
                                         data == &result.train ? "train" : "evaluate",
                                         " on are characters that are not in the vocabulary"));
    }
  }
  // A model with its own begin token keeps the beginning of its prompts.
  if (tokenizer->end_token() && tokenizer->begin_token() == tokenizer->end_token()) {
    tokenizer->set_prepends_begin_token(result.train.documents);
  }
  result.tokenizer = std::move(tokenizer);
  return result;
}

}  // namespace headlight
