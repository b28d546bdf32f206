#!/usr/bin/env python3
"""Runs the clients that people use against `headlight serve` with a real model, each with its own way of asking.

usage: check_clients.py HEADLIGHT MODEL.gguf [CLIENT ...]

Starts a server with MODEL and a chat template that has tools, and prints a line for each client: ok, skipped (not
installed) or FAILED with the error. Ends with 1 if one failed. tools/clients.sh installs the clients and calls this.

No check depends on the whims of a small model: answers are held by schemas, required tools or regular expressions, and
no_calls() keeps the model from calling a tool again.
"""

import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import urllib.request
from pathlib import Path
from typing import Literal

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATES = PROJECT / "tests/formats/chat_templates/chatml.jsonl"
MODEL = "small"
City = Literal["Oslo", "Rome"]  # the model is small: it might never end a text that is free
KEY = "key-for-tests-0123456789"
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
CHECKS = {}


def check(module):
    """Registers a check that needs a Python module."""

    def register(function):
        CHECKS[function.__name__] = (module, function)
        return function

    return register


def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


def fails(error_type, ask):
    """Returns the error that ask() raises."""
    try:
        ask()
    except error_type as error:
        return error
    raise AssertionError(f"expected {error_type.__name__}")


def no_calls(url):
    """Returns a logit_bias with which a free answer never begins a call; required calls do not need these tokens."""
    bias = {}
    for end in range(1, len("<tool_call>") + 1):
        body = json.dumps({"content": "<tool_call>"[:end]}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
        with urllib.request.urlopen(urllib.request.Request(url + "/tokenize", body, headers)) as answer:
            tokens = json.load(answer)["tokens"]
        if len(tokens) == 1:
            bias[str(tokens[0])] = -100
    return bias


@check("openai")
def openai_chat(url):
    from openai import BadRequestError, OpenAI

    client = OpenAI(base_url=url + "/v1", api_key=KEY)
    request = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "seed": 1, "max_tokens": 20}
    whole = client.chat.completions.create(**request)
    text = "".join(
        event.choices[0].delta.content or "" for event in client.chat.completions.create(**request, stream=True)
    )
    same(text, whole.choices[0].message.content)
    same([model.id for model in client.models.list()], [MODEL])
    tool = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
    request["max_tokens"] = 100
    call = client.chat.completions.create(**request, tools=[tool], tool_choice="required").choices[0].message
    holds(json.loads(call.tool_calls[0].function.arguments)["city"] in ("Oslo", "Rome"), call)
    too_long = [{"role": "user", "content": "word " * 9000}]
    error = fails(BadRequestError, lambda: client.chat.completions.create(model=MODEL, messages=too_long))
    same(error.code, "context_length_exceeded")
    request["extra_body"] = {"structured_outputs": {"regex": r"(?:\+|00)\d{2} [A-Z]{3}"}}
    number = client.chat.completions.create(**request).choices[0].message.content
    holds(re.fullmatch(r"(?:\+|00)\d{2} [A-Z]{3}", number), number)
    request["extra_body"] = {"structured_outputs": {"regex": r"(a)\1"}}
    holds("regex" in str(fails(BadRequestError, lambda: client.chat.completions.create(**request))), "no reason")
    vectors = client.embeddings.create(model=MODEL, input=["one", "two"]).data
    same(len(vectors), 2)


@check("openai")
def openai_responses(url):
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City
        warm: bool

    client = OpenAI(base_url=url + "/v1", api_key=KEY)
    request = {"model": MODEL, "input": "Hello", "max_output_tokens": 20, "extra_body": {"seed": 1}}
    whole = client.responses.create(**request)
    with client.responses.stream(**request) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    same(text, whole.output_text)
    same(final.output_text, whole.output_text)
    same(final.usage.output_tokens, whole.usage.output_tokens)
    parsed = client.responses.parse(model=MODEL, input="The weather in Rome?", text_format=Answer).output_parsed
    holds(isinstance(parsed, Answer), parsed)
    tool = {"type": "function", "name": "weather", "parameters": WEATHER, "strict": True}
    history = [{"role": "user", "content": "Weather in Oslo?"}]
    call = client.responses.create(model=MODEL, input=history, tools=[tool], tool_choice="required").output[0]
    same(call.type, "function_call")
    history += [call, {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}]
    answer = client.responses.create(
        model=MODEL, input=history, tools=[tool], tool_choice="none", max_output_tokens=16
    )
    holds(answer.output_text, "no text after the result of a call")


