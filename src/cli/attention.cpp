#include <charconv>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/options.h"
#include "headlight/data/documents.h"
#include "headlight/heads/attention_html.h"
#include "headlight/heads/attention_svg.h"
#include "headlight/heads/record_attention.h"
#include "headlight/io/file_writer.h"
#include "headlight/io/model_directory.h"
#include "headlight/io/npz.h"
#include "headlight/text/text_file.h"
#include "headlight/text/utf8.h"

namespace headlight::cli {
namespace {

constexpr const char* kDetails =
    "Runs the model once over a text and writes the attention weights it computed with:\n"
    "  attention.npz    blocks.0.attn.hook_pattern, blocks.1. ...: float32 [B, H, T, T], the "
    "weight\n"
    "                   that query t gives to key s of head h in document b; rows sum to 1 and "
    "the\n"
    "                   future is 0. With --documents: also lengths [B] and tokens [B, T] "
    "(int32);\n"
    "                   pads have weight 0 and the token <|endoftext|>.\n"
    "  tokens.json      ids, token labels and text of every document; layers and heads recorded\n"
    "  layer_0.svg ...  a figure of every layer (first document)\n"
    "  attention.html   every head as one interactive page (first document); open it in a browser\n"
    "MODEL is a run directory, a checkpoint or a GPT-2 directory. Arrays hold the chosen heads in\n"
    "ascending order; files of an earlier run in DIR are replaced, others left alone.\n\n"
    "JSON keys: files (paths), tokens (of all documents), layers (how many), heads (of all layers\n"
    "together), directory.";

Options make_options() {
  Options options(
      {.name = "attention",
       .summary = "Dump and draw what every attention head looks at.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {
           "headlight attention runs/toy --text \"the cat sat on the mat\"",
           "headlight attention runs/toy --file story.txt --max_tokens 64 --out story",
           "headlight attention runs/toy --text \"abcabc\" --layers 1 --heads 0,2",
           "headlight attention runs/toy --text \"abcabc\" --heads 0.3,1.0 --format html",
           "headlight attention runs/toy --file lines.txt --documents line --format npz"}});
  options.value("text", "Text to look at")
      .value("file", "UTF-8 file with the text to look at")
      .value("documents", "How the text is cut: none, line, blank_line or token", "none")
      .value("max_documents", "Look only at the first documents; 0: at all", "0")
      .value("max_tokens", "Cut every document to its first tokens; 0: do not", "0")
      .value("layers", "Layers, as 0,2; all by default")
      .value("heads", "Heads of those layers, as 0,2, or of any layer, as 0.1,2.3; all by default")
      .value("format", "What to write, of npz, json, svg and html", "npz,json,svg,html")
      .value("out", "Directory to write to", "attention");
  return options;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

Index head_number(const std::string& text, const std::string& whole) {
  Index number = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  require(error == std::errc{} && stop == end && number >= 0,
          "--heads: expected heads like 0,2 or LAYER.HEAD like 0.1,2.3, got '", whole, "'");
  return number;
}

RecordAttentionOptions recording_options(const Options& options) {
  RecordAttentionOptions result;
  result.max_tokens = options.integer("max_tokens");
  require(result.max_tokens >= 0, "--max_tokens: expected a number from 0, got ",
          result.max_tokens);
  result.layers = options.integers("layers");
  const std::string heads = options.text("heads");
  if (heads.find('.') == std::string::npos) {
    result.heads = options.integers("heads");
    return result;
  }
  require(result.layers.empty(), "--layers: expected none beside --heads ", heads,
          ", which names layers itself");
  for (const std::string& pair : split_at_commas(heads)) {
    const std::size_t dot = std::min(pair.find('.'), pair.size());
    const Index layer = head_number(pair.substr(0, dot), heads);
    const Index head = head_number(pair.substr(std::min(dot + 1, pair.size())), heads);
    result.heads_by_layer[layer].push_back(head);
  }
  return result;
}

std::set<std::string> chosen_formats(const Options& options) {
  std::set<std::string> formats;
  for (const std::string& format : split_at_commas(options.text("format"))) {
    require(format == "npz" || format == "json" || format == "svg" || format == "html",
            "--format: expected npz, json, svg, html or some of them, got '", format, "'");
    formats.insert(format);
  }
  require(!formats.empty(), "--format: expected npz, json, svg, html or some of them, got none");
  return formats;
}

std::vector<std::string> read_documents(const Options& options) {
  require(options.given("text") != options.given("file"), "expected either --text or --file");
  const DocumentSplitOptions split{.mode = parse_document_split(options.text("documents"))};
  const std::string text =
      options.given("text") ? options.text("text") : read_text_file(options.text("file"));
  require(!text.empty(), "--text: expected a text, got an empty one");
  require_utf8(text, "--text");
  std::vector<std::string> documents = split_documents(text, split);
  const Index most = options.integer("max_documents");
  require(most >= 0, "--max_documents: expected a number from 0, got ", most);
  if (most > 0 && most < static_cast<Index>(documents.size())) {
    documents.resize(static_cast<std::size_t>(most));
  }
  return documents;
}

// "toy" for runs/toy and runs/toy/.
std::string title_of(const std::string& model) {
  const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

NamedTensors arrays_of(const RecordedAttention& recorded, const Tokenizer& tokenizer,
                       bool is_batch) {
  NamedTensors arrays;
  for (const RecordedLayer& layer : recorded.layers) {
    arrays.emplace_back(concat_text("blocks.", layer.layer, ".attn.hook_pattern"), layer.weights);
  }
  if (is_batch) {
    std::vector<std::vector<std::int32_t>> sequences;
    std::vector<std::int32_t> lengths;
    for (const RecordedDocument& document : recorded.documents) {
      sequences.push_back(document.ids);
      lengths.push_back(static_cast<std::int32_t>(document.ids.size()));
    }
    arrays.emplace_back("lengths", Tensor::from(lengths, {static_cast<Index>(lengths.size())}));
    arrays.emplace_back("tokens", pad_sequences(sequences, tokenizer.end_of_text()).tokens);
  }
  return arrays;
}

std::string tokens_json(const RecordedAttention& recorded) {
  nlohmann::ordered_json json;
  for (const RecordedDocument& document : recorded.documents) {
    json["documents"].push_back(
        {{"ids", document.ids}, {"tokens", document.tokens}, {"text", document.text}});
  }
  for (const RecordedLayer& layer : recorded.layers) {
    json["layers"].push_back({{"layer", layer.layer}, {"heads", layer.heads}});
  }
  return json.dump(1) + "\n";
}

// The text files that were asked for, by name. All are made before the first is written.
std::vector<std::pair<std::string, std::string>> text_files(const RecordedAttention& recorded,
                                                            const std::set<std::string>& formats,
                                                            const std::string& title) {
  std::vector<std::pair<std::string, std::string>> files;
  if (formats.count("json") > 0) {
    files.emplace_back("tokens.json", tokens_json(recorded));
  }
  const AttentionMaps maps = recorded.maps(0, title);
  if (formats.count("svg") > 0) {
    for (const LayerAttention& layer : maps.layers) {
      files.emplace_back(concat_text("layer_", layer.layer, ".svg"), attention_svg(maps, layer));
    }
  }
  if (formats.count("html") > 0) {
    files.emplace_back("attention.html", attention_html(maps));
  }
  return files;
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  require(!error && std::filesystem::is_directory(directory), directory.string(),
          ": cannot be made a directory", error ? ": " + error.message() : "");
}

void print_text(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::cout << "wrote " << file << "\n";
  }
  const std::string last = std::filesystem::path(files.back()).extension().string();
  if (last == ".html" || last == ".svg") {
    std::cout << "open  " << files.back() << "\n";
  }
}

}  // namespace

int run_attention(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  const RecordAttentionOptions recording = recording_options(options);
  const std::set<std::string> formats = chosen_formats(options);
  const std::vector<std::string> documents = read_documents(options);
  const LoadedModel loaded = load_model(options.positional());
  const RecordedAttention recorded =
      record_attention_batch(*loaded.model, *loaded.tokenizer, documents, recording);
  const auto texts = text_files(recorded, formats, title_of(options.positional()));
  const std::filesystem::path directory = options.text("out");
  make_directory(directory);
  std::vector<std::string> files;
  if (formats.count("npz") > 0) {
    files.push_back((directory / "attention.npz").string());
    write_npz(files.back(),
              arrays_of(recorded, *loaded.tokenizer, options.text("documents") != "none"));
  }
  for (const auto& [name, contents] : texts) {
    files.push_back((directory / name).string());
    write_file(files.back(), contents);
  }
  if (options.json()) {
    std::cout << nlohmann::ordered_json{{"files", files},
                                        {"tokens", recorded.token_count()},
                                        {"layers", recorded.layers.size()},
                                        {"heads", recorded.head_count()},
                                        {"directory", directory.string()}}
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  } else {
    print_text(files);
  }
  require(std::cout.flush().good(), "stdout: cannot be written");
  return 0;
}

}  // namespace headlight::cli
