#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "generate/sampling_parameters.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/nearest_name.h"
#include "headlight/generate/engine.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Keyword arguments of generate() and stream().
struct GenerationArguments {
  GenerateOptions options;
  Index samples = 1;
  WeightFormat weights = WeightFormat::float32;
  std::optional<CacheType> cache_type = {};
};

template <class T>
T argument(nb::handle value, const char* name) {
  return read_value<T>(value, name,
                       std::is_same_v<T, bool>       ? "True or False"
                       : std::is_floating_point_v<T> ? "a number"
                                                     : "a whole number");
}

using SetArgument = void (*)(GenerationArguments& into, nb::handle value, const char* name);

// Sets a number of the sampling. Returns false for another name.
bool set_sampling(GenerationArguments& into, nb::handle value, std::string_view name) {
  const auto found = std::ranges::find(sampling_parameters(), name, &SamplingParameter::name);
  if (found == sampling_parameters().end()) {
    return false;
  }
  SamplingOptions& sampling = into.options.sampling;
  if (value.is_none()) {
    return true;
  }
  if (found->is_count()) {
    found->set(sampling, argument<Index>(value, found->name.data()));
  } else {
    found->set(sampling, argument<double>(value, found->name.data()));
  }
  return true;
}

void set_seed(GenerationArguments& into, nb::handle value, const char* name) {
  into.options.sampling.seed = argument<std::uint64_t>(value, name);
}

// Takes a dictionary of numbers by token id.
void set_logit_bias(GenerationArguments& into, nb::handle value, const char* name) {
  require_value(nb::isinstance<nb::dict>(value), name, "expected a dictionary {id: number}");
  Json biases = Json::object();
  for (const auto& [key, number] : nb::borrow<nb::dict>(value)) {
    const auto id = read_value<Index>(key, name, "token ids");
    biases.add(std::to_string(id), read_value<double>(number, name, "numbers"));
  }
  into.options.sampling.logit_bias =
      read_logit_bias(biases, std::numeric_limits<std::int32_t>::max());
}

template <auto kMember>
void set_option(GenerationArguments& into, nb::handle value, const char* name) {
  auto& member = into.options.*kMember;
  member = argument<std::remove_reference_t<decltype(member)>>(value, name);
}

void set_stop(GenerationArguments& into, nb::handle value, const char* name) {
  into.options.stop = read_texts(value, name);
}

void set_logprobs(GenerationArguments& into, nb::handle value, const char* name) {
  into.options.logprobs = argument<Index>(value, name);
}

void set_grammar(GenerationArguments& into, nb::handle value, const char* name) {
  into.options.grammar = std::make_shared<const Grammar>(read_texts(value, name).front());
}

// Takes a schema as text or as a dict.
void set_schema(GenerationArguments& into, nb::handle value, const char* name) {
  const nb::object text = nb::isinstance<nb::str>(value)
                              ? nb::borrow(value)
                              : nb::module_::import_("json").attr("dumps")(value);
  into.options.grammar =
      std::make_shared<const Grammar>(json_schema_grammar(read_texts(text, name).front()));
}

void set_samples(GenerationArguments& into, nb::handle value, const char* name) {
  into.samples = argument<Index>(value, name);
  require_value(into.samples >= 1 && into.samples <= 10'000, name,
                "expected a number from 1 to 10000, got ", into.samples);
}

void set_speculate(GenerationArguments& into, nb::handle value, const char* name) {
  into.options.make_drafter = named_drafter(read_texts(value, name).front());
}

void set_weights(GenerationArguments& into, nb::handle value, const char* name) {
  into.weights = parse_name<WeightFormat>(name, read_texts(value, name).front());
}

void set_cache_type(GenerationArguments& into, nb::handle value, const char* name) {
  if (!value.is_none()) {
    into.cache_type = parse_name<CacheType>(name, read_texts(value, name).front());
  }
}

struct GenerationKey {
  const char* name;
  SetArgument set;
};

