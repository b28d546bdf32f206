"""Headlight: train small GPTs on a CPU and see every attention head."""

from ._headlight import (
    Generation,
    HookPoint,
    HookScope,
    Model,
    Output,
    Result,
    StreamedToken,
    TokenChoice,
    Tokenizer,
    TokenStream,
    Weights,
    load,
    load_tokenizer,
    point_name,
    set_thread_count,
    thread_count,
)
from .cache import ActivationCache

__all__ = [
    "ActivationCache",
    "Generation",
    "HookPoint",
    "HookScope",
    "Model",
    "Output",
    "Result",
    "StreamedToken",
    "TokenChoice",
    "TokenStream",
    "Tokenizer",
    "Weights",
    "load",
    "load_tokenizer",
    "point_name",
    "set_thread_count",
    "thread_count",
]
