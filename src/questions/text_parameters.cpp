#include "questions/text_parameters.h"

#include "headlight/datasets/documents.h"

namespace headlight {

Parameter text_parameter(std::string_view unless) {
  return {.name = "text",
          .help = "Text that the model reads",
          .kind = ValueKind::prompt,
          .excludes = {unless},
          .is_required = true,
          .unless = unless,
          .is_basic = true,
          .former = {"tokens"}};
}

std::vector<Parameter> text_data_parameters(std::string_view unless) {
  return {{.name = "data",
           .help = "Texts, token ids or files of them",
           .kind = ValueKind::data,
           .is_required = unless.empty(),
           .is_basic = true},
          {.name = "documents",
           .help = "Where plain text is split into documents",
           .kind = ValueKind::name,
           .fallback = name_of(DocumentSplit::none),
           .choices = choices_of<DocumentSplit>(),
           .needs = {"data"},
           .is_basic = true},
          {.name = "batch_size",
           .help = "Compute this number of sequences at once",
           .kind = ValueKind::integer,
           .fallback = 12,
           .least = 1,
           .needs = {"data"}}};
}

Parameter point_parameter(Point fallback, std::vector<std::string_view> choices) {
  return {.name = "point",
          .help = "Values of this point: resid_pre, attn_out, mlp_out, z, q ...",
          .fallback = name_of(fallback),
          .choices = std::move(choices),
          .is_basic = true};
}

Parameter by_parameter(std::vector<std::string_view> choices, std::string_view fallback) {
  return {.name = "by",
          .help = "Parts into which the result is cut",
          .kind = ValueKind::name,
          .fallback = fallback.empty() ? Json() : Json(fallback),
          .choices = std::move(choices),
          .is_basic = true};
}

Parameter heads_parameter() {
  return {.name = "heads", .help = "These heads, e.g. 0.1,2.3 or 0:1;2:3", .is_basic = true};
}

Parameter method_parameter(std::vector<std::string_view> choices, std::string_view fallback) {
  return {.name = "method",
          .help = "How the result is computed; the details describe each way",
          .kind = ValueKind::name,
          .fallback = fallback,
          .choices = std::move(choices),
          .is_basic = true};
}

Parameter top_k_parameter() {
  return {.name = "top_k",
          .help = "Report N tokens, the most probable or the strongest",
          .kind = ValueKind::integer,
          .fallback = 5,
          .least = 1};
}

Parameter seed_parameter(std::vector<std::string_view> needs) {
  return {.name = "seed",
          .help = "Seed of the random numbers",
          .kind = ValueKind::integer,
          .fallback = 1337,
          .least = 0,
          .needs = std::move(needs)};
}

Parameter memory_parameter(std::vector<std::string_view> needs) {
  return {.name = "memory",
          .help =
              "Compute changed passes together in about this number of MiB, one at least; 0: a "
              "quarter of what is free",
          .kind = ValueKind::integer,
          .fallback = 0,
          .least = 0,
          .most = Index{1} << 30,
          .needs = std::move(needs)};
}

Index memory_of(const Arguments& arguments) {
  constexpr Index kMebibyte = Index{1} << 20;
  return arguments.integer("memory") * kMebibyte;
}

Parameter layers_parameter() {
  return {.name = "layers",
          .help = "Only these layers, e.g. 3, 4-8 (8 included) or 4-",
          .kind = ValueKind::range};
}

Parameter positions_parameter() {
  return {.name = "positions",
          .help = "Only these positions (from 0), e.g. 3, 4-8 (8 included) or, in one text, last",
          .kind = ValueKind::range};
}

}  // namespace headlight