constexpr GenerationKey kGenerationKeys[] = {
    {"max_new_tokens", set_option<&GenerateOptions::max_new_tokens>},
    {"logit_bias", set_logit_bias},
    {"seed", set_seed},
    {"stop", set_stop},
    {"logprobs", set_logprobs},
    {"grammar", set_grammar},
    {"json_schema", set_schema},
    {"ignore_end_of_text", set_option<&GenerateOptions::ignore_end_of_text>},
    {"use_cache", set_option<&GenerateOptions::use_cache>},
    {"samples", set_samples},
    {"weights", set_weights},
    {"cache_type", set_cache_type},
    {"speculate", set_speculate},
};

GenerationArguments read_arguments(const nb::kwargs& given) {
  GenerationArguments result;
  for (const auto& [name, value] : given) {
    const auto text = nb::cast<std::string>(name);
    if (set_sampling(result, value, text)) {
      continue;
    }
    const auto* key = std::ranges::find_if(
        kGenerationKeys, [&](const GenerationKey& known) { return known.name == text; });
    if (key == std::end(kGenerationKeys)) {
      std::vector<std::string> names;
      for (const GenerationKey& known : kGenerationKeys) {
        names.emplace_back(known.name);
      }
      for (const SamplingParameter& known : sampling_parameters()) {
        names.emplace_back(known.name);
      }
      raise(PyExc_TypeError, "unknown argument " + text + did_you_mean(text, names));
    }
    if (!value.is_none()) {
      key->set(result, value, key->name);
    }
  }
  result.options.validate();
  return result;
}

// Generates all texts of all prompts, side by side.
std::vector<GenerateResult> generate_all(Model& model, const InputSequences& prompts,
                                         const GenerationArguments& arguments) {
  const auto samples = static_cast<std::size_t>(arguments.samples);
  std::vector<GenerateResult> results(prompts.ids.size() * samples);
  const Model::Use use(model);
  const std::shared_ptr<Decoder> decoder = model.decoder(arguments.weights, arguments.cache_type);
  Engine engine(*decoder, *model.tokenizer(), model.engine_options());
  for (std::size_t i = 0; i < prompts.ids.size(); ++i) {
    engine.begin({.prompt = prompts.ids[i],
                  .options = arguments.options,
                  .samples = arguments.samples,
                  .on_end = [&, i](Index sample, GenerateResult result) {
                    results[i * samples + static_cast<std::size_t>(sample)] = std::move(result);
                  }});
  }
  while (engine.step()) {
    check_signals();
  }
  return results;
}

nb::object generate_texts(Model& model, const Inputs& prompt, const nb::kwargs& given) {
  const InputSequences prompts = read_inputs(prompt, *model.tokenizer(), "prompt");
  const GenerationArguments arguments = read_arguments(given);
  std::vector<GenerateResult> results = generate_all(model, prompts, arguments);
  if (prompts.is_one && arguments.samples == 1) {
    return nb::cast(std::move(results.front()));
  }
  return nb::cast(std::move(results));
}

// A generated token, and the text that became final with it.
struct StreamedToken {
  TokenChoice choice;
  std::string text;
};

// Generates the tokens of one text when they are asked for.
class TokenStream {
 public:
  TokenStream(Model& model, std::vector<std::int32_t> prompt, const GenerationArguments& arguments)
      : model_(&model) {
    const Model::Use use(model);
    decoder_ = model.decoder(arguments.weights, arguments.cache_type);
    engine_ = std::make_unique<Engine>(*decoder_, *model.tokenizer(), model.engine_options());
    engine_->begin(
        {.prompt = std::move(prompt),
         .options = arguments.options,
         .on_text = [this](Index, std::string_view piece) { add_text(piece); },
         .on_token =
             [this](Index, const TokenChoice& choice) {
               tokens_.push_back({choice, ""});
             },
         .on_end = [this](Index, GenerateResult result) { reason_ = result.finish_reason; }});
  }
  TokenStream(const TokenStream&) = delete;