@check("anthropic")
def anthropic_errors(url):
    from anthropic import Anthropic, AuthenticationError, BadRequestError, NotFoundError

    def error_of(error_type, key=KEY, **changes):
        request = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "Hello"}], **changes}
        client = Anthropic(base_url=url, api_key=key, max_retries=0)
        body = fails(error_type, lambda: client.messages.create(**request)).body
        same(sorted(body), ["error", "type"])
        same(body["type"], "error")
        same(sorted(body["error"]), ["message", "type"])
        return body["error"]["type"]

    same(error_of(NotFoundError, model="other"), "not_found_error")
    same(error_of(BadRequestError, max_tokens=-3), "invalid_request_error")
    same(error_of(BadRequestError, messages=[{"role": "user", "content": "word " * 9000}]), "invalid_request_error")
    same(error_of(AuthenticationError, key="wrong"), "authentication_error")


@check("anthropic")
def anthropic_messages(url):
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key=KEY)
    request = {
        "model": MODEL,
        "max_tokens": 20,
        "system": "Be kind.",
        "messages": [{"role": "user", "content": "Hello"}],
        "extra_body": {"seed": 1},
    }
    whole = client.messages.create(**request)
    with client.messages.stream(**request) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    same(text, whole.content[0].text)
    same(final.usage.output_tokens, whole.usage.output_tokens)
    same(final.stop_reason, whole.stop_reason)
    count = client.messages.count_tokens(model=MODEL, system="Be kind.", messages=request["messages"]).input_tokens
    same(count, whole.usage.input_tokens + whole.usage.cache_read_input_tokens)
    tools = [{"name": "weather", "input_schema": WEATHER}]
    history = [{"role": "user", "content": "Weather in Oslo?"}]
    answer = client.messages.create(
        model=MODEL, max_tokens=100, messages=history, tools=tools, tool_choice={"type": "any"}
    )
    same(answer.stop_reason, "tool_use")
    call = answer.content[0]
    holds(call.input["city"] in ("Oslo", "Rome"), call)
    history += [
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]},
    ]
    holds(client.messages.create(model=MODEL, max_tokens=8, messages=history, tools=tools).content, "no answer")


@check("agents")
def openai_agents(url):
    from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    @function_tool
    def weather(city: City) -> str:
        """Returns the weather of a city."""
        return f"sunny in {city}"

    set_tracing_disabled(True)
    model = OpenAIResponsesModel(MODEL, AsyncOpenAI(base_url=url + "/v1", api_key=KEY))
    # The first turn must be a call, and the agent frees the choice of the second.
    extra = {"logit_bias": no_calls(url)}
    settings = ModelSettings(max_tokens=200, tool_choice="required", extra_body=extra)
    agent = Agent(name="a", instructions="Help.", model=model, tools=[weather], output_type=Answer, model_settings=settings)
    result = asyncio.run(Runner.run(agent, "Which city?", max_turns=3))
    holds(isinstance(result.final_output, Answer), result.final_output)
    same([item.type for item in result.new_items], ["tool_call_item", "tool_call_output_item", "message_output_item"])


@check("pydantic_ai")
def pydantic_ai_native_output(url):
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Answer(BaseModel):
        city: City

    provider = OpenAIProvider(base_url=url + "/v1", api_key=KEY)
    settings = {"max_tokens": 200, "extra_body": {"logit_bias": no_calls(url)}}
    for kind in (OpenAIChatModel, OpenAIResponsesModel):
        agent = Agent(kind(MODEL, provider=provider), output_type=NativeOutput(Answer), model_settings=settings)

        @agent.tool_plain
        def weather(city: City) -> str:
            """Returns the weather of a city."""
            return f"sunny in {city}"

        holds(isinstance(agent.run_sync("Which city?").output, Answer), kind)
        by_tool = Agent(kind(MODEL, provider=provider), output_type=Answer, model_settings={"max_tokens": 200})
        holds(isinstance(by_tool.run_sync("Which city?").output, Answer), kind)


@check("pydantic_ai")
def pydantic_ai_anthropic(url):
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    agent = Agent(AnthropicModel(MODEL, provider=AnthropicProvider(base_url=url, api_key=KEY)))
    holds(agent.run_sync("Hello", model_settings={"max_tokens": 20}).output, "no text")


@check("langchain_openai")
def langchain(url):
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    for uses_responses in (False, True):
        model = ChatOpenAI(
            model=MODEL, base_url=url + "/v1", api_key=KEY, max_tokens=100, use_responses_api=uses_responses
        )
        holds(model.invoke("Hello").content, "no text")
        holds("".join(part.text for part in model.stream("Hello")), "no stream")
        answer = model.with_structured_output(Answer, method="json_schema").invoke("Which city?")
        holds(isinstance(answer, Answer), answer)


