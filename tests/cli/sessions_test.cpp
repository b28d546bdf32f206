#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/formats/gguf/gguf_model.h"
#include "headlight/interpret/prune.h"
#include "support/bytes/compressed.h"
#include "support/bytes/pickle_writer.h"
#include "support/models/bert_directory.h"
#include "support/models/byte_vocabulary.h"
#include "support/programs/session.h"
#include "support/test.h"

// Sessions with the program, one file for each of its subjects. session.h says how to read them.

void save_chat_model(const fs::path& path, bool head_bias) {
  LoadedModel loaded{};
  const GptConfig config{.vocab_size = 257,
                         .block_size = 128,
                         .n_layer = 2,
                         .n_head = 2,
                         .n_embd = 16,
                         .bias = false,
                         .head_bias = head_bias,
                         .norm_type = NormKind::rms,
                         .position = PositionKind::rope,
                         .activation = Activation::silu,
                         .gated_mlp = true,
                         .n_inner = 24};
  loaded.model = std::make_unique<Gpt>(config, 3);
  loaded.tokenizer = std::make_unique<BpeTokenizer>(byte_vocabulary());
  set_chat_template(loaded, read_chat_template("chatml"));
  write_model_files(path, *loaded.model, *loaded.tokenizer);
}

// Saves a model with bytes as tokens and a context of 24.
void save_small_model(const fs::path& path, GptConfig config) {
  config.vocab_size = 257;
  config.block_size = 24;
  config.n_embd = 8;
  write_model_files(path, Gpt(config, 3), ByteTokenizer());
}

// Byte-level BPE of 256 bytes, <|endoftext|> (256), <|im_start|> (257) and <|im_end|> (258).
BpeTokenizer marks_tokenizer() {
  return BpeTokenizer(byte_vocabulary({"<|endoftext|>", "<|im_start|>", "<|im_end|>"}));
}

// Saves a model of the characters of a text and of `more` ids that its tokenizer lacks.
void save_letters(const fs::path& path, const std::string& text, Index block_size, Index more) {
  const CharTokenizer tokenizer = build_char_tokenizer(text);
  write_model_files(path, *lively_model(tokenizer.vocab_size() + more, block_size), tokenizer);
}

// Saves a model whose biases are 0.125: export leaves out those that are zero.
void save_biased_model(const fs::path& path) {
  const std::unique_ptr<Gpt> gpt = lively_model(257, 32);
  for (auto& [name, parameter] : gpt->parameters()) {
    if (name.ends_with(".bias")) {
      parameter.fill(0.125);
    }
  }
  write_model_files(path, *gpt, ByteTokenizer());
}

// Saves a model that answers "hi" to a prompt of 1 byte, "yo" to one of 4 and "ok" to one of 7.
void save_greeting_model(const fs::path& path, Index block_size) {
  constexpr std::int32_t end = 256;
  Ids script{'h', 'i', end, 'y', 'o', end, 'o', 'k', end};
  script.resize(static_cast<std::size_t>(block_size), end);
  write_model_files(path, *scripted_model(257, script), ByteTokenizer());
}

GptConfig tiny_config() {
  return {.vocab_size = 257, .block_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 6};
}

// Saves a tiny model whose embedding begins with these values.
void save_with_values(const fs::path& path, const std::vector<float>& values) {
  const Gpt model(tiny_config());
  std::ranges::copy(values, parameter_of(model, "wte.weight").data<float>());
  write_model_files(path, model, ByteTokenizer());
}

// Returns what saves a small model of this configuration, or a lively one with a tokenizer.
std::function<void(const fs::path&)> small(const GptConfig& config) {
  return [=](const fs::path& path) { save_small_model(path, config); };
}
template <class Model, class AnyTokenizer>
std::function<void(const fs::path&)> saved(const Model& model, const AnyTokenizer& tokenizer) {
  return [=](const fs::path& path) { write_model_files(path, *model(), tokenizer); };
}

// Saves a model of two layers that lost head 0 of three heads in each.
void save_pruned_model(const fs::path& path) {
  const Gpt whole({.vocab_size = 257,
                   .block_size = 32,
                   .n_layer = 2,
                   .n_head = 3,
                   .n_embd = 12,
                   .tie_weights = false});
  draw_normal(whole.parameters(), 5, 0, 0.5);
  write_model_files(path, *prune_heads(whole, {{0, 0}, {1, 0}}), ByteTokenizer());
}

