"""Compares `headlight saliency` with PyTorch's autograd and with captum on a tiny model of every causal family.

The models of family_models.py have drawn weights. Gradients, gradients times inputs, integrated gradients at the middles
of the steps and occlusions of tokens are those of captum on the embeddings of transformers' model, for each metric, for
answers of one token and of several, with zeros and with another text as the baseline. Needs captum (made with 0.9)
beside what make_fixtures.py needs, and no network.
"""

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before the imports read it

import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, Saliency
from transformers import AutoModelForCausalLM

from checker import Headlight, Table, note
from drawn_models import be_quiet, drawn_configs, save_model

LIMIT = 2e-4  # relative to the largest entry
STEPS = 12
IDS = [3, 17, 5, 9, 3, 11, 2]
OTHER = [3, 17, 6, 9, 3, 12, 2]
# Answer, wrong answer and metric.
TASKS = [([5], [7], "logit_difference"), ([5], None, "logit_difference"), ([5, 6], [7], "logit_difference"),
         ([5], None, "probability"), ([5], None, "log_probability"), ([5], None, "loss")]


class Measure:
    """The metric as a function of the embeddings [B, T, C] of the text."""

    def __init__(self, model, answer: list[int], wrong: list[int] | None, metric: str):
        self.model, self.answer, self.wrong, self.metric = model, answer, wrong, metric
        self.table = model.get_input_embeddings()

    def logits(self, embeddings: torch.Tensor, answer: list[int]) -> torch.Tensor:
        """Returns the logits [B, A, V] at the positions that predict the answer, which the model reads, too."""
        ids = torch.tensor([IDS + answer[:-1]]).expand(len(embeddings), -1)

        def replace(module, inputs, output):
            return torch.cat([embeddings, output[:, embeddings.shape[1]:]], 1)

        handle = self.table.register_forward_hook(replace)
        try:
            return self.model(ids).logits[:, len(IDS) - 1:]
        finally:
            handle.remove()

    def log_probability(self, embeddings: torch.Tensor, answer: list[int]) -> torch.Tensor:
        rows = torch.log_softmax(self.logits(embeddings, answer), -1)
        return sum(rows[:, number, token] for number, token in enumerate(answer))

    def __call__(self, embeddings: torch.Tensor) -> torch.Tensor:
        if self.wrong is not None:
            return self.log_probability(embeddings, self.answer) - self.log_probability(embeddings, self.wrong)
        if self.metric == "logit_difference":
            return self.logits(embeddings, self.answer)[:, 0, self.answer[0]]
        value = self.log_probability(embeddings, self.answer)
        return value.exp() if self.metric == "probability" else -value if self.metric == "loss" else value


def of_captum(method: str, measure: Measure, base: list[int] | None) -> tuple[torch.Tensor, float]:
    """Returns the attribution of each token [T], and the convergence delta or, of gradient_x_input, the largest factors."""
    text = measure.table(torch.tensor([IDS])).detach()
    start = torch.zeros_like(text) if base is None else measure.table(torch.tensor([base])).detach()
    if method == "gradient":
        return Saliency(measure).attribute(text.requires_grad_(), abs=False)[0].norm(dim=-1).detach(), 0
    if method == "gradient_x_input":
        gradient = Saliency(measure).attribute(text.requires_grad_(), abs=False)
        if base is None:
            assert torch.allclose(InputXGradient(measure).attribute(text), gradient * text)
        found = (gradient * (text - start))[0].sum(-1).detach()
        # A norm of the embeddings makes the product 0 but for rounding.
        return found, float((gradient.norm(dim=-1) * text.norm(dim=-1)).max())
    if method == "integrated_gradients":
        found, delta = IntegratedGradients(measure).attribute(
            text, start, n_steps=STEPS, method="riemann_middle", return_convergence_delta=True)
        return found[0].sum(-1).detach(), float(delta)
    tokens = torch.arange(len(IDS)).view(1, -1, 1).expand_as(text)
    with torch.no_grad():
        return FeatureAblation(measure).attribute(text, start, feature_mask=tokens)[0, :, 0], 0


def compare(program: Headlight, folder: str, table: Table, what: str) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    for answer, wrong, metric in TASKS:
        measure = Measure(model, answer, wrong, metric)
        numbered = {"--answer": answer, "--wrong": wrong}
        task = [part for name, ids in numbered.items() if ids for part in (name, " ".join(f"#{token}" for token in ids))]
        for method in ("gradient", "gradient_x_input", "integrated_gradients", "occlusion"):
            for base in (None, OTHER) if wrong and method != "gradient" else (None,):
                expected, more = of_captum(method, measure, base)
                if base:  # ids of a second text are given by pairs alone
                    pairs = program.folder / "pairs.jsonl"
                    pairs.write_text(f'{{"clean": {IDS}, "corrupt": {base}, "answer": {answer}, "wrong": {wrong}}}\n')
                    given = ["--pairs", pairs]
                else:
                    given = ["--ids", ",".join(map(str, IDS)), *task]
                steps = ["--steps", STEPS] if method == "integrated_gradients" else []
                found = program.json("saliency", folder, *given, "--metric", metric, "--method", method, *steps)
                tokens = torch.tensor([row["attribution"] for row in found["tokens"]])
                if method == "gradient":  # families scale embeddings before or after this point
                    tokens, expected = tokens / tokens.max(), expected / expected.max()
                scale = max(float(expected.abs().max()), more if method == "gradient_x_input" else 1e-6)
                table.add(what, float((tokens - expected).abs().max()) / scale, LIMIT)
                if method == "integrated_gradients":
                    table.add(what, abs(found["texts"][0]["delta"] - more) / scale, LIMIT)


def check(table: Table, program: Headlight, options) -> None:
    be_quiet()
    for name, config in drawn_configs(options.families):
        with tempfile.TemporaryDirectory() as folder:
            save_model(config, folder)
            try:
                compare(program, folder, table, f"captum: {name}")
            except (RuntimeError, ValueError) as error:
                note(f"{name}: {str(error)[:300]}")
                table.add(f"captum: {name}", torch.inf, LIMIT)


OPTIONS = {"families": dict(nargs="*")}
