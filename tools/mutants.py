#!/usr/bin/env python3
"""Shows that the tests notice faults: builds Headlight with one fault after another, in a copy of
the committed tree (build/mutants), and runs the tests of the files that are named beside the fault.
A fault is killed if they fail. Takes an hour on two cores; ends with 1 if a fault survives.
usage: mutants.py [NUMBER...]
       mutants.py --check      only checks that every line exists once, and that its tests exist"""
import pathlib
import shutil
import subprocess
import sys

SECONDS = 600  # of tests that a fault lets run for ever

# What is wrong, the file, the line as it is, the faulty line, and the files of tests.
MUTANTS = [
    ("a query does not see its own key", "src/kernels/attention/attention_tile.h",
     "sequence.key_count - sequence.query_count + t + 1 :", "sequence.key_count - sequence.query_count + t :",
     "ragged_attention_test fused_attention_test"),
    ("a window holds one key too many", "src/kernels/attention/attention_tile.h",
     "visible(t) - in.window)", "visible(t) - in.window - 1)", "fused_attention_test"),
    ("the causal mask of the general attention is dropped", "src/ops/attention.cpp",
     "if (!options.causal) {", "if (!options.causal || options.window == 0) {",
     "ragged_attention_test frozen_parity_test"),
    ("scores are scaled by 1 / D", "src/ops/ragged_attention.cpp",
     "plan.options.scale = 1.0 / std::sqrt(static_cast<double>(head_width));",
     "plan.options.scale = 1.0 / static_cast<double>(head_width);", "fused_attention_test"),
    ("the gradient of softmax has the wrong sign", "src/ops/softmax.cpp",
     "softmax_backward(p, g, delta, T{1}, length)", "softmax_backward(p, g, delta, T{-1}, length)",
     "edges_test frozen_parity_test"),
    ("backward turns rotary vectors forward", "src/kernels/layers/rotary.cpp",
     "rotation.backward ? -values.sine : values.sine", "rotation.backward ? values.sine : values.sine",
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
     "    backend.add(branch);\n    if (plan.norm == NormPosition::post)",
     "    if (branch == Branch::attention) backend.add(branch);\n"
     "    if (plan.norm == NormPosition::post)", "gpt2_parity_test"),
    ("LoRA's scale is alpha", "src/nn/lora.cpp",
     "return alpha / (rslora ? std::sqrt(r) : r);", "return alpha / (rslora ? std::sqrt(r) : 1);",
     "lora_test adapter_test"),
    ("a due checkpoint is skipped", "src/train/training_loop.cpp",
     "is_due(config_.save_interval) && trainer_.iteration() < config_.max_iters;",
     "is_due(2 * config_.save_interval) && trainer_.iteration() < config_.max_iters;",
     "saving_test sessions_test"),
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
    ("the share that a patch recovers has the wrong sign", "src/interpret/effects/patch_grid.cpp",
     "(cell.difference - run.base_difference()) / whole",
     "(run.base_difference() - cell.difference) / whole", "patching_test patch_grid_test"),
    ("the last text of a batch is ablated with its own outputs", "src/interpret/effects/ablation.cpp",
     "(index + 1) % batches_.count()", "index % batches_.count()", "ablation_test"),
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
    ("a key of 8 bits is rounded towards 0", "src/kernels/attention/attention_step.cpp",
     "static_cast<std::int8_t>(std::lrint(steps))", "static_cast<std::int8_t>(steps)",
     "attention_step_test"),
    ("texts take blocks of keys that are not free", "src/generate/context/context_room.cpp",
     "*used_ + blocks_of(positions) <= blocks_", "*used_ + 0 * blocks_of(positions) <= blocks_", "context_room_test"),
    ("the last token of a prompt is taken from the cache, without its logits",
     "src/generate/prefix_cache.cpp",
     "std::min(common_length(entry->tokens, prompt), std::ssize(prompt) - 1);",
     "std::min(common_length(entry->tokens, prompt), std::ssize(prompt));", "prompt_chunks_test"),
    ("a conversation that is cut leaves an answer without its question",
     "src/formats/chat_template/chat_session.cpp", "rest.erase(first, next);",
     "rest.erase(first, first + 1);", "sessions_test"),
    ("the cut of a chat template prefers the last of equal places",
     "src/formats/chat_template/tail_match.cpp", "if (same > most) {", "if (same >= most) {",
     "tail_match_test"),
    ("an adapter's rank-stabilised scale is the usual one", "src/formats/adapter/adapter_config.cpp",
     ".alpha = alpha_of(module), .rslora = rslora}.scale();", ".alpha = alpha_of(module)}.scale();",
     "adapter_test peft_adapter_test"),
    ("the gradient ends at a hook", "src/nn/forward_hook.cpp",
     "Tensor result = hook->visit(site, shown);", "Tensor result = hook->visit(site, shown.detach());",
     "gpt2_parity_test metric_gradients_test"),
    ("the work of reading a JSON schema is not counted", "src/generate/json_schema/schema_document.cpp",
     "budget_.spend(work);", "budget_.spend(0 * work);", "json_schema_test"),
    ("pieces of one length and hash get the ids of another", "src/tokenizers/bpe_encoder.cpp",
     "if (std::string_view(seen.text, seen.bytes) == piece) {", "if (seen.bytes == piece.size()) {",
     "bpe_tokenizer_test"),
    ("top-p keeps one token too many at its border", "src/generate/sampler.cpp",
     "if (sum >= wanted) {", "if (sum > wanted) {", "sampler_test"),
    ("only the first piece of a file is in its checksum", "src/storage/manifest.cpp",
     "for (Index offset = 0; offset < file.size(); offset += kPieceBytes) {",
     "for (Index offset = 0; offset < std::min(file.size(), kPieceBytes); offset += kPieceBytes) {",
     "manifest_test"),
    ("a resumed run repeats its last batches", "src/train/trainer.cpp",
     "  iteration_ = iteration;\n  history_", "  iteration_ = iteration - 1;\n  history_", "shards_test"),
    ("the sorted batches of a window have the order of the first epoch", "src/datasets/batches/document_source.cpp",
     "order_of(options_, epoch).fork(static_cast<std::uint64_t>(window) + 1);",
     "order_of(options_, 0).fork(static_cast<std::uint64_t>(window) + 1);", "batcher_test"),
    ("the pads of a row stay in the batch", "src/nn/batch.cpp",
     "sequences.emplace_back(ids, ids + length);", "sequences.emplace_back(ids, ids + width);",
     "batch_test gpt_batch_test"),
    ("the induction score looks at the token itself", "src/interpret/scores/score_definitions.cpp",
     "after_earlier_equals(map, map.facts().repeat_begin, 1);",
     "after_earlier_equals(map, map.facts().repeat_begin, 0);", "head_scores_test"),
    ("the most important heads are pruned first", "src/interpret/prune_plan.cpp",
     "return a.importance < b.importance; });", "return a.importance > b.importance; });",
     "prune_plan_test"),
    ("a request may have any length", "src/serve/http/http_session.cpp",
     "parser_->body_limit(static_cast<std::uint64_t>(server_.options.limits.body_bytes));",
     "parser_->body_limit(std::uint64_t{1} << 40U);", "http_test"),
    ("bytes of Q8_0 blocks are read without their sign", "src/formats/gguf/gguf_blocks.cpp",
     "to.numbers[i] = block[2 + i] ^ 0x80;", "to.numbers[i] = block[2 + i];",
     "gguf_test gguf_quantize_test"),
    ("the decay after a stable rate is linear", "src/optim/schedule.cpp",
     "return 1.0 - std::sqrt(done);", "return 1.0 - done;", "schedule_test"),
    ("numbers of processes are added in another order", "src/distributed/processes.cpp",
     "for (Index distance = 1; distance < processes.count(); distance *= 2) {",
     "for (Index distance = processes.count() / 2; distance > 0; distance /= 2) {", "processes_test"),
    ("a tensor of a file may be shorter than its shape", "src/formats/arrays/safetensors.cpp",
     "require(end - begin == *bytes, where_,", "require(end - begin <= *bytes, where_,",
     "safetensors_test damaged_files_test"),
    ("JSON may be nested one deeper", "src/base/json.cpp",
     "require(open_.size() < kMaxJsonDepth,", "require(open_.size() <= kMaxJsonDepth,", "json_test"),
    ("the average of weights starts slowly", "src/optim/weight_average.cpp",
     "1 - std::min(decay_, (1 + n) / (10 + n));", "1 - std::max(decay_, (1 + n) / (10 + n));", "trainer_test"),
    ("a weight of 8 bits is rounded towards 0", "src/kernels/panels/pack_panel.cpp",
     "const float whole = (padded[k] / scale + kRound) - kRound;",
     "const float whole = padded[k] / scale + 0 * kRound;", "panels_test"),
    ("a changed run forgets the tokens before it", "src/nn/causal_self_attention.cpp",
     "if (context.prefixes.empty() || !context.prefixes[b].is_there()) {", "if (true) {",
     "forward_replay_test patch_grid_test"),
    ("runs that join at a layer change those before them", "src/interpret/effects/forward_replay.cpp",
     "slice(changed, 0, begin, end).copy_from(own);",
     "slice(changed, 0, 0, end - begin).copy_from(own);", "forward_replay_test"),
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
        tests = run(str(tree / "build/release/tests/headlight_tests"), "--filenames-as-tags", tags, timeout=SECONDS)
        return tests.returncode == 0, tests.stdout.strip().splitlines()[-1:]
    except subprocess.TimeoutExpired:
        return False, [f"no end within {SECONDS} s"]
    finally:
        source.write_text(text)

def check(home):
    """Returns what is wrong with the table."""
    faults = []
    tests = {path.stem for path in (home / "tests").rglob("*_test.cpp")}
    for number, (_, path, old, new, files) in enumerate(MUTANTS, 1):
        count = (home / path).read_text().count(old) if (home / path).exists() else 0
        if count != 1 or old == new:
            faults.append(f"{number}: {path}: expected the line once, found it {count} times: {old}")
        faults += [f"{number}: no test file is called {name}" for name in files.split() if name not in tests]
    return faults

def main():
    home = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--check"]:
        faults = check(home)
        print("\n".join(faults) or f"all {len(MUTANTS)} faults can be made")
        sys.exit(1 if faults else 0)
    tree = home / "build/mutants"
    shutil.rmtree(tree, ignore_errors=True)  # of a run that was ended
    run("git", "worktree", "prune", cwd=home)
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
