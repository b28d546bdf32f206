#include "generate/json_schema/schema_document.h"

#include <algorithm>
#include <string_view>

#include "base/strings/hex_text.h"
#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "generate/json_schema/languages/schema_texts.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

// Returns the length of "https:", or 0.
std::size_t scheme_length(std::string_view address) {
  const std::size_t end = address.find_first_of(":/?#");
  const bool has_scheme = end != std::string_view::npos && end > 0 && address[end] == ':';
  return has_scheme ? end + 1 : 0;
}

// Returns the length of "https://host".
std::size_t authority_end(std::string_view address) {
  const std::size_t scheme = scheme_length(address);
  return address.substr(scheme).starts_with("//")
             ? std::min(address.find('/', scheme + 2), address.size())
             : scheme;
}

// Removes the parts "." and ".." of a path.
std::string without_dots(std::string_view path) {
  std::string all;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin + 1), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == "/..") {
      all.resize(all.rfind('/') == std::string::npos ? 0 : all.rfind('/'));
    } else if (part != "/." && part != ".") {
      all += part;
    }
    begin = end;
  }
  return all;
}

// Returns the address that a reference has from another address (RFC 3986, section 5).
std::string joined_address(std::string_view base, std::string_view reference) {
  const std::string_view whole = base.substr(0, base.find('#'));
  if (scheme_length(reference) > 0) {
    return std::string(reference);
  }
  if (reference.empty() || reference.starts_with('#')) {
    return std::string(whole) + std::string(reference);
  }
  if (reference.starts_with("//")) {
    return std::string(whole.substr(0, scheme_length(whole))) + std::string(reference);
  }
  const std::size_t root = authority_end(whole);
  const std::string_view path = whole.substr(root, whole.find('?', root) - root);
  const std::size_t tail = std::min(reference.find_first_of("?#"), reference.size());
  const std::string_view folder =
      reference.starts_with('/') ? "" : path.substr(0, path.rfind('/') + 1);
  return std::string(whole.substr(0, root)) +
         without_dots(std::string(folder) + std::string(reference.substr(0, tail))) +
         std::string(reference.substr(tail));
}

constexpr std::size_t kMaxSchemaWork = 300'000;
constexpr std::size_t kBytesOfWork = 64;

// Returns a part of a JSON pointer with "~1" and "~0" replaced.
std::string pointer_part(std::string_view part) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::string_view two = part.substr(i, 2);
    key += two == "~1" ? '/' : two == "~0" ? '~' : part[i];
    i += two == "~1" || two == "~0" ? 1 : 0;
  }
  return key;
}

const Json* child_of(const Json& value, const std::string& key) {
  if (value.is_array()) {
    const auto index = read_number<std::size_t>(key);
    return index && *index < value.size() ? &value[*index] : nullptr;
  }
  return value.find(key);
}

std::string text_of(const Json& schema, std::string_view keyword) {
  const Json* value = schema.find(keyword);
  return value != nullptr && value->is_string() ? value->text() : "";
}

}  // namespace

const Json& any_value() {
  static const Json kAnyValue(true);
  return kAnyValue;
}

SchemaDocument::SchemaDocument(const Json& root, WorkBudget budget)
    : root_(&root),
      budget_(std::move(budget)),
      draft_(text_of(root, "$schema")),
      is_old_draft_(draft_.find("/draft-0") != std::string::npos),
      id_keyword_(draft_.find("/draft-04") != std::string::npos ? "id" : "$id") {
  add_addresses(at("#", "#"));
}

void SchemaDocument::spend(std::size_t work, const std::string& where) {
  budget_.spend(work);
  spent_ += work;
  require_schema(spent_ <= kMaxSchemaWork, where, "the schema is too large or nested too deeply");
}

// Returns the number of the address to which references within a schema are relative.
std::size_t SchemaDocument::base_of(const Json& schema, std::size_t outer) {
  const std::string id = schema.is_object() ? text_of(schema, id_keyword_) : "";
  const bool is_ignored = schema.contains("$ref") && is_old_draft_;
  if (id.empty() || id.starts_with('#') || is_ignored) {
    return outer;
  }
  std::string address = joined_address(bases_[outer], id);
  address.resize(std::min(address.find('#'), address.size()));
  const auto [known, is_new] = base_numbers_.try_emplace(address, bases_.size());
  if (is_new) {
    bases_.push_back(address);
  }
  return known->second;
}

SchemaPart SchemaDocument::within(const SchemaPart& part, const Json& schema,
                                  const std::string& inner) {
  spend(1 + part.where.size() / kBytesOfWork, part.where);
  return {&schema, base_of(schema, part.base), part.where + inner};
}

SchemaPart SchemaDocument::made(Json schema, const SchemaPart& from) {
  std::string text = schema.dump();
  spend(1 + text.size() / kBytesOfWork * 4, from.where);
  const auto [known, is_new] = made_.try_emplace(std::move(text), nullptr);
  if (is_new) {
    kept_.push_back(std::move(schema));
    known->second = &kept_.back();
  }
  return {known->second, from.base, from.where};
}