  // Throws StopIteration after the last token.
  StreamedToken next() {
    std::optional<StreamedToken> token;
    std::optional<FinishReason> reason;
    {
      const Model::Use use(*model_);
      while (tokens_.empty() && !reason_ && engine_->step()) {
        check_signals();
      }
      if (!tokens_.empty()) {
        token = std::move(tokens_.front());
        tokens_.pop_front();
      }
      reason = tokens_.empty() ? reason_ : std::nullopt;
    }
    shown_reason_ = reason;
    if (!token) {
      throw nb::stop_iteration();
    }
    return *std::move(token);
  }

  std::optional<std::string> finish_reason() const {
    return shown_reason_ ? std::optional(std::string(name_of(*shown_reason_))) : std::nullopt;
  }

 private:
  void add_text(std::string_view piece) {
    if (!tokens_.empty()) {
      tokens_.back().text += piece;
    }
  }

  Model* model_;
  std::shared_ptr<Decoder> decoder_;
  std::unique_ptr<Engine> engine_;
  std::deque<StreamedToken> tokens_;          // while the model is in use
  std::optional<FinishReason> reason_;        // likewise
  std::optional<FinishReason> shown_reason_;  // under the interpreter's lock
};

std::unique_ptr<TokenStream> stream_text(Model& model, const Inputs& prompt,
                                         const nb::kwargs& given) {
  InputSequences prompts = read_inputs(prompt, *model.tokenizer(), "prompt");
  require_value(prompts.is_one, "prompt", "expected one text, got several");
  GenerationArguments arguments = read_arguments(given);
  require_value(arguments.samples == 1, "samples", "expected 1, got ", arguments.samples);
  arguments.options.logprobs = arguments.options.logprobs.value_or(0);
  return std::make_unique<TokenStream>(model, std::move(prompts.ids.front()), arguments);
}

std::vector<std::pair<std::int32_t, double>> likeliest(const TokenChoice& choice) {
  std::vector<std::pair<std::int32_t, double>> pairs;
  for (const TokenLogProbability& likely : choice.likeliest) {
    pairs.emplace_back(likely.token, likely.log_probability);
  }
  return pairs;
}

void add_results(nb::module_& module) {
  nb::class_<TokenChoice>(module, "TokenChoice",
                          "A chosen token and the model's own prediction, before temperature and "
                          "filters.")
      .def_ro("token", &TokenChoice::token, "Id.")
      .def_ro("logprob", &TokenChoice::log_probability, "Log-probability in nats.")
      .def_ro("rank", &TokenChoice::rank, "1: the most likely token.")
      .def_prop_ro("top", &likeliest, "Ids and log-probabilities of the most likely tokens.");
  nb::class_<StreamedToken>(module, "StreamedToken", "A token of Model.stream().")
      .def_prop_ro(
          "token", [](const StreamedToken& self) { return self.choice.token; }, "Id.")
      .def_prop_ro(
          "logprob", [](const StreamedToken& self) { return self.choice.log_probability; },
          "Log-probability in nats.")
      .def_prop_ro(
          "rank", [](const StreamedToken& self) { return self.choice.rank; },
          "1: the most likely token.")
      .def_prop_ro(
          "top", [](const StreamedToken& self) { return likeliest(self.choice); },
          "Ids and log-probabilities of the most likely tokens.")
      .def_ro("text", &StreamedToken::text,
              "Text that became final with this token; \"\" inside a character.");
}

