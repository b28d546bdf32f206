#include "formats/chat_template/tool_call_reader.h"

#include <algorithm>
#include <utility>

#include "formats/chat_template/tool_parameter.h"

namespace headlight {
namespace {

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
constexpr std::size_t kLongestCalledName = 256;  // of a function with its id, or of a parameter

// Returns true if `text` begins with a mark, or a mark with `text`.
bool may_begin_with(std::string_view text, std::string_view mark) {
  return mark.starts_with(text.substr(0, mark.size()));
}

std::string_view without_line_ends(std::string_view value) {
  value.remove_prefix(value.starts_with('\n') ? 1 : 0);
  value.remove_suffix(value.ends_with('\n') ? 1 : 0);
  return value;
}

}  // namespace

std::optional<bool> ToolCallReader::begins(const ToolStyle& style, std::string_view text) {
  const std::size_t begin = style.name_begin.size();
  if (!may_begin_with(text, style.name_begin)) {
    return false;
  }
  if (text.size() <= begin) {
    return std::nullopt;
  }
  return style.name_end.empty() ? text[begin] == '{'
                                : kNameCharacters.find(text[begin]) != std::string_view::npos;
}

ToolCallReader::State ToolCallReader::read(std::string_view text) {
  State state = State::complete;
  if (!has_object() && function_ == nullptr) {
    state = read_name(text);
  }
  if (state == State::complete) {
    state = style_.has_parameters ? read_parameters(text) : read_object(text);
  }
  is_complete_ = state == State::complete;
  return state;
}

std::optional<ToolCall> ToolCallReader::take() {
  const bool has_piece = !piece_.arguments.empty() && is_begun();
  return has_piece ? std::optional(std::exchange(piece_, {})) : std::nullopt;
}

// Returns `complete` after the name and its marks.
ToolCallReader::State ToolCallReader::read_name(std::string_view text) {
  text.remove_prefix(std::min(text.size(), style_.name_begin.size()));
  const std::size_t end = text.find(style_.name_end);
  const std::string_view head = text.substr(0, std::min(end, kLongestCalledName));
  const std::string_view name = head.substr(0, head.find_first_not_of(kNameCharacters));
  const std::string_view rest = head.substr(name.size());
  const auto may_have = [&](std::string_view mark) {
    return !mark.empty() && may_begin_with(rest, mark);
  };
  if (end != std::string_view::npos) {
    const bool has_id = !style_.id_mark.empty() && rest.starts_with(style_.id_mark);
    if (end > kLongestCalledName || !(rest.empty() || has_id) || !find_function(name)) {
      return State::broken;
    }
    read_ = style_.name_begin.size() + end + style_.name_end.size();
    return State::complete;
  }
  const bool may_continue = may_have(style_.name_end) || may_have(style_.id_mark);
  const bool may_be_short = text.size() < kLongestCalledName + style_.name_end.size();
  return may_continue && may_be_short ? State::unfinished : State::broken;
}

bool ToolCallReader::find_function(std::string_view name) {
  for (const Json& one : functions_) {
    function_ = one["name"] == Json(name) ? &one : function_;
  }
  return function_ != nullptr;
}

void ToolCallReader::give(std::string_view arguments) {
  if (!std::exchange(is_named_, true)) {
    piece_.name = (*function_)["name"].text();
  }
  piece_.arguments += arguments;
}

ToolCallReader::State ToolCallReader::end_before_fault() {
  if (is_begun() && style_.has_parameters) {
    give("}");
  }
  return is_begun() ? State::complete : State::broken;
}

// Reads on to the end of the object, and gives its arguments as they are written.
ToolCallReader::State ToolCallReader::read_object(std::string_view text) {
  for (; read_ < text.size(); ++read_) {
    const char c = text[read_];
    if (in_string_) {
      in_string_ = is_escaped_ || c != '"';
      is_escaped_ = !is_escaped_ && c == '\\';
      continue;
    }
    if (depth_ == 0 && c != '{' && kCallBlanks.find(c) == std::string_view::npos) {
      return end_before_fault();
    }
    in_string_ = c == '"';
    object_ = depth_ == 0 ? read_ : object_;
    depth_ += c == '{' ? 1 : c == '}' ? -1 : 0;
    const int arguments_depth = has_object() ? 2 : 1;
    if (c == '{' && depth_ == arguments_depth && !std::exchange(has_nested_, true)) {
      find_arguments(text.substr(0, read_));
    }
    if (c == '}' && depth_ == arguments_depth - 1 && std::exchange(in_arguments_, false)) {
      give(text.substr(given_, read_ + 1 - given_));
    }
    if (c == '}' && depth_ == 0) {
      ++read_;
      return end_object(text);
    }
  }
  if (in_arguments_) {
    give(text.substr(given_, read_ - given_));
    given_ = read_;
  }
  return State::unfinished;
}

// Finds out whether the object after `head` has the arguments.
void ToolCallReader::find_arguments(std::string_view head) {
  if (has_object()) {
    const std::optional<Json> call = try_parse_json(std::string(head) + "{}}");
    const std::string key = call && !call->empty() ? call->members().back().key : "";
    const Json* name = call ? call->find("name") : nullptr;
    if ((key != "arguments" && key != "parameters") || name == nullptr || !name->is_string() ||
        !find_function(name->text())) {
      return;
    }
  }
  in_arguments_ = true;
  given_ = head.size();
}

// Checks the object. Finds the arguments of one that was not read in order.
ToolCallReader::State ToolCallReader::end_object(std::string_view text) {
  const std::string_view object = text.substr(object_, read_ - object_);
  const std::optional<Json> call = try_parse_json(object);
  if (!call) {
    return end_before_fault();
  }
  if (is_named_) {
    return State::complete;
  }
  const Json* name = call->find("name");
  Json arguments = call->value("arguments", call->value("parameters", Json::object()));
  if (arguments.is_string()) {
    arguments = try_parse_json(arguments.text()).value_or(Json());
  }
  if (name == nullptr || !name->is_string() || !find_function(name->text()) ||
      !arguments.is_object()) {
    return State::broken;
  }
  give(arguments.dump());
  return State::complete;
}

ToolCallReader::State ToolCallReader::read_parameters(std::string_view text) {
  State state = State::complete;
  while (state == State::complete) {
    read_ = std::min(text.find_first_not_of(kCallBlanks, read_), text.size());
    const std::string_view rest = text.substr(read_);
    if (rest.starts_with(kFunctionEnd)) {
      read_ += kFunctionEnd.size();
      give(keys_.empty() ? "{}" : "}");
      return State::complete;
    }
    if (!rest.starts_with(kParameterBegin)) {
      const bool is_cut =
          may_begin_with(rest, kFunctionEnd) || may_begin_with(rest, kParameterBegin);
      return is_cut ? State::unfinished : end_before_fault();
    }
    state = read_parameter(text);
  }
  return state == State::broken ? end_before_fault() : state;
}

// Returns `complete` after one parameter.
ToolCallReader::State ToolCallReader::read_parameter(std::string_view text) {
  const std::size_t key = read_ + kParameterBegin.size();
  const std::string_view head = text.substr(key, kLongestCalledName);
  const std::size_t key_size = head.find(kParameterNameEnd);
  if (key_size == std::string_view::npos) {
    return head.size() < kLongestCalledName ? State::unfinished : State::broken;
  }
  const std::size_t value = key + key_size + kParameterNameEnd.size();
  const std::size_t end = text.find(kParameterEnd, std::max(value, searched_));
  if (end == std::string_view::npos) {
    searched_ = text.size() - std::min(text.size(), kParameterEnd.size());
    return State::unfinished;
  }
  const std::string name(head.substr(0, key_size));
  const Json parameters = function_->value("parameters", Json());
  const std::string_view written = without_line_ends(text.substr(value, end - value));
  if (!keys_.insert(name).second) {
    return State::broken;
  }
  give((keys_.size() == 1 ? "{" : ", ") + Json(name).dump() + ": " +
       parameter_value(parameters, name, written).dump());
  read_ = end + kParameterEnd.size();
  return State::complete;
}

}  // namespace headlight