SchemaPart SchemaDocument::at(const std::string& pointer, const std::string& where) {
  return descended({root_, base_of(*root_, 0), "#"}, std::string_view(pointer).substr(1), pointer,
                   where);
}

// Remembers the addresses of all schemas within this one.
void SchemaDocument::add_addresses(const SchemaPart& part) {
  const Json& schema = *part.schema;
  if (!schema.is_object()) {
    return;
  }
  const std::string& base = bases_[part.base];
  if (part.where == "#" || schema.contains(id_keyword_)) {
    addresses_.emplace(base, part);
  }
  for (const char* keyword : {"$anchor", "$dynamicAnchor", id_keyword_}) {
    const std::string name = text_of(schema, keyword);
    const bool is_id = keyword == id_keyword_;  // "#name" in older drafts
    if (!name.empty() && (!is_id || name.starts_with('#'))) {
      addresses_.emplace(base + (is_id ? "" : "#") + name, part);
      dynamic_names_[name] += std::string_view(keyword) == "$dynamicAnchor" ? 1 : 0;
    }
  }
  dynamic_names_[""] += schema.value("$recursiveAnchor", false) == Json(true) ? 1 : 0;
  for (const JsonMember& member : schema.members()) {
    const Subschemas kind = subschemas_of(member.key);
    const bool is_list = member.value.is_array() && kind != Subschemas::one;
    const std::string inner = '/' + member.key;
    if (kind == Subschemas::none) {
      continue;
    }
    if (is_list) {
      for (const Json& one : member.value) {
        add_addresses(within(part, one, inner));
      }
    } else if (kind == Subschemas::members && member.value.is_object()) {
      for (const JsonMember& one : member.value.members()) {
        add_addresses(within(part, one.value, inner));
      }
    } else {
      add_addresses(within(part, member.value, inner));
    }
  }
}

const TextLanguage& SchemaDocument::pattern(const Json& pattern, PatternMatch match,
                                            const std::string& where) {
  require_schema(pattern.is_string(), where, "pattern: expected a text");
  const std::pair key(pattern.text(), match);
  if (const auto known = patterns_.find(key); known != patterns_.end()) {
    return known->second;
  }
  TextLanguage texts = within_limits(where, "the pattern " + in_quotes(pattern.text()),
                                     [&] { return pattern_language(pattern.text(), match); });
  spend(texts.states().size(), where);
  return patterns_.emplace(key, std::move(texts)).first->second;
}

const TextLanguage* SchemaDocument::format(const Json& format, const std::string& where) {
  require_schema(format.is_string(), where, "format: expected a text");
  const auto [known, is_new] = formats_.try_emplace(format.text());
  if (is_new) {
    known->second = format_language(format.text());
  }
  return known->second ? &*known->second : nullptr;
}

// Follows a JSON pointer. `shown`: the whole reference.
SchemaPart SchemaDocument::descended(SchemaPart from, std::string_view pointer,
                                     const std::string& shown, const std::string& where) {
  const Json* found = from.schema;
  while (found != nullptr && pointer.starts_with('/')) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    found = child_of(*found, pointer_part(pointer.substr(1, end - 1)));
    from.base = found != nullptr ? base_of(*found, from.base) : 0;
    from.where += pointer.substr(0, end);
    pointer.remove_prefix(end);
  }
  require_schema(found != nullptr && pointer.empty(), where, "$ref: the schema has no ",
                 in_quotes(shown));
  return {found, from.base, from.where};
}

SchemaPart SchemaDocument::target(const SchemaPart& part, const std::string& keyword) {
  const Json& reference = (*part.schema)[keyword];
  require_schema(reference.is_string(), part.where, keyword, ": expected a text");
  spend(1 + reference.text().size() / kBytesOfWork, part.where);
  // Up to draft 7, all members beside a "$ref" are ignored.
  require_schema(!draft_.empty() || part.schema == root_ || !part.schema->contains(id_keyword_),
                 part.where, "$ref beside $id: name the draft of the schema with $schema");
  const std::string address = joined_address(bases_[part.base], reference.text());
  const std::size_t mark = std::min(address.find('#'), address.size());
  const std::string fragment = percent_decoded(address.substr(std::min(mark + 1, address.size())));
  const bool is_name = !fragment.empty() && !fragment.starts_with('/');
  const auto found = addresses_.find(address.substr(0, mark) + (is_name ? '#' + fragment : ""));
  require_schema(found != addresses_.end(), part.where, keyword, ": the schema has no ",
                 in_quotes(reference.text()));
  const SchemaPart& target = found->second;
  const bool is_dynamic =
      (keyword == "$dynamicRef" && is_name && target.schema->contains("$dynamicAnchor")) ||
      (keyword == "$recursiveRef" && dynamic_names_[""] > 0);
  require_schema(!is_dynamic || dynamic_names_[fragment] < 2, part.where, "the keyword ", keyword,
                 " cannot be expressed: several schemas have its name");
  return is_name ? target : descended(target, fragment, reference.text(), part.where);
}

}  // namespace headlight