void add_texts(nb::module_& module) {
  nb::class_<GenerateResult>(module, "Generation", "A generated text; str() returns the text.")
      .def_ro("text", &GenerateResult::text, "Text without the prompt and the stop text.")
      .def_prop_ro(
          "tokens", [](const GenerateResult& self) { return array_of(self.tokens); },
          nb::rv_policy::move, "Ids, int32 of shape [T].")
      .def_ro("choices", &GenerateResult::choices, "One for each token, with logprobs=N.")
      .def_prop_ro(
          "finish_reason", [](const GenerateResult& self) { return name_of(self.finish_reason); },
          "\"length\", \"end_of_text\" or \"stop\".")
      .def_ro("prompt_tokens", &GenerateResult::prompt_tokens, "Number of tokens of the prompt.")
      .def_ro("prompt_was_cut", &GenerateResult::prompt_was_cut,
              "Whether the prompt was longer than the context.")
      .def_ro("guessed_tokens", &GenerateResult::guessed_tokens, "Tokens guessed with speculate=.")
      .def_ro("guesses_taken", &GenerateResult::guesses_taken, "Guessed tokens that the text has.")
      .def_prop_ro("tokens_per_second", &GenerateResult::tokens_per_second,
                   "Speed after the first token.")
      .def("__str__", [](const GenerateResult& self) { return self.text; })
      .def("__repr__", [](const GenerateResult& self) {
        return "<headlight.Generation: " + nb::cast<std::string>(nb::repr(nb::cast(self.text))) +
               ">";
      });
  nb::class_<TokenStream>(module, "TokenStream", "Iterator over the tokens of a text.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> TokenStream"))
      .def("__next__", &TokenStream::next)
      .def_prop_ro("finish_reason", &TokenStream::finish_reason,
                   "\"length\", \"end_of_text\" or \"stop\"; None before the end.");
}

// Returns the signature of a function that takes these arguments, for stubs.
std::string signature(const std::string& name, const std::string& end) {
  std::string sampling;
  for (const SamplingParameter& parameter : sampling_parameters()) {
    const double value = parameter.value({});
    sampling += parameter.is_count()
                    ? concat_text(parameter.name, ": int = ", static_cast<Index>(value), ", ")
                    : concat_text(parameter.name, ": float = ", value, ".0, ");
  }
  return "def " + name +
         "(self, prompt: headlight.types.ArrayLike, *, max_new_tokens: int = 500, " + sampling +
         "logit_bias: dict[int, float] | None = None, seed: int = 1337, "
         "stop: str | list[str] | None = None, logprobs: int | None = None, "
         "grammar: str | None = None, json_schema: str | dict[str, typing.Any] | None = None, "
         "ignore_end_of_text: bool = False, use_cache: bool = True, weights: str = \"float32\", "
         "cache_type: str | None = None, speculate: str | None = None" +
         end;
}

}  // namespace

void add_generation(nb::module_& module, nb::class_<Model>& model) {
  add_results(module);
  add_texts(module);
  model
      .def(
          "generate", &generate_texts, "prompt"_a, "options"_a,
          nb::sig(signature("generate", ", samples: int = 1) -> typing.Any").c_str()),
          "Continues a text, or several side by side.\n\n"
          "Parameters\n----------\n"
          "prompt : a text, token ids, or a list of them.\n"
          "temperature : 0 always takes the most likely token.\n"
          "logit_bias : numbers added to the logits of tokens, {id: number}.\n"
          "stop : end before the first of these texts.\n"
          "logprobs : keep each token's log-probability and this number of likely tokens.\n"
          "grammar, json_schema : generate only texts that match (GBNF, JSON schema).\n"
          "weights : \"float32\", \"bfloat16\" or \"int8\", precision of the matrices.\n"
          "cache_type : \"float32\", \"bfloat16\", \"float16\" or \"int8\", precision of cached "
          "keys and values. None: float32 with float32 weights, else float16.\n"
          "speculate : \"ngram\" or \"ngram:N\" guesses that the text repeats itself, and computes "
          "several tokens in a step. The text stays the same.\n"
          "samples : number of texts for each prompt.\n\n"
          "Returns\n-------\n"
          "A Generation; a list for several prompts or samples.")
      .def("stream", &stream_text, "prompt"_a, "options"_a, nb::keep_alive<0, 1>(),
           nb::sig(signature("stream", ") -> TokenStream").c_str()),
           "Returns an iterator over the tokens of a text, each with its log-probability. See "
           "generate().");
}

}  // namespace headlight::python
