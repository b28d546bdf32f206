"""Writes the autoencoders of tests/interpret/saes as SAELens saves them, with values and their features.

usage: make_saes.py tests/interpret/saes      (sae-lens==6.54.12, torch==2.13.0)
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from sae_lens import GatedSAE, GatedSAEConfig, JumpReLUSAE, JumpReLUSAEConfig, StandardSAE, StandardSAEConfig, TopKSAE, TopKSAEConfig
from sae_lens.saes import transcoder

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
    "gated": (GatedSAE, GatedSAEConfig, {}),
    "transcoder": (transcoder.Transcoder, transcoder.TranscoderConfig, {"d_out": 6, "normalize_activations": "layer_norm"}),
    "skip_transcoder": (transcoder.SkipTranscoder, transcoder.SkipTranscoderConfig, {"d_out": 6}),
    "jumprelu_transcoder": (transcoder.JumpReLUTranscoder, transcoder.JumpReLUTranscoderConfig, {"d_out": 6}),
    "jumprelu_skip_transcoder": (transcoder.JumpReLUSkipTranscoder, transcoder.JumpReLUSkipTranscoderConfig, {"d_out": 6}),
}


def main() -> None:
    for number, (name, (kind, config, options)) in enumerate(KINDS.items()):
        torch.manual_seed(number)
        metadata = SAEMetadata(hook_name=f"blocks.{number}.hook_resid_post", model_name="tiny")
        if name.endswith("transcoder"):
            metadata = SAEMetadata(hook_name=f"blocks.{number}.ln2.hook_normalized", model_name="tiny",
                                   hook_name_out=f"blocks.{number}.hook_mlp_out")
            options = options | {"apply_b_dec_to_input": False}
        sae = kind(config(**SIZES, metadata=metadata, **options))
        with torch.no_grad():
            for parameter in sae.parameters():
                parameter.copy_(torch.randn_like(parameter))
            if "jumprelu" in name:
                sae.threshold.copy_(torch.rand_like(sae.threshold))
            values = torch.randn(5, SIZES["d_in"])
            features = sae.encode(values)
            decoded = sae.decode(features)
            reconstructed = sae(values)
        folder = Path(sys.argv[1]) / name
        sae.save_model(folder)
        expected = {"values": values, "features": features.contiguous(), "decoded": decoded.contiguous(),
                    "reconstructed": reconstructed.contiguous()}
        if name != "topk":  # its features cannot be folded
            expected["folded"] = kind.load_from_disk(folder, fold_W_dec_norm=True).encode(values).detach().contiguous()
        save_file(expected, folder / "expected.safetensors")


if __name__ == "__main__":
    main()
