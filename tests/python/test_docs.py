"""The programs of the documentation run, in order, on a model of the toy's sizes, with a hundredth of their steps."""

import pathlib
import re
import shutil

import pytest
from conftest import ROOT, program

import headlight as hl


# Numbers of training steps, which the pages show as a reader should run them.
STEPS = re.compile(r'(\b(?:max_iters|eval_interval)=|metrics\["iteration"\] == )(\d+)00\b')


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Returns a run with the sizes of the quickstart's, which has hardly learned."""
    out = tmp_path_factory.mktemp("runs") / "toy"
    program("train", ROOT / "configs/toy.toml", "--data", ROOT / "data/toy.txt", "--out_dir", out,
            "--max_iters", 20, "--eval_iters", 1)  # fmt: skip
    return out


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/README.ko.md"])
def test_the_programs_of_a_page(
    page: str, toy: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(toy, tmp_path / "runs/toy", symlinks=True)
    (tmp_path / "data").mkdir()
    stories = (ROOT / "data/toy.txt").read_text().split("\n\n")[:40]
    (tmp_path / "data/toy.txt").write_text("\n\n".join(stories))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": page}
    for block in blocks:
        exec(compile(STEPS.sub(r"\1\2", block), page, "exec"), names)


def test_the_package_has_the_version_of_the_program() -> None:
    assert program("--version") == f"headlight {hl.__version__}\n"
