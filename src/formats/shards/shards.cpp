#include "headlight/formats/shards/shards.h"

#include <algorithm>
#include <deque>
#include <future>
#include <limits>
#include <optional>
#include <utility>

#include "base/strings/printable.h"
#include "base/strings/zero_padded.h"
#include "datasets/fingerprint.h"
#include "datasets/input_format_check.h"
#include "datasets/shards/document_index.h"
#include "datasets/shards/shard_manifest.h"
#include "headlight/base/error.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/storage/atomic_directory.h"
#include "headlight/storage/directory_lock.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/unfinished.h"
#include "kernels/threads/parallel.h"
#include "storage/input_file.h"
#include "storage/posix_file.h"
#include "tokenizers/text_encoder.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShardPrefix = "shard_";

std::string name_of_shard(Index number) {
  return std::string(kShardPrefix) + zero_padded(number, 6) + ".bin";
}

// True for names of files that a ShardWriter writes.
bool is_shard_name(std::string_view name) {
  return name.starts_with(kShardPrefix) && (name.ends_with(".bin") || name.ends_with(".idx"));
}

// The ids of one part of a text.
struct EncodedPart {
  std::vector<std::int32_t> ids;
  SourcePosition position;  // position of the first id that is not in a shard yet
  bool begins = false;      // true: begins a document; false: continues the last one
};

// Writes documents to token files, one after another; encode_shards() describes the distribution.
class ShardWriter {
 public:
  struct Options {
    Index shard_tokens = 0;
    TokenDtype dtype = TokenDtype::uint16;
    std::int32_t end_of_text = 0;
    Index first = 0;  // number of the first shard
  };
  // Called when a shard is on the disk. `next` is the start of the next one; nothing for the last.
  using OnShard =
      std::function<void(const Shard& shard, const std::optional<SourcePosition>& next)>;

  ShardWriter(std::filesystem::path folder, const Options& options, OnShard on_shard)
      : folder_(std::move(folder)),
        options_(options),
        on_shard_(std::move(on_shard)),
        number_(options.first) {}

  void add(EncodedPart part) {
    if (part.begins) {
      end_document();
    }
    const Index count = std::ssize(part.ids) - part.position.ids;
    if (count <= 0) {
      return;
    }
    waiting_ += count;
    document_.push_back(std::move(part));
    while (waiting_ >= options_.shard_tokens) {  // with its end token it exceeds any shard
      if (shard_.tokens > 0) {
        close_shard();
      }
      write_document(options_.shard_tokens - 1);
      close_shard();
    }
  }
  // Ends the last document and the last shard.
  void finish() {
    end_document();
    close_shard();
  }

 private:
  Index room() const { return options_.shard_tokens - shard_.tokens; }
  void end_document() {
    if (waiting_ == 0) {
      return;
    }
    if (waiting_ + 1 > room()) {
      close_shard();
    }
    write_document(waiting_);
  }
  // Writes the next `count` ids as a document with one end token.
  void write_document(Index count) {
    if (!file_) {
      shard_.name = name_of_shard(number_);
      temporary_.emplace(temporary_path(folder_ / shard_.name));
      file_.emplace(temporary_->path());
    }
    std::vector<std::int32_t> ids;
    ids.reserve(static_cast<std::size_t>(count) + 1);
    take_ids(count, ids);
    if (ids.back() != options_.end_of_text) {
      ids.push_back(options_.end_of_text);
    }
    file_->write(token_file_bytes(ids, options_.dtype));
    lengths_.push_back(static_cast<std::int32_t>(ids.size()));
    shard_.tokens += std::ssize(ids);
    ++shard_.documents;
  }
  void take_ids(Index count, std::vector<std::int32_t>& ids) {
    waiting_ -= count;
    while (count > 0) {
      EncodedPart& part = document_.front();
      const Index left = std::ssize(part.ids) - part.position.ids;
      const Index taken = std::min(count, left);
      const auto first = part.ids.begin() + part.position.ids;
      ids.insert(ids.end(), first, first + taken);
      count -= taken;
      part.position.ids += taken;
      if (taken == left) {
        document_.pop_front();
      }
    }
  }
  void close_shard() {
    if (!file_) {  // the shard is empty
      return;
    }
    const std::filesystem::path path = folder_ / shard_.name;
    file_->close();
    file_.reset();
    move_into_place(temporary_->path(), path);
    write_file(document_index_path(path), document_index_bytes(lengths_, options_.dtype));
    lengths_.clear();
    ++number_;
    const std::optional<SourcePosition> next =
        document_.empty() ? std::nullopt : std::optional(document_.front().position);
    on_shard_(std::exchange(shard_, {}), next);
  }

