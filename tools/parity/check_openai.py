"""Checks Headlight's server with OpenAI's own Python client.

Starts `headlight serve` on a small model with a chat template (or MODEL) and sends every kind of request that the
client has: models, completions and chats, whole and streamed, log-probabilities, tools, errors as the client's
exceptions. Needs the package openai from PyPI.
"""

import json
import subprocess
import typing

import openai
import pydantic


class Weather(pydantic.BaseModel):
    """Returns the weather of a city."""

    city: typing.Literal["Oslo", "Rome"]
    days: int


TOOLS = [openai.pydantic_function_tool(Weather, name="weather")]


def make_model(program):
    from transformers import AutoTokenizer, GPT2Config

    from models import lively, save_with_tokenizer

    tokenizer = program.train("tokenizer", "bpe", vocab_size=300, n_layer=1, n_head=1, n_embd=8, block_size=32)
    config = GPT2Config(vocab_size=len(AutoTokenizer.from_pretrained(tokenizer)), n_positions=2048, n_embd=64, n_layer=2,
                        n_head=4, bos_token_id=0, eos_token_id=0)
    return save_with_tokenizer(program.folder / "model", lively(config), tokenizer)


def check_completions(client, model):
    whole = client.completions.create(model=model, prompt="Once", max_tokens=12, seed=5, n=2, logprobs=2)
    yield "completion", len(whole.choices) == 2 and whole.usage.completion_tokens <= 24
    yield "logprobs", all(len(c.logprobs.tokens) == len(c.logprobs.token_logprobs) for c in whole.choices)
    texts = ["", ""]
    usage = None
    for event in client.completions.create(
        model=model, prompt="Once", max_tokens=12, seed=5, n=2, stream=True, stream_options={"include_usage": True}):
        usage = event.usage or usage
        for choice in event.choices:
            texts[choice.index] += choice.text
    yield "streamed completion", texts == [choice.text for choice in whole.choices]
    yield "streamed usage", usage.completion_tokens == whole.usage.completion_tokens
    echo = client.completions.create(model=model, prompt="ab", max_tokens=1, echo=True, logprobs=0)
    yield "echo", echo.choices[0].text.startswith("ab") and echo.choices[0].logprobs.token_logprobs[0] is None


def check_chats(client, model):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    whole = client.chat.completions.create(
        model=model, messages=messages, max_completion_tokens=12, seed=5, logprobs=True, top_logprobs=2)
    choice = whole.choices[0]
    yield "chat", choice.message.role == "assistant" and choice.finish_reason in ("stop", "length")
    yield "chat logprobs", all(len(token.top_logprobs) == 2 for token in choice.logprobs.content)
    text = ""
    for event in client.chat.completions.create(
        model=model, messages=messages, max_completion_tokens=12, seed=5, stream=True):
        text += event.choices[0].delta.content or ""
    yield "streamed chat", text == (choice.message.content or "")
    with client.chat.completions.stream(model=model, messages=messages, max_completion_tokens=12, seed=5) as stream:
        try:
            final = stream.get_final_completion()
        except openai.LengthFinishReasonError as error:  # raised at the length limit
            final = error.completion
    yield "stream helper", (final.choices[0].message.content or "") == (choice.message.content or "")


def check_tools(client, model):
    question = {"model": model, "tools": TOOLS, "max_completion_tokens": 300, "seed": 5}
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    named = {"type": "function", "function": {"name": "weather"}}
    for choice in ("required", named):
        whole = client.chat.completions.create(messages=messages, tool_choice=choice, **question).choices[0]
        calls = whole.message.tool_calls
        yield "calls", whole.finish_reason == "tool_calls" and whole.message.content is None
        yield "arguments", all(Weather.model_validate_json(call.function.arguments) for call in calls)
        with client.chat.completions.stream(messages=messages, tool_choice=choice, **question) as stream:
            streamed = stream.get_final_completion().choices[0]
        yield "streamed calls", streamed.finish_reason == "tool_calls" and [
            (call.function.name, call.function.arguments) for call in streamed.message.tool_calls
        ] == [(call.function.name, call.function.arguments) for call in calls]
        yield "parsed arguments", all(isinstance(call.function.parsed_arguments, Weather)
                                      for call in streamed.message.tool_calls)
    results = [{"role": "tool", "tool_call_id": call.id, "content": "-3 degrees"} for call in calls]
    after = client.chat.completions.create(messages=[*messages, whole.message, *results], **question).choices[0]
    yield "answer after results", after.finish_reason in ("stop", "length", "tool_calls")
    none = client.chat.completions.create(messages=messages, tool_choice="none", **question).choices[0]
    yield "no calls", none.message.tool_calls is None
    bad = raises(openai.BadRequestError,
                 lambda: client.chat.completions.create(messages=messages, tool_choice="any", **question))
    yield "bad choice", bad is not None and bad.param == "tool_choice"


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    return None


def check_errors(client, model):
    unknown = raises(openai.NotFoundError, lambda: client.completions.create(model="none", prompt="a"))
    yield "unknown model", unknown is not None and unknown.code == "model_not_found"
    bad = raises(openai.BadRequestError, lambda: client.completions.create(model=model, prompt="a", temperature=-1))
    yield "bad value", bad is not None and bad.param == "temperature"
    long = raises(openai.BadRequestError, lambda: client.completions.create(model=model, prompt=[1] * 100_000))
    yield "long prompt", long is not None and long.param == "prompt"
    yield "models", model in [entry.id for entry in client.models.list()]
    yield "one model", client.models.retrieve(model).id == model


def check(table, program, options):
    folder, key = program.folder, "0123456789abcdef0123"
    model = options.model or make_model(program)
    (folder / "key").write_text(key + "\n")
    command = [program.program, "serve", f"tiny={model}", "--port", "0", "--api_key_file", folder / "key",
               "--chat_template", "hermes", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    what = f"openai {openai.__version__}: answers"
    try:
        address = json.loads(server.stdout.readline())["address"]
        client = openai.OpenAI(base_url=address + "/v1", api_key=key, max_retries=0)
        stranger = openai.OpenAI(base_url=address + "/v1", api_key="wrong", max_retries=0)
        table.good(what, raises(openai.AuthenticationError, stranger.models.list) is not None, "wrong key")
        for part in (check_completions, check_chats, check_tools, check_errors):
            for name, is_good in part(client, "tiny"):
                table.good(what, is_good, name)
    finally:
        server.terminate()
        table.good(what, server.wait(timeout=60) == 0, "exit code")


OPTIONS = {"model": dict(nargs="?")}
