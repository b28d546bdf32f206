"""Writes the autoencoders of tests/interpret/saes as SAELens saves them, with values and their features.

usage: make_saes.py tests/interpret/saes      (sae-lens==6.54.12, torch==2.13.0)
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from sae_lens import JumpReLUSAE, JumpReLUSAEConfig, StandardSAE, StandardSAEConfig, TopKSAE, TopKSAEConfig

try:
    from sae_lens import SAEMetadata
except ImportError:
    from sae_lens.saes.sae import SAEMetadata

SIZES = {"d_in": 8, "d_sae": 12}
KINDS = {
    "standard": (StandardSAE, StandardSAEConfig, {"normalize_activations": "layer_norm"}),
    "jumprelu": (JumpReLUSAE, JumpReLUSAEConfig, {"apply_b_dec_to_input": False}),
    "topk": (TopKSAE, TopKSAEConfig, {"k": 3}),
    "topk_rescaled": (TopKSAE, TopKSAEConfig, {"k": 3, "rescale_acts_by_decoder_norm": True}),
}


def main() -> None:
    for number, (name, (kind, config, options)) in enumerate(KINDS.items()):
        torch.manual_seed(number)
        metadata = SAEMetadata(hook_name=f"blocks.{number}.hook_resid_post", model_name="tiny")
        sae = kind(config(**SIZES, metadata=metadata, **options))
        with torch.no_grad():
            for parameter in sae.parameters():
                parameter.copy_(torch.randn_like(parameter))
            if name == "jumprelu":
                sae.threshold.copy_(torch.rand_like(sae.threshold))
            values = torch.randn(5, SIZES["d_in"])
            features = sae.encode(values)
            decoded = sae.decode(features)
        folder = Path(sys.argv[1]) / name
        sae.save_model(folder)
        expected = {"values": values, "features": features.contiguous(), "decoded": decoded.contiguous()}
        if name != "topk":  # its features cannot be folded
            expected["folded"] = kind.load_from_disk(folder, fold_W_dec_norm=True).encode(values).detach().contiguous()
        save_file(expected, folder / "expected.safetensors")


if __name__ == "__main__":
    main()
