"""llama.cpp, as the wheel xllamacpp has it, on a GGUF file."""

import json
import urllib.request
from pathlib import Path

import xllamacpp


class LlamaCpp:
    def __init__(self, path: Path, adapter: Path | None = None, context: int = 64):
        params = xllamacpp.CommonParams()
        params.model.path, params.n_ctx, params.n_parallel = str(path), context, 1
        params.cpuparams.n_threads, params.port, params.verbosity = 1, 0, 0
        params.warmup = params.fit_params = False
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        if adapter:
            lora = xllamacpp.CommonAdapterLoraInfo()
            lora.path, lora.scale = str(adapter), 1.0
            params.lora_adapters = [lora]
        self.server = xllamacpp.Server(params)

    def ask(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.server.listening_address + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))

    def ids(self, text: str) -> list[int]:
        return self.ask("/tokenize", {"content": text, "add_special": False, "parse_special": True})["tokens"]

    def log_probabilities(self, prompt: list[int], vocabulary: int) -> list[float]:
        """Of all tokens after a prompt of ids, by id. An answer whose token is a part of a character has none."""
        for seed in range(100):
            answer = self.ask("/completion", {"prompt": prompt, "n_predict": 1, "temperature": 1.0, "seed": seed,
                                              "n_probs": vocabulary, "cache_prompt": False})
            if "completion_probabilities" in answer:
                break
        values = {one["id"]: one["logprob"] for one in answer["completion_probabilities"][0]["top_logprobs"]}
        return [values[id] for id in range(vocabulary)]

    def greedy(self, prompt: str, silent: list[int], count: int) -> list[int]:
        """The most probable token ids after a prompt, without silent ones."""
        return self.ask("/completion", {"prompt": self.ids(prompt), "n_predict": count, "temperature": 0,
                                        "ignore_eos": True, "logit_bias": [[id, False] for id in silent], "return_tokens": True})["tokens"]
