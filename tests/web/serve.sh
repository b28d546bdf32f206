#!/usr/bin/env bash
# The page of `headlight serve` in headless Chromium, on a small model that is trained here: writes, follows a text, switches
# heads off, reads layers, patches and watches a run. Ends with 77 (skipped) when chromium, chromedriver, curl or jq is missing.
# usage: serve.sh HEADLIGHT [PICTURES]
#   HEADLIGHT   the program
#   PICTURES    directory for pictures of every part, light and dark, wide and narrow
# AXE: axe.min.js of axe-core, which then must find nothing to complain about in any part; contrasts with colours that it cannot
#      read (NaN: oklab) do not count
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$1
pictures=${2:-}
work=$(mktemp -d)
server_pid=
. "$here/webdriver.sh"
stop_server() { [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true; }
trap 'stop_browser; stop_server; rm -rf "$work"' EXIT

checks=0
failures=0
# expect WHAT EXPRESSION VALUE: the page's expression has that value.
expect() {
  local value
  value=$(js "$2")
  checks=$((checks + 1))
  if [ "$value" != "$3" ]; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  %s\n  expected %s\n  got      %s\n' "$1" "$2" "$3" "$value"
  fi
}
count_of() { echo "document.querySelectorAll('$1').length"; }
text_of() { echo "document.querySelector('$1')?.textContent"; }
set_text() { js "(() => { const box = document.getElementById('$1'); box.value = '$2'; box.dispatchEvent(new Event('input')); })()" >/dev/null; }
open_part() {
  click "#open-$1"
  wait_for "!document.getElementById('part-$1').hidden"
}

start_server() {
  head -c 20000 "$here/../../data/toy.txt" >"$work/text.txt"
  "$headlight" train --data "$work/text.txt" --out_dir "$work/runs/small" --n_layer 2 --n_head 2 --n_embd 16 --block_size 64 \
    --batch_size 4 --max_iters 12 --eval_interval 6 --eval_iters 1 --log_level error >/dev/null
  : >"$work/server.json"
  "$headlight" serve "$work/runs/small" --runs "$work/runs" --port 0 --json >"$work/server.json" 2>"$work/server.log" &
  server_pid=$!
  site=http://127.0.0.1:$(port_in "$work/server.json" '.*127\.0\.0\.1:\([0-9]*\).*')
}

open_site() { # QUERY
  load "$site/$1"
  wait_for 'document.documentElement.dataset.ready'
}

check_access() { # PART
  [ -n "${AXE:-}" ] || return 0
  post "/session/$session/execute/sync" "$(jq -n --rawfile s "$AXE" '{script: $s, args: []}')" >/dev/null
  local found
  found=$(post "/session/$session/execute/async" "$(jq -n '{script:
    "axe.run().then((r) => arguments[0](r.violations.flatMap((v) => v.nodes.filter((n) => !n.any.some((a) => /NaN/.test(a.message)))
      .map((n) => v.id + \": \" + n.html)).join(\"\\n\")))", args: []}')")
  checks=$((checks + 1))
  if [ -n "$found" ]; then
    failures=$((failures + 1))
    printf 'FAILED: axe-core about %s\n%s\n' "$1" "$found"
  fi
}

writes() {
  open_site ''
  set_text text 'The cat'
  click '#go'
  wait_for "$(count_of .piece) > 5 && document.getElementById('go').hidden === false"
  js "document.querySelectorAll('.piece')[4].focus()" >/dev/null
  wait_for "$(count_of '#choices .adds .amount') > 0"
  expect 'a token shows ten others' "$(count_of '#choices .likely')" 10
  expect 'and the heads that spoke for it' "$(count_of '#choices .adds li')" 6
  check_access 'writing'
  local other
  other=$(js "$(text_of '#choices .likely:not(.chosen) bdi')")
  js "document.querySelector('#choices .likely:not(.chosen)').click()" >/dev/null
  wait_for "$(count_of .piece) > 5 && document.getElementById('go').hidden === false"
  expect 'the text goes on from another choice' \
    "document.querySelectorAll('.piece')[4].textContent.replaceAll(' ', '·').replaceAll('\\n', '⏎')" "$other"
  click '#keep'
  expect 'what was written becomes the text' "document.getElementById('text').value.startsWith('The cat') && document.getElementById('text').value.length > 20" true
}

switches_heads() {
  open_site '?text=The+cat+sat+on+the+mat'
  open_part heads
  wait_for "$(count_of '.thumbnails button') === 4 && document.querySelectorAll('.cell').length === 6"
  wait_for "$(count_of '#next .likely') === 10"
  expect 'the loss of the text' "/^Loss [0-9.]+ nats/.test($(text_of '#loss'))" true
  check_access 'heads'
  click '.cell[aria-label="head 0.1"]'
  wait_for "$(count_of '.thumbnails') === 2"
  expect 'a switch is in the address' "new URLSearchParams(location.search).get('changes')" '0.1:off'
  expect 'the loss changes' "/→/.test($(text_of '#loss'))" true
  expect 'heads above it have moved' \
    "Number.parseFloat(document.querySelector('.cell[aria-label=\"head 1.0\"]').style.getPropertyValue('--shift')) > 0" true
  expect 'heads beside it have not' \
    "Number.parseFloat(document.querySelector('.cell[aria-label=\"head 0.0\"]').style.getPropertyValue('--shift'))" 0
  local loss
  loss=$(js "$(text_of '#loss')")
  js 'location.reload()' >/dev/null
  wait_for "document.documentElement.dataset.ready && $(count_of '.thumbnails') === 2"
  wait_for "document.querySelector('#loss').textContent !== ''"
  expect 'a link leads back to it' "$(text_of '#loss')" "$loss"
  expect 'with the switch' "document.querySelector('.cell[aria-label=\"head 0.1\"]').ariaPressed" true
  set_text text 'The dog sat on the mat and ran'
  wait_for "$(text_of '#loss') !== '$loss'"
  for kind in mean freeze scale; do
    click "#tool-$kind"
    click '.cell[aria-label="head 1.1"]'
    wait_for "document.querySelector('.cell[aria-label=\"head 1.1\"]').dataset.change === '$kind'"
  done
  sleep 0.5
  expect 'the server knows every kind of switch' "$(text_of '#heads-problem')" ''
  click '#release'
  wait_for "$(count_of '.thumbnails') === 1"
  click '#tab-neuron'
  wait_for "$(count_of '.neurons')"
  expect 'nothing is wrong' "$(text_of '#heads-problem')" ''
}

reads_layers() {
  open_part layers
  wait_for "$(count_of '#lens tbody tr') === 3"
  expect 'a column for every token' "$(count_of '#lens thead th') === $(count_of '#lens tbody tr:first-child td')" true
  point '#lens tbody td:nth-of-type(2)'
  point '#lens tbody td:nth-of-type(3)'
  wait_for "!document.getElementById('tip').hidden"
  expect 'a cell tells five tokens' "$(count_of '#tip .tip-row')" 5
  check_access 'layers'
}

patches() {
  open_part pair
  set_text clean 'the red cat sat'
  set_text corrupt 'the red dog sat'
  set_text answer 'c'
  set_text wrong 'd'
  click '#patch'
  wait_for "$(count_of '#pair-grid td') === 4"
  expect 'the difference of both texts is told' "/first text -?[0-9.]+/.test($(text_of '#differences'))" true
  check_access 'two texts'
}

watches() {
  open_part train
  wait_for "$(count_of '#chart .curve') === 2"
  expect 'the run and how far it is' "$(text_of '#state-0')" '12 updates'
  check_access 'training'
  echo '{"iteration":13,"loss":2.5,"learning_rate":0.001,"gradient_norm":1.0,"tokens":100,"seconds":0.1,"elapsed_seconds":2.0}' \
    >>"$work/runs/small/metrics.jsonl"
  wait_for "$(text_of '#state-0') === '13 updates'"
}

speaks_korean() {
  open_site '?lang=ko'
  expect 'the page is Korean' "document.documentElement.lang + $(text_of '#open-write')" 'ko쓰기'
  expect 'no word is missing' "[...document.querySelectorAll('[data-say]')].filter((node) => node.textContent === '' ||
    node.textContent === 'undefined').length" 0
}

takes_pictures() {
  mkdir -p "$pictures"
  for shape in '1280 900 light' '1280 900 dark' '390 800 light'; do
    stop_browser
    start_browser $shape
    for part in write heads layers pair train; do
      open_site "?part=$part&changes=0.1:off"
      [ $part != write ] || click '#go'
      [ $part != pair ] || click '#patch'
      sleep 1.5
      screenshot "$pictures/$part-${shape// /-}.png"
    done
  done
}

start_server
# Of all hosts this machine alone.
browser_flags='["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]'
start_browser 1280 900 light
writes
switches_heads
reads_layers
patches
watches
speaks_korean
complaints=$(console | grep -v ' 400 (Bad Request)' || true)
if [ -n "$complaints" ]; then
  failures=$((failures + 1))
  printf 'FAILED: the browser complains\n%s\n' "$complaints"
fi
[ -z "$pictures" ] || takes_pictures
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
