"""The fixture format: cases that PyTorch computes, as sections of safetensors files.

A case is tensors `<case>/in/<name>`, `<case>/out/<name>` and `<case>/grad/<name>` and an entry of
the metadata: its op, attributes and tolerances. An input `d_<output>` is the gradient of an output.
"""

import itertools
import json
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file

DTYPES = {"float64": torch.float64, "float32": torch.float32}
# rtol and atol: float64 is far stricter than torch.testing.assert_close, float32 equal to it.
TOLERANCES = {"float64": (1e-10, 1e-12), "float32": (1.3e-6, 1e-5)}
# In three runs, no case needed more than 40 draws.
MOST_DRAWS = 1000


@dataclass(frozen=True)
class In:
    """An input in a table of cases: its shape, how it lies in memory, how it is drawn, whether it has a gradient."""

    shape: str | tuple[int, ...]
    view: str = "contiguous"
    draw: Callable = lambda case, shape: case.normal(shape)
    gradient: bool = True


@dataclass(frozen=True)
class Source:
    """The random numbers and sizes of a run."""

    seed: int
    random_sizes: bool  # False: the sizes that the cases name

    def generator(self, name: str) -> torch.Generator:
        # Seeded by name: a new case changes no other. PyTorch uses only 32 bits of a seed.
        return torch.Generator().manual_seed(zlib.crc32(f"{self.seed} {name}".encode()))


