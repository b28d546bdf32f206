"""Headlight's counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011)."""

import torch

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = 2**32 - 1


def block(seed: int, stream: int, number: int) -> list[int]:
    """Four independent 32-bit words."""
    counter = [number & LOW, number >> 32, stream & LOW, stream >> 32]
    key = [seed & LOW, seed >> 32]
    for _ in range(10):
        first, second = MULTIPLIERS[0] * counter[0], MULTIPLIERS[1] * counter[2]
        counter = [(second >> 32) ^ counter[1] ^ key[0], second & LOW,
                   (first >> 32) ^ counter[3] ^ key[1], first & LOW]
        key = [(key[0] + WEYL[0]) & LOW, (key[1] + WEYL[1]) & LOW]
    return counter


def uniform(seed: int, stream: int, count: int) -> torch.Tensor:
    """The first `count` numbers from [0, 1) of a stream, in float64."""
    words = [word for number in range((count + 3) // 4) for word in block(seed, stream, number)]
    return torch.tensor([word >> 8 for word in words[:count]], dtype=torch.float64) * 2.0**-24


def keep_mask(shape: tuple[int, ...], probability: float, seed: int, stream: int) -> torch.Tensor:
    """What Headlight's dropout keeps of a tensor."""
    numbers = uniform(seed, stream, int(torch.Size(shape).numel())).reshape(shape)
    return numbers >= torch.tensor(probability, dtype=torch.float32).double()