  std::filesystem::path folder_;
  Options options_;
  OnShard on_shard_;
  std::deque<EncodedPart> document_;  // parts of the current document, not yet in any shard
  Index waiting_ = 0;                 // number of their ids
  Index number_;
  Shard shard_;  // the shard being written
  std::optional<Unfinished> temporary_;
  std::optional<FileWriter> file_;
  std::vector<std::int32_t> lengths_;  // lengths of its documents
};

ShardSource source_of(const TextFile& file) {
  if (file.is_standard_input()) {
    return {.path = file.path};
  }
  const InputFile opened(file.path);
  return {.path = file.path, .bytes = opened.size(), .modified = opened.modified()};
}

// Encodes parts of texts on several threads and passes the results on in order.
class OrderedEncoder {
 public:
  OrderedEncoder(const TextEncoder& encoder, ShardWriter& writer)
      : encoder_(encoder), writer_(writer) {}

  void add(std::string_view text, const SourcePosition& position, bool begins) {
    bytes_ += text.size();
    unit_.push_back({std::string(text), position, begins});
    constexpr std::size_t kUnit = std::size_t{1} << 20;  // bytes that justify a thread
    if (bytes_ >= kUnit) {
      start();
    }
  }

  void finish() {
    start();
    while (!running_.empty()) {
      take_first();
    }
  }

 private:
  struct Text {
    std::string text;
    SourcePosition position;
    bool begins;
  };
  using Encoded = std::vector<EncodedPart>;

  // Runs twice as many tasks as threads: while one is waited for, others are ready to run.
  void start() {
    while (std::ssize(running_) >= 2 * kernels::max_threads()) {
      take_first();
    }
    running_.push_back(std::async(std::launch::async, [this, unit = std::exchange(unit_, {})] {
      const kernels::SingleThreadScope alone;
      Encoded encoded;
      for (const Text& part : unit) {
        encoded.push_back({encoder_.encode(part.text), part.position, part.begins});
      }
      return encoded;
    }));
    bytes_ = 0;
  }

  void take_first() {
    Encoded encoded = running_.front().get();
    running_.pop_front();
    for (EncodedPart& part : encoded) {
      writer_.add(std::move(part));
    }
  }

  const TextEncoder& encoder_;
  ShardWriter& writer_;
  std::vector<Text> unit_;  // parts collected for the next task
  std::size_t bytes_ = 0;   // bytes in unit_
  std::deque<std::future<Encoded>> running_;
};

Json settings_of(const Tokenizer& tokenizer, const ShardOptions& options) {
  const TextFormat& format = options.format;
  return {{"vocabulary", fingerprint_of_vocabulary(tokenizer)},
          {"token_dtype", name_of(format.token_dtype)},
          {"shard_tokens", options.shard_tokens},
          {"documents", name_of(format.split.mode)},
          {"separator", format.split.separator},
          {"jsonl", format.jsonl},
          {"special", options.special}};
}

// Throws Error naming the first setting that differs.
void require_same_settings(const Json& before, const Json& now, const std::string& where) {
  for (const auto& [key, value] : now.members()) {
    const Json* old = before.find(key);
    require(old != nullptr && old->dump() == value.dump(), where, ": the shards were begun with ",
            key, " = ", old == nullptr ? "nothing" : old->dump(), ", now ", value.dump(),
            "; choose another folder");
  }
}

void require_same_sources(const std::vector<ShardSource>& before,
                          const std::vector<ShardSource>& now, const std::string& where) {
  require(before.size() == now.size(), where, ": the shards were begun with ", before.size(),
          " texts, now ", now.size(), "; choose another folder");
  for (std::size_t i = 0; i < now.size(); ++i) {
    require(before[i].path == now[i].path, where, ": the shards were begun with ",
            shown(before[i].path), " as text ", i + 1, ", now ", shown(now[i].path),
            "; choose another folder");
    require(before[i] == now[i], shown(now[i].path), ": has changed since ", where, ", from ",
            before[i].bytes, " bytes to ", now[i].bytes, ", or was rewritten");
  }
}

void require_complete(const fs::path& folder, const std::vector<Shard>& shards, TokenDtype dtype) {
  for (const Shard& shard : shards) {
    const InputFile file(folder / shard.name);
    require(file.size() == shard.tokens * id_bytes(dtype), shown(folder / shard.name),
            ": expected ", shard.tokens, " ids of ", id_bytes(dtype), " bytes, got ", file.size(),
            " bytes");
  }
}

// True for names of files that save_tokenizer() writes.
bool is_of_tokenizer(std::string_view name) {
  return name.starts_with("tokenizer") || name == "generation_config.json";
}

