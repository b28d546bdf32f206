"""Headlight's counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011)."""

import torch

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = 2**32 - 1


def block(seed: int, stream: int, number: int) -> list[int]:
    """Returns four independent 32-bit words."""
    counter = [number & LOW, number >> 32, stream & LOW, stream >> 32]
    key = [seed & LOW, seed >> 32]
    for _ in range(10):
        first, second = MULTIPLIERS[0] * counter[0], MULTIPLIERS[1] * counter[2]
        counter = [(second >> 32) ^ counter[1] ^ key[0], second & LOW,
                   (first >> 32) ^ counter[3] ^ key[1], first & LOW]
        key = [(key[0] + WEYL[0]) & LOW, (key[1] + WEYL[1]) & LOW]
    return counter


def keep_at(positions: torch.Tensor, probability: float, seed: int, stream: int) -> torch.Tensor:
    """Returns whether Headlight's dropout keeps the elements at these positions of a stream."""
    blocks = {number: block(seed, stream, number) for number in torch.unique(positions // 4).tolist()}
    numbers = [(blocks[place // 4][place % 4] >> 8) * 2.0**-24 for place in positions.flatten().tolist()]
    limit = torch.tensor(probability, dtype=torch.float32).double()
    return torch.tensor(numbers, dtype=torch.float64).reshape(positions.shape) >= limit


def keep_mask(shape: tuple[int, ...], probability: float, seed: int, stream: int) -> torch.Tensor:
    """Returns the mask of the elements of a tensor that Headlight's dropout keeps."""
    count = torch.Size(shape).numel()
    return keep_at(torch.arange(count).reshape(shape), probability, seed, stream)
