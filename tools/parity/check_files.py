"""Compares Headlight's tensor files with the Python packages safetensors and numpy.

Files written by the packages are read by Headlight (`info`, and `export`, which writes them again)
and what it writes is read by the packages: names, types, shapes and every byte of every element
must agree. Needs numpy, safetensors and torch.
"""

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch


def rewritten(program, source, target):
    return program.export(source, target.suffix[1:], target)


def arrays():
    random = np.random.default_rng(5)
    shapes = [(), (1,), (7,), (0,), (3, 0, 2), (5, 3), (2, 3, 1, 4)]
    types = [np.float32, np.float64, np.int32, np.bool_]
    result = {}
    for kind in types:
        for shape in shapes:
            name = f"{np.dtype(kind).name}.{'x'.join(map(str, shape)) or 'scalar'}"
            values = random.normal(size=shape) * 100
            result[name] = np.asarray(values > 0 if kind == np.bool_ else values).astype(kind)
    result["special"] = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38], np.float32)
    result["ünïcödé 이름"] = np.arange(4, dtype=np.int32)
    return result


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_all(expected, got):
    names = expected.keys() ^ got.keys()
    return sorted(names) + [name for name in expected.keys() & got.keys() if not same(expected[name], got[name])]


def check_npz(table, program, folder):
    numbers = arrays()
    expected = numbers | {"labels": np.array(["0.1", "하늘", ""])}
    theirs = folder / "theirs.npz"
    np.savez(theirs, **expected)
    np.savez(folder / "numbers.npz", **numbers)
    got = safetensors.numpy.load_file(rewritten(program, folder / "numbers.npz", folder / "numbers.safetensors"))
    wrong = same_all(numbers, got)
    table.good("npz: numpy -> headlight -> safetensors", not wrong, wrong)
    listed = program.json("info", theirs)["tensors"]
    table.good("npz: info lists names, types and shapes",
        {t["name"]: (t["dtype"], tuple(t["shape"])) for t in listed}
        == {name: ("text" if a.dtype.kind == "U" else a.dtype.name, a.shape)
            for name, a in expected.items()}, listed)


def check_safetensors(table, program, folder):
    # Includes scalars and sizes of 0. Types that change on export are tested below.
    expected = {name: torch.from_numpy(a.copy()).reshape(a.shape) for name, a in arrays().items()}
    torch.manual_seed(3)
    expected["bfloat16"] = torch.randn(4, 5).bfloat16()
    theirs = folder / "theirs.safetensors"
    safetensors.torch.save_file(expected, theirs, metadata={"format": "pt", "né": "\"ü\""})
    ours = rewritten(program, theirs, folder / "ours.safetensors")
    got = safetensors.torch.load_file(ours)
    bits = lambda t: t.contiguous().reshape(-1).view(torch.uint8) if t.numel() else t.reshape(-1)
    wrong = sorted(expected.keys() ^ got.keys()) + [
        name for name in expected if name in got and not (
            expected[name].dtype == got[name].dtype and expected[name].shape == got[name].shape
            and torch.equal(bits(expected[name]), bits(got[name])))]
    table.good("safetensors: python -> headlight -> python", not wrong, wrong)
    plain = {"b": torch.arange(6.0).view(2, 3), "a": torch.tensor([1, 2], dtype=torch.int32)}
    safetensors.torch.save_file(plain, folder / "plain.safetensors", metadata={"format": "pt"})
    mine = rewritten(program, folder / "plain.safetensors", folder / "mine.safetensors")
    table.good("safetensors: file of the package, byte for byte",
        mine.read_bytes() == (folder / "plain.safetensors").read_bytes())
    listed = program.json("info", theirs)
    table.good("safetensors: info tells the metadata",
        listed["metadata"] == {"format": "pt", "né": "\"ü\""}, listed["metadata"])
    table.good("safetensors: info lists names and shapes", {t["name"]: tuple(t["shape"]) for t in listed["tensors"]}
               == {name: tuple(t.shape) for name, t in expected.items()})
    check_converted(table, program, folder)


def check_converted(table, program, folder):
    halves = torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(torch.float16)
    source = {"F16": halves, "I64": torch.tensor([-2**31, 2**31 - 1, 5]),
              "I16": torch.tensor([-32768, 32767], dtype=torch.int16),
              "I8": torch.tensor([-128, 127], dtype=torch.int8),
              "U8": torch.tensor([0, 255], dtype=torch.uint8)}
    safetensors.torch.save_file(source, folder / "types.safetensors")
    got = safetensors.numpy.load_file(rewritten(program, folder / "types.safetensors", folder / "again.safetensors"))
    values = got["F16"]
    with np.errstate(invalid="ignore"):
        wide = halves.numpy().astype(np.float32)
    number = ~np.isnan(wide)
    table.good("safetensors: all 65,536 values of F16 as float32",
        values.dtype == np.float32 and np.array_equal(np.isnan(values), ~number)
        and values[number].tobytes() == wide[number].tobytes())
    for name in ("I64", "I16", "I8", "U8"):
        table.good("safetensors: other integers as int32",
            same(got[name], source[name].numpy().astype(np.int32)), name)


def check_token_files(table, program, folder):
    """Checks nanoGPT's train.bin as numpy writes it."""
    text = "".join(chr(97 + i % 26) for i in range(600))
    (folder / "a.txt").write_text(text)
    np.frombuffer(text.encode(), np.uint8).astype(np.uint16).tofile(folder / "train.bin")
    weights = []
    for number, data in enumerate((folder / "a.txt", folder / "train.bin", folder)):
        program.run("train", "--data", data, "--tokenizer", "byte", "--out_dir", folder / f"run{number}", "--n_layer", 1,
                    "--n_head", 1, "--n_embd", 4, "--block_size", 8, "--max_iters", 2, "--batch_size", 2)
        weights.append((folder / f"run{number}/latest/model.safetensors").read_bytes())
    table.good("train.bin: the same weights as from the text", weights[0] == weights[1] == weights[2])


def check(table, program, _):
    for part in (check_npz, check_safetensors, check_token_files):
        part(table, program, program.folder)