@check("langchain")
def langchain_agent(url):
    from langchain.agents import create_agent
    from langchain.agents.structured_output import ProviderStrategy
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    def weather(city: City) -> str:
        """Returns the weather of a city."""
        return f"sunny in {city}"

    extra = {"logit_bias": no_calls(url)}
    model = ChatOpenAI(model=MODEL, base_url=url + "/v1", api_key=KEY, max_tokens=100, extra_body=extra)
    agent = create_agent(model, tools=[weather], response_format=ProviderStrategy(Answer))
    answer = agent.invoke({"messages": [{"role": "user", "content": "Which city?"}]})["structured_response"]
    holds(isinstance(answer, Answer), answer)
    call = model.bind_tools([weather], tool_choice="required").invoke("Which city?").tool_calls[0]
    same(call["name"], "weather")


@check("litellm")
def litellm_providers(url):
    import litellm

    messages = [{"role": "user", "content": "Hello"}]
    for provider, base in (("openai", url + "/v1"), ("anthropic", url), ("hosted_vllm", url + "/v1")):
        request = {"model": f"{provider}/{MODEL}", "api_base": base, "api_key": KEY, "max_tokens": 10, "temperature": 0}
        text = litellm.completion(**request, messages=messages).choices[0].message.content
        stream = litellm.completion(**request, messages=messages, stream=True)
        same("".join(event.choices[0].delta.content or "" for event in stream), text)
        too_long = [{"role": "user", "content": "word " * 9000}]
        fails(litellm.ContextWindowExceededError, lambda request=request: litellm.completion(**request, messages=too_long))


@check("instructor")
def instructor_models(url):
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    for mode in (instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS):
        client = instructor.from_openai(OpenAI(base_url=url + "/v1", api_key=KEY), mode=mode)
        answer = client.chat.completions.create(
            model=MODEL, response_model=Answer, max_tokens=100, messages=[{"role": "user", "content": "Which city?"}]
        )
        holds(isinstance(answer, Answer), answer)


@check("outlines")
def outlines_models(url):
    from datetime import date

    import outlines
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    client = OpenAI(base_url=url + "/v1", api_key=KEY)
    for model in (outlines.from_openai(client, MODEL), outlines.from_vllm(client, MODEL)):
        holds(Answer.model_validate_json(model("Which city?", Answer, max_tokens=100)), "no answer")
    for kind in (bool, date, City, outlines.types.ipv4, outlines.regex(r"[A-Z][a-z]{2,5}!")):
        text = model("Which?", kind, max_tokens=60)
        pattern = outlines.types.dsl.to_regex(outlines.types.dsl.python_types_to_terms(kind))
        holds(re.fullmatch(pattern, text), (kind, text))


@check("smolagents")
def smolagents_model(url):
    from smolagents import OpenAIServerModel, tool

    @tool
    def weather(city: str) -> str:
        """Returns the weather of a city.

        Args:
            city: name of the city
        """
        return f"sunny in {city}"

    weather.inputs["city"]["enum"] = ["Oslo", "Rome"]
    model = OpenAIServerModel(model_id=MODEL, api_base=url + "/v1", api_key=KEY)
    message = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    holds(model.generate([message], max_tokens=10).content, "no text")
    holds("".join(part.content or "" for part in model.generate_stream([message], max_tokens=10)), "no stream")
    call = model.generate([message], tools_to_call_from=[weather], max_tokens=100).tool_calls[0].function
    same(call.name, "weather")
    holds(json.loads(call.arguments)["city"] in ("Oslo", "Rome"), call)


@check("dspy")
def dspy_model(url):
    import dspy

    model = dspy.LM(f"openai/{MODEL}", api_base=url + "/v1", api_key=KEY, max_tokens=10, cache=False)
    holds(model("Hello")[0], "no text")
    # The form in which dspy reads the fields of an answer.
    form = r"\[\[ ## city ## \]\]\n(?:Oslo|Rome)\n\n\[\[ ## completed ## \]\]"
    dspy.configure(lm=model.copy(max_tokens=100, extra_body={"structured_outputs": {"regex": form}}))
    city = dspy.Predict(dspy.Signature("question -> city").with_updated_fields("city", type_=City))(question="Which?").city
    holds(city in ("Oslo", "Rome"), city)


@check("llama_index.llms.openai_like")
def llama_index_model(url):
    from llama_index.core.prompts import PromptTemplate
    from llama_index.llms.openai_like import OpenAILike
    from pydantic import BaseModel

    class Answer(BaseModel):
        """Names a city."""

        city: City

    model = OpenAILike(
        model=MODEL,
        api_base=url + "/v1",
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        max_tokens=100,
    )
    holds("".join(part.delta for part in model.stream_complete("Hello")), "no stream")
    answer = model.structured_predict(Answer, PromptTemplate("Which city?"))
    holds(isinstance(answer, Answer), answer)
    plain = OpenAILike(model=MODEL, api_base=url + "/v1", api_key=KEY, max_tokens=10)
    holds(plain.complete("Hello").text, "no text")


