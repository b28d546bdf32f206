"""The models that are compared: read from configs/bench, so that all contenders use the same."""

import resource
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def peak_rss_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass(frozen=True)
class Shape:
    vocab_size: int
    n_layer: int
    n_head: int
    n_embd: int
    block_size: int
    batch_size: int
    bias: bool
    learning_rate: float
    beta1: float
    beta2: float
    weight_decay: float
    grad_clip: float
    # Fields of Llama-like models.
    norm_type: str = "layer"
    n_kv_head: int = 0
    n_inner: int = 0


def load_shape(name: str) -> Shape:
    """Returns the sizes of a preset."""
    values = tomllib.loads((ROOT / "configs/bench" / f"{name}.toml").read_text())
    return Shape(**{key: values[key] for key in Shape.__dataclass_fields__ if key in values})