@dataclass
class Case:
    """One computation in one type; `op` names Headlight's runner, `what` what is particular."""

    op: str
    what: str
    dtype_name: str
    rung: str
    source: Source
    attributes: dict = field(default_factory=dict)
    tolerance: tuple[float, float] | None = None
    reason: str = ""  # why the tolerance differs from the default
    attempt: int = 0  # each attempt draws other numbers
    stir: int = 0  # not 0: moves inputs within float32's rounding; each value differently

    def __post_init__(self) -> None:
        self.name = f"{self.op}, {self.what}, {self.dtype_name}"
        # The seed excludes the type: both types get the same numbers and sizes.
        again = f", attempt {self.attempt}" if self.attempt else ""
        self.generator = self.source.generator(f"{self.op}, {self.what}{again}")
        self.inputs: dict[str, torch.Tensor] = {}
        self.outputs: dict[str, torch.Tensor] = {}
        self.gradients: dict[str, torch.Tensor] = {}
        self.sizes: dict[str, int] = {}
        # Limits that replace `tolerance`, by output or gradient: |difference| <= limit * scale.
        self.scales: dict[str, tuple[float, float]] = {}
        self.gone_backward = False

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.dtype_name]

    def integer(self, low: int, high: int) -> int:
        """Returns a number drawn from low ... high."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def size(self, usual: int, low: int = 1, high: int = 9) -> int:
        """`usual` in frozen cases, drawn from low ... high in live ones."""
        return self.integer(low, high) if self.source.random_sizes else usual

    def shape(self, text: str | tuple[int, ...], high: int = 7) -> tuple[int, ...]:
        """"b3 1 c4": 3, 1 and 4; in live cases a letter is one drawn size all through the case,
        at least 2 for a capital. A tuple stays as it is."""
        if not isinstance(text, str):
            return text
        result = []
        for word in text.split():
            if not word[0].isalpha():
                result.append(int(word))
                continue
            if word[0] not in self.sizes:
                low = 2 if word[0].isupper() else 1
                self.sizes[word[0]] = self.size(int(word[1:]), low, high)
            result.append(self.sizes[word[0]])
        return tuple(result)

    def normal(self, shape: str | tuple[int, ...], scale: float = 1.0) -> torch.Tensor:
        shape = self.shape(shape)
        values = torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale
        return values.to(self.dtype)

    def uniform(self, shape: str | tuple[int, ...], low: float, high: float) -> torch.Tensor:
        shape = self.shape(shape)
        values = torch.rand(shape, generator=self.generator, dtype=torch.float64)
        return (low + (high - low) * values).to(self.dtype)

    def integers(self, shape: str | tuple[int, ...], below: int) -> torch.Tensor:
        shape = self.shape(shape)
        return torch.randint(0, below, shape, generator=self.generator)

    def booleans(self, shape: str | tuple[int, ...], probability: float = 0.4) -> torch.Tensor:
        shape = self.shape(shape)
        return torch.rand(shape, generator=self.generator) < probability

    def input(self, name: str, values: torch.Tensor, view: str = "contiguous", gradient: bool = True) -> torch.Tensor:
        """Registers an input; floating ones are leaves unless told otherwise. `view`: how the
        elements lie in Headlight's memory: contiguous, transposed, sliced or expanded."""
        values = self.stirred(values.detach().clone())
        if view == "expanded":
            values = values[:1].expand(values.shape).clone()
        if view != "contiguous":
            self.attributes.setdefault("views", {})[name] = view
        if values.is_floating_point() and gradient:
            values.requires_grad_()
        self.inputs[name] = values
        return values

    def inputs_of(self, rows: dict[str, In]) -> list[torch.Tensor]:
        """Draws and registers the inputs of a table, one after the other."""
        return [self.input(name, row.draw(self, row.shape), row.view, row.gradient) for name, row in rows.items()]

    def output(self, name: str, values: torch.Tensor, seed: bool = True) -> None:
        """Registers an output; `seed`: a gradient reaches it."""
        self.outputs[name] = values
        if seed and values.requires_grad:
            drawn = self.normal(tuple(values.shape)).to(values.dtype)
            self.inputs[f"d_{name}"] = self.stirred(drawn)

    def stirred(self, values: torch.Tensor) -> torch.Tensor:
        """Each value that float32 rounds, moved by up to a unit of its last place there. Equal ones
        move alike: ties stay ties."""
        if not self.stir or values.dtype != torch.float64:
            return values
        shift = torch.sin(values * (1e6 + self.stir))
        return torch.where(values == values.float(), values, values * (1 + 2.0**-24 * shift))

    def gradient(self, name: str, values: torch.Tensor) -> None:
        """Registers a gradient that was computed by the case itself."""
        self.gradients[name] = values

    def go_backward(self) -> None:
        seeded = [name for name in self.outputs if f"d_{name}" in self.inputs]
        if self.gone_backward or not seeded:
            return
        self.gone_backward = True
        leaves = {n: t for n, t in self.inputs.items() if t.requires_grad}
        found = torch.autograd.grad([self.outputs[name] for name in seeded], list(leaves.values()),
                                    [self.inputs[f"d_{name}"] for name in seeded], allow_unused=True)
        for name, values in zip(leaves, found, strict=True):
            if values is not None:
                self.gradients.setdefault(name, values)

    def limits(self) -> tuple[float, float]:
        """rtol and atol."""
        return self.tolerance or TOLERANCES[self.dtype_name]

    def description(self) -> str:
        rtol, atol = self.limits()
        assert not (self.tolerance or self.scales) or self.reason, f"{self.name}: a limit needs its reason"
        entry = {"op": self.op, "rung": self.rung, "attributes": self.attributes,
                 "dtype": self.dtype_name, "rtol": rtol, "atol": atol}
        if self.scales:
            entry["scales"] = self.scales
        return json.dumps(entry | ({"reason": self.reason} if self.reason else {}))


def distance(case: Case, exact: Case) -> float:
    """Returns the largest difference between two types, as a share of the limits of the first."""
    worst = 0.0
    for name, values in (case.outputs | case.gradients).items():
        limit, scale = case.scales[name]
        other = (exact.outputs | exact.gradients)[name]
        if values.numel() > 0:
            found, wanted = values.detach().double(), other.detach()
            error = float((found - wanted).abs().masked_fill(found == wanted, 0.0).max())
            share = error / (limit * scale) if scale > 0 else float(error > 0) * 9
            worst = max(worst, math.inf if math.isnan(share) else share)
    return worst


def element_distance(case: Case, exact: Case, limits: tuple[float, float]) -> float:
    """Returns the largest difference from the exact numbers, as a share of what rtol and atol allow."""
    relative, absolute = limits
    worst = 0.0
    for name, values in (case.outputs | case.gradients).items():
        found = values.detach().double()
        wanted = (exact.outputs | exact.gradients)[name].detach().double()
        error = (found - wanted).abs() / (absolute + relative * wanted.abs())
        same = (found == wanted) | (found.isnan() & wanted.isnan())  # equal infinities, too
        worst = max([worst, *error.masked_fill(same, 0.0).nan_to_num(math.inf).flatten().tolist()])
    return worst


