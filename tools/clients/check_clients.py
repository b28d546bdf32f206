#!/usr/bin/env python3
"""Runs the clients that people use against `headlight serve` with a real model, each with its own way of asking.

usage: check_clients.py HEADLIGHT MODEL.gguf [CLIENT ...]

Starts a server with MODEL and a chat template that has tools, and prints a line for each client: ok, skipped (not
installed) or FAILED with the error. Ends with 1 if one failed. tools/clients.sh installs the clients and calls this.
"""

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Literal

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATE = PROJECT / "tests/formats/chat_templates/qwen2_5.jinja"
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


def answer_of(ask, most=6):
    """Returns what ask() returns. The small model may call its tools for ever: then asks again."""
    for attempt in range(most):
        try:
            return ask()
        except Exception:
            if attempt + 1 == most:
                raise


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


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
    try:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "word " * 9000}])
        raise AssertionError("a prompt longer than the context was accepted")
    except BadRequestError as error:
        same(error.code, "context_length_exceeded")


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
    settings = ModelSettings(max_tokens=200)
    agent = Agent(name="a", instructions="Help.", model=model, tools=[weather], output_type=Answer, model_settings=settings)
    result = answer_of(lambda: asyncio.run(Runner.run(agent, "Which city?", max_turns=20)))
    holds(isinstance(result.final_output, Answer), result.final_output)


@check("pydantic_ai")
def pydantic_ai_native_output(url):
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Answer(BaseModel):
        city: City

    provider = OpenAIProvider(base_url=url + "/v1", api_key=KEY)
    for kind in (OpenAIChatModel, OpenAIResponsesModel):
        agent = Agent(kind(MODEL, provider=provider), output_type=NativeOutput(Answer), model_settings={"max_tokens": 200})

        @agent.tool_plain
        def weather(city: City) -> str:
            """Returns the weather of a city."""
            return f"sunny in {city}"

        result = answer_of(lambda agent=agent: agent.run_sync("Which city?", usage_limits=UsageLimits(request_limit=4)))
        holds(isinstance(result.output, Answer), kind)


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


@check("litellm")
def litellm_errors(url):
    import litellm

    request = {"model": f"openai/{MODEL}", "api_base": url + "/v1", "api_key": KEY, "max_tokens": 10}
    answer = litellm.completion(**request, messages=[{"role": "user", "content": "Hello"}])
    holds(answer.choices[0].message.content, "no text")
    try:
        litellm.completion(**request, messages=[{"role": "user", "content": "word " * 9000}])
        raise AssertionError("a prompt longer than the context was accepted")
    except litellm.ContextWindowExceededError:
        pass


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
    import outlines
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        city: City

    model = outlines.from_openai(OpenAI(base_url=url + "/v1", api_key=KEY), MODEL)
    holds(Answer.model_validate_json(model("Which city?", Answer, max_tokens=100)), "no answer")


@check("smolagents")
def smolagents_model(url):
    from smolagents import OpenAIServerModel

    model = OpenAIServerModel(model_id=MODEL, api_base=url + "/v1", api_key=KEY)
    message = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    holds(model.generate([message], max_tokens=10).content, "no text")


@check("dspy")
def dspy_model(url):
    import dspy

    model = dspy.LM(f"openai/{MODEL}", api_base=url + "/v1", api_key=KEY, max_tokens=10, cache=False)
    holds(model("Hello")[0], "no text")


@check("llama_index.llms.openai_like")
def llama_index_model(url):
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(model=MODEL, api_base=url + "/v1", api_key=KEY, is_chat_model=True, max_tokens=10)
    holds("".join(part.delta for part in model.stream_complete("Hello")), "no stream")


@check("lm_eval")
def lm_eval_tokenizer(url):
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    os.environ["OPENAI_API_KEY"] = KEY
    model = LocalCompletionsAPI(
        base_url=url + "/v1/completions", model=MODEL, tokenizer_backend="remote", tokenizer=MODEL
    )
    ids = model.tok_encode("The cat sat", add_special_tokens=False)
    same(model.tokenizer.decode(ids), "The cat sat")


def start(headlight, model):
    """Returns a server's process and address."""
    key = Path(os.environ.get("TMPDIR", "/tmp")) / f"clients_{os.getpid()}.key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    command = [headlight, "serve", f"{MODEL}={model}", "--port", "0", "--api_key_file", key]
    process = subprocess.Popen(
        [*map(str, command), "--chat_template", str(TEMPLATE)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for line in process.stdout:
        if address := re.search(r"http://[\d.:]+\d", line):
            return process, address[0], key
    raise SystemExit("the server did not start")


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    headlight, model, *wanted = sys.argv[1:]
    process, url, key = start(headlight, model)
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
        key.unlink()
    return failed > 0


sys.exit(main())