void save_arrays(const fs::path& path) {
  const NamedTensors tensors{{"a", Tensor::zeros({2, 3})},
                             {"b", Tensor::scalar(1, DType::int32)},
                             {"c", Tensor::zeros({0, 4}, DType::boolean)}};
  write_safetensors(path / "x.safetensors", tensors, {{"format", "pt"}, {"made by", "hand"}});
  write_npz(path / "x.npz", tensors);
  write_gguf(path / "x.gguf",
             {{"general.name", std::string("a\x1b[2J")},
              {"eps", 1e-5F},
              {"one", GgufArray(std::vector<std::string>{"\n"})},
              {"many", GgufArray(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9})}},
             {{"w", Tensor::zeros({2, 32}), GgufType::q8_0}, {"b", Tensor::zeros({3})}});
  write_gguf(path / "y.gguf", {},
             {{"w", Tensor::from<float>({1, -2, 0.5F, 127}, {2, 2}), GgufType::bf16}});
}

// Saves a folder as nanoGPT's prepare.py writes it, of a text of numbered lines.
void save_nanogpt_data(const fs::path& path) {
  const std::string text =
      joined(60, [&](int i) { return "abcdefgh " + std::to_string(i) + "\n"; });
  const std::u32string characters = U"\n 0123456789abcdefgh";
  const CharTokenizer tokenizer({characters.begin(), characters.end()}, SpecialTokens::last);
  write_nanogpt_vocabulary(path / "meta.pkl", tokenizer);
  const Ids ids = tokenizer.encode(text);
  write_bytes(path / "train.bin",
              token_file_bytes(Ids(ids.begin(), ids.end() - 80), TokenDtype::uint16));
  write_bytes(path / "val.bin",
              token_file_bytes(Ids(ids.end() - 80, ids.end()), TokenDtype::uint16));
}

// Saves a tokenizer of the 65536 characters from U+10000 on.
void save_many_characters(const fs::path& path) {
  std::vector<char32_t> characters(0x10000);
  std::iota(characters.begin(), characters.end(), U'\U00010000');
  save_tokenizer(path, CharTokenizer(characters));
}

void save_nanogpt(const fs::path& path) {
  fs::copy_file(HEADLIGHT_SOURCE_DIR "/tests/formats/nanogpt/ckpt.pt", path / "ckpt.pt");
  write_nanogpt_vocabulary(path / "meta.pkl",
                           CharTokenizer({U'a', U'b', U'c'}, SpecialTokens::none));
}

const ModelMakers kModels{
    {"chat", [](const fs::path& path) { save_chat_model(path, false); }},
    {"chat_with_head_bias", [](const fs::path& path) { save_chat_model(path, true); }},
    {"three_layers",
     small({.n_layer = 3, .n_head = 2, .residual_dropout = 0.1, .tie_weights = false})},
    {"one_layer", small({.n_layer = 1, .n_head = 1})},
    {"rotary", small({.n_layer = 1, .n_head = 2, .position = PositionKind::rope})},
    {"bytes", saved([] { return lively_model(257, 32); }, ByteTokenizer())},
    // Writes "hello" and stops, after a prompt of one byte.
    {"hello", saved([] { return scripted_model(257, script_of("hello")); }, ByteTokenizer())},
    {"marks", saved([] { return lively_model(259, 64); }, marks_tokenizer())},
    {"letters", [](const fs::path& path) { save_letters(path, "abcdefgh ", 32, 0); }},
    {"letters_and_gaps", [](const fs::path& path) { save_letters(path, "abcdefgh 하\n", 16, 3); }},
    {"one_token", [](const fs::path& path) { save_letters(path, "abcdefgh ", 1, 0); }},
    {"bert", [](const fs::path& path) { write_bert(path); }},
    {"bert_without_head", [](const fs::path& path) { write_bert(path, false); }},
    {"tiny",
     [](const fs::path& path) { write_model_files(path, Gpt(tiny_config()), ByteTokenizer()); }},
    {"halfway",
     [](const fs::path& path) {
       save_with_values(path, {1 + 0x1p-8F, 1 + 0x3p-8F, 1 + 0x1p-11F, 1 + 0x3p-11F});
     }},
    {"too_large", [](const fs::path& path) { save_with_values(path, {65520}); }},
    {"post_norm", small({.n_layer = 1, .n_head = 2, .norm = NormPosition::post})},
    {"narrow_head", small({.n_layer = 1, .n_head = 2, .heads_per_layer = {1}, .head_width = 5})},
    {"no_mlps", small({.n_layer = 2, .n_head = 2, .mlp = false})},
    {"licensed",
     [](const fs::path& path) {
       write_gguf_model(path / "a.gguf", Gpt(tiny_config()), ByteTokenizer(),
                        {.name = "Tiny", .general = {{"general.license", std::string("mit")}}});
     }},
    {"nanogpt", save_nanogpt},
    {"pruned", save_pruned_model},
    {"arrays", save_arrays},
    {"nanogpt_data", save_nanogpt_data},
    {"many_characters", save_many_characters},
    {"biased", save_biased_model},
    {"greeting", [](const fs::path& path) { save_greeting_model(path, 16); }},
    {"greeting_8", [](const fs::path& path) { save_greeting_model(path, 8); }},
    {"parallel", small({.n_layer = 2, .n_head = 2, .parallel_residual = true})},
    {"grouped_heads", small({.n_layer = 2, .n_head = 4, .n_kv_head = 2})},
    {"compressed",
     [](const fs::path& path) {
       const std::string lines = "{\"text\": \"ab\"}\n{\"text\": \"\"}\n\"cd\"\n";
       write_bytes(path / "b.jsonl.zst", zstandard(lines));
       write_bytes(path / "c.jsonl.gz", gzip(lines));
       write_bytes(path / "text.gz", gzip(std::string(400, 'a')));
     }},
    {"abc_tokenizer",
     [](const fs::path& path) { save_tokenizer(path, build_char_tokenizer("abc")); }},
    {"wide_tokenizer",
     [](const fs::path& path) { save_tokenizer(path, build_char_tokenizer("ab 한\n\x1B")); }},
    {"byte_tokenizer", [](const fs::path& path) { save_tokenizer(path, ByteTokenizer()); }},
};

