#!/usr/bin/env python3
"""Shows that the tests notice faults: builds Headlight with one fault after another, in a copy of
the committed tree (build/mutants), and runs the tests of the files that are named beside the fault.
A fault is killed if they fail. Takes half an hour on two cores; ends with 1 if a fault survives.
usage: mutants.py [NUMBER...]"""
import pathlib
import subprocess
import sys

# What is wrong, the file, the line as it is, the faulty line, and the files of tests.
MUTANTS = [
    ("a query does not see its own key", "src/kernels/attention/attention_tile.h",
     "sequence.key_count - sequence.query_count + t + 1 :", "sequence.key_count - sequence.query_count + t :",
     "ragged_attention_test fused_attention_test"),
    ("a window holds one key too many", "src/kernels/attention/attention_tile.h",
     "visible(t) - in.window)", "visible(t) - in.window - 1)", "fused_attention_test"),
    ("the causal mask of the general attention is dropped", "src/ops/attention.cpp",
     "if (!options.causal) {", "if (!options.causal || options.window == 0) {",
     "attention_test"),
    ("scores are scaled by 1 / D", "src/ops/ragged_attention.cpp",
     "plan.options.scale = 1.0 / std::sqrt(static_cast<double>(head_width));",
     "plan.options.scale = 1.0 / static_cast<double>(head_width);", "fused_attention_test"),
    ("the gradient of softmax has the wrong sign", "src/ops/softmax.cpp",
     "softmax_backward(p, g, delta, T{1}, length)", "softmax_backward(p, g, delta, T{-1}, length)",
     "softmax_test frozen_parity_test"),
    ("backward turns rotary vectors forward", "src/kernels/layers/rotary.cpp",
     "rotation.backward ? -turn.sine : turn.sine", "rotation.backward ? turn.sine : turn.sine",
     "rope_test frozen_parity_test"),
    ("the gradient of the target logit is not lowered", "src/ops/cross_entropy.cpp",
     "logits[target] -= scale * static_cast<T>(1 - smoothing);", "",
     "cross_entropy_test frozen_parity_test"),
    ("padding and masked tokens are learned", "src/datasets/batches/training_batch.cpp",
     "return is_learned(token) ? token : kIgnoreTarget;", "return id_of(token);",
     "training_batch_test"),
    ("targets are not shifted", "src/datasets/batches/training_batch.cpp",
     "std::transform(ids.begin() + 1, ids.end(), targets,",
     "std::transform(ids.begin(), ids.end() - 1, targets,", "training_batch_test"),
    ("weight decay acts on biases and gains", "src/optim/adamw.cpp",
     "slot.parameter.rank() >= 2 ? options_.weight_decay : 0", "options_.weight_decay",
     "adamw_test"),
    ("gradients are never clipped", "src/optim/clip.cpp",
     "max_norm == 0 ? 1.0 : std::min(1.0,", "max_norm == 0 ? 1.0 : std::max(1.0,", "clip_test"),
    ("warm-up is one step too long", "src/optim/schedule.cpp",
     "static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1)",
     "static_cast<double>(step) / static_cast<double>(warmup_steps + 1)", "schedule_test"),
    ("the MLP's output is not added when norms come first", "src/nn/block_order.h",
     "    machine.compute(branch);\n    machine.add(branch);\n    if (plan.norm == NormPosition::post)",
     "    machine.compute(branch);\n    if (branch == Branch::attention) machine.add(branch);\n"
     "    if (plan.norm == NormPosition::post)", "gpt_test frozen_parity_test"),
    ("LoRA's scale is alpha", "src/nn/lora.cpp",
     "return alpha / (rslora ? std::sqrt(r) : r);", "return alpha / (rslora ? std::sqrt(r) : 1);",
     "lora_test adapter_test"),
    ("a due checkpoint is skipped", "src/runs/run.cpp",
     "is_due(config_.save_interval) && trainer_.iteration() < config_.max_iters;",
     "is_due(2 * config_.save_interval) && trainer_.iteration() < config_.max_iters;",
     "saving_test resume_test"),
    ("an interrupted save leaves its files", "src/storage/unfinished.cpp",
     "  if (!is_kept_) {", "  if (is_kept_) {", "unfinished_test"),
    ("top-k keeps one token more", "src/generate/sampler.cpp",
     "order.begin() + top_k - 1, order.end(), std::greater<>());\n  const double last = order[static_cast<std::size_t>(top_k - 1)];\n  Index equal = top_k -",
     "order.begin() + top_k, order.end(), std::greater<>());\n  const double last = order[static_cast<std::size_t>(top_k)];\n  Index equal = top_k + 1 -",
     "sampler_test"),
    ("a forked cache shares its last block", "src/nn/key_value_cache.cpp",
     "i < full ? layer.blocks[i] : layer.blocks[i].clone()",
     "i <= full ? layer.blocks[i] : layer.blocks[i].clone()",
     "gpt_cache_test decoder_test engine_test"),
    ("the share that a patch recovers has the wrong sign", "src/interpret/effects/patching.cpp",
     "(patched - result.corrupt_difference) / whole", "(result.corrupt_difference - patched) / whole",
     "patching_test"),
    ("the last text of a batch is ablated with its own outputs", "src/interpret/effects/ablation.cpp",
     "(index + 1) % batches.count()", "index % batches.count()", "ablation_test"),
    ("a token that crosses the border of prompt and completion is not learned",
     "src/runs/conversations/conversations.cpp",
     "std::ranges::mismatch(before, tokens).in2 - tokens.begin();",
     "std::min(std::ssize(before), std::ssize(tokens));", "conversations_test"),
    ("an adapter is added to other weights than its own base's", "src/formats/adapter/adapter_base.cpp",
     "require(stored.empty() || stored == weights_fingerprint(base)",
     "require(stored.empty() || !weights_fingerprint(base).empty()", "adapter_test"),
    ("cached values have Headlight's units instead of the family's", "src/interpret/activations/activation_rows.cpp",
     "bool in_family_units() const override { return true; }",
     "bool in_family_units() const override { return false; }", "family_units_test"),
    ("a tool call depends on where its tokens end", "src/formats/chat_template/tool_call_reader.cpp",
     "return !mark.empty() && may_begin_with(rest, mark);", "return !mark.empty() && rest.starts_with(mark);",
     "tool_call_parser_test"),
]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def build(tree):
    made = run("cmake", "--build", "--preset", "release", "--target", "headlight_tests", cwd=tree)
    if made.returncode:
        sys.exit(f"{tree} does not build:\n{made.stdout[-3000:]}")


