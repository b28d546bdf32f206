#!/usr/bin/env bash
# Types and deletes 500 characters in a page of `headlight page` in headless Chromium: the memory of the page and of
# its workers must not grow. Takes a minute, so tools/extended.sh runs it. Exits with 77 (skipped) if chromium,
# chromedriver, curl, jq or the WebAssembly build is missing.
# usage: file_page_memory.sh HEADLIGHT [MODEL]
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$1
engine=${HEADLIGHT_ENGINE:-$(dirname "$headlight")/../wasm}
[ -e "$engine/headlight.wasm.gz" ] || { echo "skipped: no WebAssembly build in $engine"; exit 77; }
work=$(mktemp -d)
. "$here/webdriver.sh"
trap 'stop_browser; rm -rf "$work"' EXIT

model=${2:-}
if [ -z "$model" ]; then
  train_small
  model=$work/runs/small
fi
"$headlight" page "$model" --text 'The cat sat on the mat' --engine "$engine" --log_level error --out "$work/demo.html" >/dev/null

# Workers report the size of their WebAssembly memory; the page keeps a list of them.
report="addEventListener('message', (event) => { if (event.data.memory) {
  event.stopImmediatePropagation(); postMessage({memory: engine.HEAPU8.length}); } });"
watch="window.workers = [];
window.Blob = class extends Blob { constructor(parts, options) {
  super(options?.type === 'text/javascript' ? [$(jq -n --arg s "$report" '$s'), ...parts] : parts, options); } };
window.Worker = class extends Worker { constructor(address) { super(address); workers.push(this); } };"
memories="Promise.all(workers.map((worker) => new Promise((resolve) => {
  worker.addEventListener('message', ({data}) => resolve(data.memory), {once: true}); worker.postMessage({memory: true}); })))
  .then((all) => all.reduce((sum, bytes) => sum + bytes))"

# types COUNT: types 20 characters and deletes them, COUNT times. The page draws new maps at each pause.
types() {
  local keys
  keys=$(jq -n '[range(40)] | map((if . < 20 then "e nda"[. % 5:. % 5 + 1] else "\ue003" end) as $key |
    {type: "keyDown", value: $key}, {type: "keyUp", value: $key}, {type: "pause", duration: 40})')
  for _ in $(seq "$1"); do
    post "/session/$session/actions" "{\"actions\": [{\"type\": \"key\", \"id\": \"keyboard\", \"actions\": $keys}]}" >/dev/null
  done
  sleep 1
  wait_for "document.getElementById('text').value === 'The cat sat on the mat' && $(count_of '#surprise [tabindex]') === $tokens"
}

# Sets heap and memory: bytes of the page's objects and of the workers' WebAssembly.
measure() {
  cdp HeapProfiler.collectGarbage '{}' >/dev/null
  heap=$(cdp Runtime.getHeapUsage '{}' | jq .usedSize)
  memory=$(js "$memories")
}

start_browser 1280 900 light
cdp Page.addScriptToEvaluateOnNewDocument "$(jq -n --arg s "$watch" '{source: $s}')" >/dev/null
open_page "$work/demo.html?part=heads"
wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
tokens=$(js "$(count_of '#surprise [tabindex]')")
click '#text'
js "(() => { const box = document.getElementById('text'); box.setSelectionRange(box.value.length, box.value.length); })()" >/dev/null
types 5
measure
first_heap=$heap
first_memory=$memory
types 20
measure
echo "after 100 characters: $first_heap bytes of objects, $first_memory bytes of WebAssembly in $(js workers.length) workers"
echo "after 500 characters: $heap bytes of objects, $memory bytes of WebAssembly"
# Chromium keeps code and texts of up to 0.25 MB for the first 2,000 characters, none for later ones.
expect 'the objects of the page take at most 0.3 MB more' "$heap < $first_heap + 300000" true
expect 'the memory of the workers takes at most 3 % more' "$memory < 1.03 * $first_memory" true
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