TEST_CASE("sessions: resumed runs") { run_sessions("cli/sessions/resume.txt", kModels); }
TEST_CASE("sessions: chats and adapters") { run_sessions("cli/sessions/chats.txt", kModels); }
TEST_CASE("sessions: preferences") { run_sessions("cli/sessions/preferences.txt", kModels); }
TEST_CASE("sessions: fine-tuning") { run_sessions("cli/sessions/fine_tuning.txt", kModels); }
TEST_CASE("sessions: run directories") { run_sessions("cli/sessions/run_directory.txt", kModels); }
TEST_CASE("sessions: first training") { run_sessions("cli/sessions/first_training.txt", kModels); }
TEST_CASE("sessions: text input") { run_sessions("cli/sessions/data.txt", kModels); }
TEST_CASE("sessions: tokenizers") { run_sessions("cli/sessions/tokenizer.txt", kModels); }
TEST_CASE("sessions: generate") { run_sessions("cli/sessions/generate.txt", kModels); }
TEST_CASE("sessions: chat") { run_sessions("cli/sessions/chat.txt", kModels); }
TEST_CASE("sessions: special tokens") { run_sessions("cli/sessions/special_tokens.txt", kModels); }
TEST_CASE("sessions: characters") { run_sessions("cli/sessions/characters.txt", kModels); }
TEST_CASE("sessions: reports of tokens") {
  run_sessions("cli/sessions/token_reports.txt", kModels);
}
TEST_CASE("sessions: GGUF files") { run_sessions("cli/sessions/gguf.txt", kModels); }
TEST_CASE("sessions: comparisons of runs") { run_sessions("cli/sessions/compare.txt", kModels); }
TEST_CASE("sessions: heads") { run_sessions("cli/sessions/heads/heads.txt", kModels); }
TEST_CASE("sessions: heads over time") {
  run_sessions("cli/sessions/heads/heads_over_time.txt", kModels);
}
TEST_CASE("sessions: attention") { run_sessions("cli/sessions/heads/attention.txt", kModels); }
TEST_CASE("sessions: direct logit attribution") {
  run_sessions("cli/sessions/heads/attribute.txt", kModels);
}
TEST_CASE("sessions: ablation and pruning") {
  run_sessions("cli/sessions/heads/ablate.txt", kModels);
}
TEST_CASE("sessions: patching and circuits") {
  run_sessions("cli/sessions/heads/patch.txt", kModels);
}
TEST_CASE("sessions: cached activations") { run_sessions("cli/sessions/heads/cache.txt", kModels); }
TEST_CASE("sessions: bidirectional models") {
  run_sessions("cli/sessions/bidirectional.txt", kModels);
}
TEST_CASE("sessions: lens") { run_sessions("cli/sessions/heads/lens.txt", kModels); }
TEST_CASE("sessions: a trained model") { run_sessions("cli/sessions/trained_model.txt"); }
TEST_CASE("sessions: page") { run_sessions("cli/sessions/page.txt", kModels); }
TEST_CASE("sessions: languages") { run_sessions("cli/sessions/language.txt", kModels); }
TEST_CASE("sessions: export") { run_sessions("cli/sessions/export.txt", kModels); }
TEST_CASE("sessions: token files") { run_sessions("cli/sessions/token_files.txt", kModels); }
TEST_CASE("sessions: matrix products") { run_sessions("cli/sessions/products.txt"); }
TEST_CASE("sessions: benchmarks") { run_sessions("cli/sessions/bench.txt"); }
