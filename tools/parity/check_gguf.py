"""Compares Headlight's GGUF files with the Python package gguf, which belongs to llama.cpp.

usage: check_gguf.py --fixture FILE.gguf

Blocks of random bytes of every type, their scales also zero, subnormal, infinite and NaN, are read
by `headlight export` and must be what gguf.quants.dequantize makes of them, bit for bit; a NaN must
meet a NaN. What headlight_gguf_copy writes must be what gguf.quants.quantize makes of the same
numbers, byte for byte, and GGUFReader must read every key and every tensor. --file checks all
tensors of further files, --fixture writes the blocks that the ordinary tests hold. Needs numpy,
gguf and safetensors.
"""

import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import quants
from safetensors.numpy import load_file

from checker import finish_gguf

TYPES = [Type[name] for name in "F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS".split()]
# Byte offsets of the float16 scales in a block.
SCALES = {Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2],
          Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
          Type.IQ4_NL: [0], Type.IQ4_XS: [0]}
SPECIAL = np.array([0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00,
                    0x7D55, 0xFE01], np.uint16)


def random_blocks(random, kind, blocks):
    """[blocks, bytes of a block]: a third with ordinary scales, a third with any, a third special."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    result = random.integers(0, 256, (blocks, size), dtype=np.uint8)
    ordinary = random.normal(0, 0.05, blocks).astype(np.float16).view(np.uint16)
    for place in SCALES.get(kind, []):
        words = random.integers(0, 65536, blocks, dtype=np.uint16)
        which = np.arange(blocks) % 3
        words = np.where(which == 0, ordinary, words)
        words = np.where(which == 1, random.choice(SPECIAL, blocks), words).astype(np.uint16)
        result[:, place:place + 2] = words.view(np.uint8).reshape(blocks, 2)
        ordinary = ordinary[::-1]
    return result


def dequantized(data, kind):
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(quants.dequantize(np.ascontiguousarray(data), kind), np.float32)


def same_bits(a, b):
    both_nan = np.isnan(a) & np.isnan(b)
    return a.shape == b.shape and bool(np.all(both_nan | (a.view(np.uint32) == b.view(np.uint32))))


def add_blocks(writer, name, data, kind):
    writer.add_tensor(name, data.view(np.float32) if kind == Type.F32 else
                      data.view(np.float16) if kind == Type.F16 else data,
                      raw_dtype=None if kind in (Type.F32, Type.F16) else kind)


def check_reading(table, headlight, random):
    folder = headlight.folder
    path = folder / "blocks.gguf"
    writer = gguf.GGUFWriter(path, "blocks")
    expected = {}
    for kind in TYPES:
        elements = gguf.GGML_QUANT_SIZES[kind][0]
        blocks = random_blocks(random, kind, 6 * 700 * (256 // elements))
        data = blocks.reshape(6, -1)
        add_blocks(writer, kind.name, data, kind)
        expected[kind.name] = dequantized(data, kind)
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    writer.add_tensor("every half", halves)
    expected["every half"] = halves.astype(np.float32)
    finish_gguf(writer)
    check_file(table, headlight, path, expected)


def check_file(table, headlight, path, expected):
    got = load_file(headlight.export(path, "safetensors", headlight.folder / "out.safetensors"))
    table.good("gguf: names of tensors", got.keys() == expected.keys(), got.keys() ^ expected.keys())
    for name, values in expected.items():
        table.good("gguf: values as gguf.quants.dequantize, bit for bit",
            name in got and same_bits(got[name].reshape(values.shape), values), f"{path.name} {name}")


def plain(value):
    return value.tolist() if isinstance(value, np.generic) else value


def contents(path):
    reader = gguf.GGUFReader(path)
    fields = {key: (field.types, plain(field.contents())) for key, field in reader.fields.items()
              if not key.startswith("GGUF.")}
    return fields, {tensor.name: tensor for tensor in reader.tensors}


def check_info(table, headlight, path):
    fields, tensors = contents(path)
    info = headlight.json("info", path)
    table.good("gguf: info lists names, types and shapes",
        [(t["name"], t["dtype"], t["shape"]) for t in info["tensors"]]
        == [(t.name, t.tensor_type.name, [int(n) for n in t.shape[::-1]]) for t in tensors.values()])
    table.good("gguf: info lists keys", list(info["metadata"]) == list(fields))
    for key, (kinds, value) in fields.items():
        shown = info["metadata"][key]
        good = (shown == {"length": len(value), "first": [plain(x) for x in value[:8]]}
                if kinds[0] == gguf.GGUFValueType.ARRAY and kinds[-1] != gguf.GGUFValueType.FLOAT32
                else shown["length"] == len(value) if kinds[0] == gguf.GGUFValueType.ARRAY
                else np.float32(shown) == np.float32(value) if kinds[0] == gguf.GGUFValueType.FLOAT32
                else shown == value)
        table.good("gguf: info tells values", good, f"{key}: {shown}, {value}")


def add_metadata(writer):
    kinds = gguf.GGUFValueType
    for kind, values in {kinds.UINT8: [0, 255], kinds.INT8: [-128, 127], kinds.UINT16: [65535],
                         kinds.INT16: [-32768], kinds.UINT32: [2**32 - 1], kinds.INT32: [-2**31],
                         kinds.UINT64: [2**64 - 1], kinds.INT64: [-2**63], kinds.FLOAT32: [1e-5, -0.0],
                         kinds.FLOAT64: [1 / 3, 1e300], kinds.BOOL: [True, False],
                         kinds.STRING: ["", "a \"b\"\n고양이"]}.items():
        for number, value in enumerate(values):
            writer.add_key_value(f"one.{kind.name.lower()}.{number}", value, kind)
        writer.add_key_value(f"list.{kind.name.lower()}", values * 9, gguf.GGUFValueType.ARRAY, kind)


def check_writing(table, headlight, copier, random):
    folder = headlight.folder
    numbers = {
        "normal": random.normal(size=(7, 64)), "wide": random.normal(size=(300, 96)) ** 5,
        "sizes": random.normal(size=(64, 32)) * 10.0 ** random.integers(-12, 3, (64, 1)),
        "zeros": np.zeros((2, 32)), "cube": random.normal(size=(2, 3, 4, 64)), "row": random.normal(size=32),
        "ties": np.concatenate([[127], np.arange(-15.5, 15.5)]), "odd": random.normal(size=(3, 5)),
        "subnormal": random.normal(size=(8, 32)) * 1e-41, "least": np.full(32, 1e-38)}
    path = folder / "numbers.gguf"
    for alignment in (32, 8, 4096):
        writer = gguf.GGUFWriter(path, "numbers")
        if alignment != 32:
            writer.add_custom_alignment(alignment)
        add_metadata(writer)
        for name, values in numbers.items():
            writer.add_tensor(name, values.astype(np.float32))
        finish_gguf(writer)
        check_info(table, headlight, path)
        for kind in (Type.F32, Type.F16, Type.BF16, Type.Q8_0):
            check_copy(table, copier, path, folder / "copy.gguf", kind, alignment)
    subprocess.run([copier, path, folder / "again.gguf", "F32"], check=True)
    table.good("gguf: file of the package, byte for byte", (folder / "again.gguf").read_bytes() == path.read_bytes())


def check_copy(table, copier, source, copy, kind, alignment):
    subprocess.run([copier, source, copy, kind.name], check=True)
    fields, tensors = contents(source)
    copied_fields, copied = contents(copy)
    table.good("gguf: GGUFReader reads every key back", copied_fields == fields, copied_fields)
    table.good("gguf: GGUFReader reads every name back", list(copied) == list(tensors), list(copied))
    for name, tensor in tensors.items():
        wanted = Type.F32 if kind == Type.Q8_0 and tensor.shape[0] % 32 else kind
        with np.errstate(all="ignore"):
            expected = quants.quantize(tensor.data, wanted)
        got = copied[name]
        table.good(f"gguf: {wanted.name} as gguf.quants.quantize, byte for byte",
            got.tensor_type == wanted and list(got.shape) == list(tensor.shape)
            and got.data_offset % alignment == 0 and got.data.tobytes() == expected.tobytes(), name)


def check_real(table, headlight, path):
    _, tensors = contents(path)
    check_info(table, headlight, path)
    check_file(table, headlight, path,
               {name: dequantized(tensor.data, tensor.tensor_type) for name, tensor in tensors.items()})


def write_fixture(path):
    """Every type with a few blocks, and what they are beside them; numbers and their Q8_0."""
    random = np.random.default_rng(8)
    writer = gguf.GGUFWriter(path, "fixture")
    for kind in TYPES:
        data = random_blocks(random, kind, 48 if kind in TYPES[:3] else 3 if gguf.GGML_QUANT_SIZES[kind][0] == 256 else 6)
        data = data.reshape(1, -1)
        add_blocks(writer, kind.name, data, kind)
        writer.add_tensor(f"{kind.name} values", dequantized(data, kind))
    numbers = np.concatenate([random.normal(size=(3, 32)), [np.concatenate([[127], np.arange(-15.5, 15.5)])],
                              random.normal(size=(1, 32)) * 1e-41, np.zeros((1, 32))]).astype(np.float32)
    writer.add_tensor("numbers", numbers)
    with np.errstate(all="ignore"):
        for kind in (Type.F16, Type.BF16, Type.Q8_0):
            add_blocks(writer, f"numbers as {kind.name}", quants.quantize(numbers, kind).view(np.uint8), kind)
    finish_gguf(writer)


def check(table, headlight, options):
    random = np.random.default_rng(options.seed)
    check_reading(table, headlight, random)
    check_writing(table, headlight, options.copier.resolve(), random)
    for path in options.file:
        check_real(table, headlight, path)


OPTIONS = {"copier": dict(type=Path), "--file": dict(nargs="*", type=Path, default=[])}

if __name__ == "__main__" and sys.argv[1:2] == ["--fixture"]:
    write_fixture(Path(sys.argv[2]))
