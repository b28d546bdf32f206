"""Writes the logits of models: logits_of_folders.py transformers|mlx TOKENS.npy FOLDER...

Each folder gets NAME.npy [tokens, vocabulary], or NAME.error with one line if the program refuses the
model. NAME is the first argument.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np


def of_transformers(folder: Path, tokens: np.ndarray) -> np.ndarray:
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(1)
    model, details = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                                          output_loading_info=True)
    wrong = [name for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in details[kind]]
    if wrong:
        raise ValueError(f"other weights: {wrong}")
    with torch.no_grad():
        return model.eval().float()(torch.from_numpy(tokens).long()[None]).logits[0].numpy()


def of_mlx(folder: Path, tokens: np.ndarray) -> np.ndarray:
    import mlx.core as mx
    from mlx_lm.utils import load_model
    mx.set_default_device(mx.cpu)
    model, _ = load_model(folder)
    return np.array(model(mx.array(tokens.astype(np.int32))[None])[0].astype(mx.float32))


def main() -> None:
    name, tokens = sys.argv[1], np.load(sys.argv[2])
    logits_of = of_mlx if name == "mlx" else of_transformers
    for folder in map(Path, sys.argv[3:]):
        try:
            np.save(folder / f"{name}.npy", logits_of(folder, tokens))
        except (Exception, SystemExit) as error:  # any refusal is fine: only a silent misreading is not
            line = str(error).strip().splitlines()
            (folder / f"{name}.error").write_text(f"{type(error).__name__}: {line[0] if line else ''}")


if __name__ == "__main__":
    main()