// Throws Error unless the folder holds only leftovers of an encoding killed before its first shard.
void require_empty(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    require(name.starts_with('.') || is_of_tokenizer(name) || is_shard_name(name), shown(folder),
            ": contains ", shown(name), " and no shards; choose another folder");
  }
}

// Returns the folder's manifest for these texts. Creates it for a new folder.
ShardManifest begin_or_resume(const fs::path& folder, const std::vector<TextFile>& files,
                              const Tokenizer& tokenizer, const ShardOptions& options) {
  ShardManifest present{.settings = settings_of(tokenizer, options), .next = SourcePosition{}};
  for (const TextFile& file : files) {
    present.sources.push_back(source_of(file));
  }
  remove_stale_temporaries(folder, [](std::string_view name) {
    return is_shard_name(name) || name == kShardManifest || is_of_tokenizer(name);
  });
  std::optional<ShardManifest> before = read_shard_manifest(folder);
  if (!before) {
    require_empty(folder);
    save_tokenizer(folder, tokenizer);
    write_shard_manifest(folder, present);
    return present;
  }
  const std::string where = shown(folder / kShardManifest);
  require_same_settings(before->settings, present.settings, where);
  const bool has_input = std::any_of(files.begin(), files.end(),
                                     [](const TextFile& file) { return file.is_standard_input(); });
  require(!has_input, "standard input: cannot be read again, and the shards in ", where,
          " were made from it; choose another folder");
  require_same_sources(before->sources, present.sources, where);
  require_complete(folder, before->shards, options.format.token_dtype);
  return std::move(*before);
}

// Encodes a text from part `first.part` on.
InputFormatCheck encode_source(const TextFile& file, const ShardSource& source,
                               const SourcePosition& first, const TextFormat& format,
                               OrderedEncoder& encoder) {
  const bool documents = format.gives_documents(file);
  InputFormatCheck check(file, format);
  read_text(file, format, [&](const TextPart& part) {
    check.add(part.text);
    if (part.number >= first.part) {
      const bool continues = part.number == first.part;
      encoder.add(part.text,
                  {.source = first.source, .part = part.number, .ids = continues ? first.ids : 0},
                  documents || part.number == 0);
    }
  });
  require(source_of(file) == source, file.name(), ": changed while it was being read");
  return check;
}

ShardResult result_of(const ShardManifest& manifest, std::size_t found) {
  ShardResult result{.shards = manifest.shards, .found = static_cast<Index>(found)};
  for (const Shard& shard : manifest.shards) {
    result.tokens += shard.tokens;
    result.documents += shard.documents;
  }
  return result;
}

}  // namespace

ShardResult encode_shards(const fs::path& folder, const std::vector<TextFile>& files,
                          const Tokenizer& tokenizer, const ShardOptions& given) {
  ShardOptions options = given;
  if (options.format.token_dtype == TokenDtype::automatic) {
    options.format.token_dtype = token_dtype_for(tokenizer.vocab_size());
  }
  constexpr Index kMostDocumentTokens = std::numeric_limits<std::int32_t>::max();  // per document
  require_value(options.shard_tokens >= 2 && options.shard_tokens <= kMostDocumentTokens,
                "shard_tokens", "expected 2 to ", kMostDocumentTokens, ", got ",
                options.shard_tokens);
  make_folder(folder);
  const DirectoryLock lock(folder);
  ShardManifest manifest = begin_or_resume(folder, files, tokenizer, options);
  const std::size_t found = manifest.shards.size();
  if (!manifest.next) {
    return result_of(manifest, found);
  }
  ShardWriter writer(folder,
                     {.shard_tokens = options.shard_tokens,
                      .dtype = options.format.token_dtype,
                      .end_of_text = tokenizer.end_of_text(),
                      .first = static_cast<Index>(found)},
                     [&](const Shard& shard, const std::optional<SourcePosition>& next) {
                       manifest.shards.push_back(shard);
                       manifest.next = next;
                       write_shard_manifest(folder, manifest);
                       if (options.on_shard) {
                         options.on_shard(shard);
                       }
                     });
  const TextEncoder encoder(tokenizer, options.special);
  OrderedEncoder encoding(encoder, writer);
  const SourcePosition first = *manifest.next;
  std::vector<std::string> warnings;
  for (Index i = first.source; i < std::ssize(files); ++i) {
    const auto number = static_cast<std::size_t>(i);
    encode_source(files[number], manifest.sources[number],
                  i == first.source ? first : SourcePosition{.source = i}, options.format, encoding)
        .add_to(warnings);
  }
  encoding.finish();
  writer.finish();
  require(!manifest.shards.empty(), names_of(files), ": expected a text, got none");
  ShardResult result = result_of(manifest, found);
  result.warnings = std::move(warnings);
  return result;
}

}  // namespace headlight