def survives(tree, path, old, new, files):
    """Builds with the fault and returns whether all tests of the files pass."""
    source = tree / path
    text = source.read_text()
    if text.count(old) != 1:
        sys.exit(f"{path}: expected the line once, found it {text.count(old)} times: {old}")
    source.write_text(text.replace(old, new))
    try:
        build(tree)
        tags = ",".join(f"[#{name}]~[experiment]~[.]" for name in files.split())
        tests = run(str(tree / "build/release/tests/headlight_tests"), "--filenames-as-tags", tags)
        return tests.returncode == 0, tests.stdout.strip().splitlines()[-1:]
    finally:
        source.write_text(text)


def main():
    home = pathlib.Path(__file__).resolve().parent.parent
    tree = home / "build/mutants"
    run("git", "worktree", "remove", "--force", str(tree), cwd=home)
    added = run("git", "worktree", "add", "--detach", str(tree), "HEAD", cwd=home)
    if added.returncode:
        sys.exit(added.stdout)
    run("cmake", "--preset", "release", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", cwd=tree)
    build(tree)
    chosen = [int(number) - 1 for number in sys.argv[1:]] or range(len(MUTANTS))
    survivors = 0
    for number in chosen:
        what, path, old, new, files = MUTANTS[number]
        alive, verdict = survives(tree, path, old, new, files)
        survivors += alive
        print(f"{number + 1:2} {'SURVIVES' if alive else 'killed'}: {what} ({path}); {files}:", *verdict, flush=True)
    run("git", "worktree", "remove", "--force", str(tree), cwd=home)
    sys.exit(1 if survivors else 0)


main()
