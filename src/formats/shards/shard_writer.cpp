#include "formats/shards/shard_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/strings/zero_padded.h"
#include "datasets/shards/document_index.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

constexpr std::string_view kShardPrefix = "shard_";

std::string name_of_shard(Index number) {
  return std::string(kShardPrefix) + zero_padded(number, 6) + ".bin";
}

}  // namespace

ShardWriter::ShardWriter(std::filesystem::path folder, const Options& options, OnShard on_shard)
    : folder_(std::move(folder)),
      options_(options),
      on_shard_(std::move(on_shard)),
      number_(options.first) {}

void ShardWriter::add(EncodedPart part) {
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

void ShardWriter::finish() {
  end_document();
  close_shard();
}

void ShardWriter::end_document() {
  if (waiting_ == 0) {
    return;
  }
  if (waiting_ + 1 > room()) {
    close_shard();
  }
  write_document(waiting_);
}

// Writes the next `count` ids as a document with one end token.
void ShardWriter::write_document(Index count) {
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

void ShardWriter::take_ids(Index count, std::vector<std::int32_t>& ids) {
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

void ShardWriter::close_shard() {
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

bool is_shard_name(std::string_view name) {
  return name.starts_with(kShardPrefix) && (name.ends_with(".bin") || name.ends_with(".idx"));
}

}  // namespace headlight