@check("llm")
def llm_models(url):
    import llm
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    def weather(city: City) -> str:
        """Returns the weather of a city."""
        return f"sunny in {city}"

    entry = {
        "model_id": MODEL,
        "model_name": MODEL,
        "api_base": url + "/v1",
        "api_key_name": MODEL,
        "supports_schema": True,
        "supports_tools": True,
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LLM_USER_PATH"] = folder
        (Path(folder) / "extra-openai-models.yaml").write_text(json.dumps([entry]))  # JSON is YAML
        model = llm.get_model(MODEL)
        holds("".join(model.prompt("Hello", key=KEY, max_tokens=10)), "no stream")
        holds(model.prompt("Hello", key=KEY, stream=False, max_tokens=10).text(), "no text")
        Answer.model_validate_json(model.prompt("Which city?", schema=Answer, key=KEY, max_tokens=100).text())
        answer = model.chain(
            "Which city?", tools=[weather], key=KEY, options={"logit_bias": no_calls(url), "max_tokens": 10}
        )
        holds(answer.text(), "no text beside tools")


@check("guidellm")
def guidellm_benchmark(url):
    with tempfile.TemporaryDirectory() as folder:
        prompts, report = Path(folder) / "prompts.jsonl", Path(folder) / "report.json"
        prompts.write_text("".join(json.dumps({"prompt": f"Tell me about {i}."}) + "\n" for i in range(4)))
        for form in ("/v1/chat/completions", "/v1/completions"):
            backend = f"kind=openai_http,target={url},model={MODEL},api_key={KEY},request_format={form},max_tokens=8"
            command = [sys.executable, "-m", "guidellm", "run", "--disable-console", "--backend", backend]
            command += ["--profile", "kind=concurrent,streams=2", "--constraint", "kind=max_requests,count=4"]
            command += ["--data", f"kind=json_file,path={prompts}", "--output", f"kind=json,path={report}"]
            subprocess.run(command, check=True, capture_output=True, text=True)
            totals = json.loads(report.read_text())["benchmarks"][0]["metrics"]["request_totals"]
            same((totals["successful"], totals["errored"]), (4, 0))


@check("lm_eval")
def lm_eval_tokenizer(url):
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    os.environ["OPENAI_API_KEY"] = KEY
    # Without a backend, lm-eval asks the server for one.
    model = LocalCompletionsAPI(base_url=url + "/v1/completions", model=MODEL, auth_token=KEY, max_retries=1)
    same(model.tokenizer_backend, "remote")
    ids = model.tok_encode("The cat sat", add_special_tokens=False)
    same(model.tokenizer.decode(ids), "The cat sat")
    same(model.tokenizer.decode([model.eot_token_id]), "")  # a special token
    start = "The capital of France is"
    options = {"until": ["\n"], "max_gen_toks": 6}
    (text,) = model.generate_until([Instance("generate_until", {}, (start, options), 0)])
    pairs = [(start, text), (start, " zebra"), ("", "The cat sat")]
    scores = model.loglikelihood([Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)])
    same([is_greedy for _, is_greedy in scores][:2], [True, False])
    holds(scores[1][0] < -5, scores)


def start(headlight, model):
    """Returns a server's process, its address and its folder."""
    folder = Path(tempfile.mkdtemp(prefix="clients_"))
    key, template = folder / "key", folder / "qwen2_5.jinja"
    key.touch(mode=0o600)
    key.write_text(KEY)
    with open(TEMPLATES, encoding="utf-8") as lines:
        template.write_bytes(next(line["source"] for line in map(json.loads, lines)
                                  if line["template"] == "qwen2_5").encode())
    command = [headlight, "serve", f"{MODEL}={model}", "--port", "0", "--api_key_file", key]
    process = subprocess.Popen(
        [*map(str, command), "--chat_template", str(template)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for line in process.stdout:
        if address := re.search(r"http://[\d.:]+\d", line):
            return process, address[0], folder
    raise SystemExit("the server did not start")


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main():
    os.environ.update(HF_HUB_OFFLINE="1", LITELLM_LOCAL_MODEL_COST_MAP="True", TOKENIZERS_PARALLELISM="false")
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    headlight, model, *wanted = sys.argv[1:]
    process, url, folder = start(headlight, model)
    failed = 0
    try:
        for name, (module, function) in CHECKS.items():
            if wanted and name not in wanted:
                continue
            if not is_installed(module):
                print(f"{name}: skipped, {module} is not installed")
                continue
            try:
                function(url)
                print(f"{name}: ok", flush=True)
            except Exception:
                failed += 1
                print(f"{name}: FAILED\n{traceback.format_exc(limit=-3)}", flush=True)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)
    return failed > 0


sys.exit(main())