class CaseFile:
    """Collects the cases of a group."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rung = ""  # rung of the next cases
        self.tensors: dict[str, torch.Tensor] = {}
        self.metadata: dict[str, str] = {"format": "pt"}

    def add(self, case: Case) -> None:
        assert case.name not in self.metadata, f"two cases are called {case.name}"
        case.go_backward()
        self.metadata[case.name] = case.description()
        for kind, tensors in (("in", case.inputs), ("out", case.outputs), ("grad", case.gradients)):
            for name, values in tensors.items():
                values = values.detach()
                if values.dtype == torch.int64:
                    values = values.to(torch.int32)
                self.tensors[f"{case.name}/{kind}/{name}"] = values.contiguous().clone()

    def op(self, op: str, what: str, function, rows: dict[str, In], **options) -> None:
        """A row of a table in both types: y is the function of the inputs, or a dictionary of outputs."""
        def build(case: Case) -> None:
            found = function(*case.inputs_of(rows))
            for name, values in (found if isinstance(found, dict) else {"y": found}).items():
                case.output(name, values)

        self.both(op, what, build, **options)

    def model(self, op: str, what: str, rung: str, reason: str, build, types: tuple[str, ...] = ("float32",),
              stirs: bool = True) -> None:
        """A whole model in these types; build(case, stirred) registers its inputs and outputs, with scales."""
        def make(dtype_name: str, attempt: int, stirred: bool = False) -> Case:
            case = Case(op, what, dtype_name, f"{rung}, {dtype_name}", self.source, reason=reason, attempt=attempt)
            build(case, stirred)
            return case

        self.add_conditioned(make, types, partial(make, stirred=True) if stirs else None)

    def both(self, op: str, what: str, build, frozen: bool = True, **options) -> None:
        """The case in both types; build(case) registers inputs and outputs. `options`: fields of
        Case, such as attributes. Without `frozen` it is a live case alone: the frozen files hold
        one of each kind, not all combinations.

        Some draws enlarge rounding (a norm of almost equal numbers, a softmax of large logits),
        so live numbers are drawn anew until PyTorch's results move by less than a fifth of
        float32's limits, both in float32 and in float64 with inputs that are rounded differently:
        float32 alone may have been lucky. Frozen numbers are known to be good."""
        if not self.source.random_sizes:
            if frozen:
                self.add_all([self.computed(op, what, build, name, options) for name in DTYPES])
            return
        for attempt in range(MOST_DRAWS):
            again = options | {"attempt": attempt}
            exact, rounded = (self.computed(op, what, build, name, again) for name in DTYPES)
            others = (self.computed(op, what, build, "float64", again | {"stir": stir}) for stir in range(1, 5))
            limits = rounded.limits()
            if all(element_distance(other, exact, limits) < 1 / 5 for other in itertools.chain([rounded], others)):
                self.add_all([exact, rounded])
                return
        raise SystemExit(f"{op}, {what}: {MOST_DRAWS} draws, all ill-conditioned")

    def add_all(self, cases: list[Case]) -> None:
        for case in cases:
            self.add(case)

    def computed(self, op: str, what: str, build, dtype_name: str, options: dict) -> Case:
        attributes = json.loads(json.dumps(options.get("attributes", {})))
        case = Case(op, what, dtype_name, f"{self.rung}, {dtype_name}", self.source,
                    **(options | {"attributes": attributes}))
        build(case)
        case.go_backward()
        return case

    def add_conditioned(self, make, types: tuple[str, ...], make_stirred=None) -> None:
        """The cases make(dtype_name, attempt) of these types, which have scales. Some random
        networks enlarge rounding without bound; then numbers are drawn anew, until PyTorch's own
        float32 stays within a third of its limits of its float64 and, in live cases, each type
        within a third of what make_stirred(dtype_name, attempt) gives."""
        for attempt in range(MOST_DRAWS):
            cases = {name: make(name, attempt) for name in DTYPES}
            worst = distance(cases["float32"], cases["float64"])
            if worst < 1 / 3 and make_stirred and self.source.random_sizes:
                worst = max(distance(cases[name], make_stirred(name, attempt)) for name in types)
            if worst < 1 / 3:
                for name in types:
                    self.add(cases[name])
                return
        raise SystemExit(f"{cases['float32'].name}: {MOST_DRAWS} draws, all ill-conditioned")

    def save(self, path: Path) -> None:
        save_file(self.tensors, path, self.metadata)
