#!/usr/bin/env bash
# Tests the page of `headlight serve` in headless Chromium with a small model trained here:
# generates text, follows a text, classifies heads, switches them off, reads layers, patches and
# watches a run. Exits with 77 (skipped) if chromium, chromedriver, curl or jq is missing.
# usage: serve.sh HEADLIGHT [PICTURES [RUN]]
#   HEADLIGHT   the program
#   PICTURES    directory for screenshots of every part in each colour scheme, width and language
#   RUN         run directory of the model in the screenshots; default: the small model
# Environment variable AXE: path of axe-core's axe.min.js. It must find no problem in any part,
# except contrasts with colours that it cannot read (NaN: oklab).
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$1
pictures=${2:-}
pictured=${3:-}
work=$(mktemp -d)
server_pid=
. "$here/webdriver.sh"
stop_server() { [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true; }
trap 'stop_browser; stop_server; rm -rf "$work"' EXIT

checks=0
failures=0
# expect DESCRIPTION EXPRESSION VALUE: checks the value of a JavaScript expression in the page.
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
hidden() { echo "String(document.querySelector('$1').hidden)"; }
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
  serve_model "$work/runs/small"
}

serve_model() { # RUN [PORT]
  stop_server
  : >"$work/server.json"
  "$headlight" serve "$1" --runs "$(dirname "$1")" --port "${2:-0}" --json >"$work/server.json" 2>"$work/server.log" &
  server_pid=$!
  site=http://127.0.0.1:$(port_in "$work/server.json" '.*127\.0\.0\.1:\([0-9]*\).*')
}

open_site() { # QUERY
  load "$site/$1"
  wait_for 'document.documentElement.dataset.ready'
}

check_access() { # PART
  [ -n "${AXE:-}" ] || return 0
  post "/session/$session/timeouts" '{"script": 120000}' >/dev/null
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

opens() {
  open_site ''
  expect 'the opening text leaves room in the block' "document.getElementById('text').value" 'One day, Nora lost her red'
  expect 'an answer of several tokens is left to the model' "document.getElementById('answer').value" ''
}

writes() {
  open_site ''
  set_text text 'The cat'
  click '#go'
  wait_for "$(count_of .piece) > 15 && document.getElementById('go').hidden === false"
  expect 'the text that was given comes token by token, too' "$(count_of '.piece.given')" 7
  js "document.querySelectorAll('.piece')[11].focus()" >/dev/null
  wait_for "$(count_of '#choices .adds .amount') > 0"
  expect 'a token shows ten others' "$(count_of '#choices .likely')" 10
  expect 'and what each head and MLP adds to it' "$(count_of '#choices .adds-map rect')" 6
  expect 'every token shows its probability' \
    "[...document.querySelectorAll('.piece')].slice(1).every((node) => /^[0-9<.]+/.test(node.dataset.probability))" true
  check_access 'writing'
  press left
  expect 'arrows lead from token to token' "document.activeElement.dataset.token" 10
  press right
  press enter
  expect 'and Enter to the others' "document.activeElement.className" likely
  press escape
  expect 'and Escape back' "document.activeElement.dataset.token" 11
  press enter
  local other
  other=$(js "document.activeElement.querySelector('bdi').textContent")
  press enter
  wait_for "$(count_of .piece) > 15 && document.getElementById('go').hidden === false"
  expect 'the text goes on from another choice' \
    "document.querySelectorAll('.piece')[11].ariaLabel.split(' ')[0]" "$other"
  expect 'with the keyboard at it' "document.activeElement.dataset.token" 11
  expect 'what stood before it stays' "[...document.querySelectorAll('.piece.given')].map((node) => node.textContent).join('')" 'The cat'
  click '#keep'
  wait_for "document.getElementById('text').value !== 'The cat'"
  expect 'what was written becomes the text' "document.getElementById('text').value.startsWith('The cat') && document.getElementById('text').value.length > 12" true
  click '#clear'
  expect 'and is cleared' "$(count_of .piece)" 0
  js "document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true}))" >/dev/null
  wait_for "$(count_of .piece) > 12 && document.getElementById('go').hidden === false"
  click '#clear'
  js "document.getElementById('go').focus()" >/dev/null
  press enter
  wait_for "$(count_of .piece) > 12 && document.getElementById('go').hidden === false"
  expect 'the keyboard stays on the button that starts and stops' "document.activeElement.id" go
}

refuses_numbers() {
  open_site '?text=Hi&max_tokens=5'
  js "(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()" >/dev/null
  local problem='Tokens: expected a whole number from 1 to 4096.'
  set_text max_tokens 99999
  click '#go'
  expect 'a number out of its range is refused' "$(text_of '#write-problem')" "$problem"
  expect 'and nothing is written with the one before' "$(count_of .piece) + document.activeElement.id" 0max_tokens
  set_text max_tokens ''
  click '#copy'
  expect 'none is none' "$(text_of '#write-problem') + String(window.copied)" "${problem}undefined"
  set_text max_tokens 6
  expect 'a right one takes the complaint back' "$(text_of '#write-problem')" ''
  set_text temperature 0.83
  click '#go'
  wait_for "$(count_of .piece) > 2 && document.getElementById('go').hidden === false"
  expect 'fractions may have any digits' "$(text_of '#write-problem')" ''
}

# write_tokens NAME:ID ...: starts a generation and replaces the model's answer by these tokens and
# an end-of-text token. The answer stays open.
write_tokens() {
  local tokens
  tokens=$(jq -cn '[$ARGS.positional[] | capture("^(?<name>.*):(?<id>[0-9]+)$") | .id |= tonumber]' --args "$@")
  js "(() => {
    const real = window.fetch;
    const tokens = $tokens;
    const event = (tokens, finish_reason) => 'data: ' + JSON.stringify({choices: [{finish_reason, logprobs: {
      tokens: tokens.map(({name}) => name), token_ids: tokens.map(({id}) => id),
      token_logprobs: tokens.map((_, i) => i === 0 ? null : -1), text_offset: tokens.map((_, i) => i),
      top_tokens: tokens.map(({id, name}) => [{id, token: name, logprob: -1}, {id: 2, token: 'other', logprob: -2}])}}]}) +
      '\\n\\n';
    const events = new TextEncoder().encode(event(tokens, null) + event([{name: '<|endoftext|>', id: 0}], 'stop'));
    window.fetch = async (path, ...rest) => path !== '/v1/completions' ? real(path, ...rest)
      : new Response(new ReadableStream({start(stream) { stream.enqueue(events); }}));
  })()" >/dev/null
  click '#go'
  wait_for "$(count_of .piece) >= $#"
  expect 'the token that ends a text is not shown' "$(count_of .piece)" $#
}

ids_of() { # TEXT
  curl -sS -H 'Content-Type: application/json' --data "$(jq -n --arg content "$1" '{$content}')" "$site/tokenize" | jq -r '.tokens[]'
}

leaves_boxes() {
  open_site '?text=Hi'
  js "document.getElementById('go').focus()" >/dev/null
  write_tokens a:3 b:4 c:5
  js "document.querySelectorAll('.piece')[1].focus()" >/dev/null
  press enter
  expect 'a token has others' "document.activeElement.className" likely
  press escape
  press enter
  press escape
  js "document.querySelectorAll('.piece')[2].focus()" >/dev/null
  press escape
  expect 'Escape that leaves a box leaves the writing' "$(hidden '#choices') + $(hidden '#go')" truetrue
  press escape
  expect 'the next one stops it' "$(hidden '#go')" false
}

keeps_text() {
  open_site '?text=Hi'
  local ids
  ids=($(ids_of ' at'))
  # The page recognises special tokens by id: 0 is no text, whatever its name.
  write_tokens "<s>:0" "▁a:${ids[1]}" "t:${ids[2]}" '</s>:0'
  expect 'special tokens look like none of the text' "$(count_of '.piece.special')" 2
  click '#keep'
  wait_for "document.getElementById('text').value !== 'Hi'"
  expect 'and are not written into it' "document.getElementById('text').value" at
}

written() { js "[...document.querySelectorAll('.piece')].map((node) => node.textContent).join('')"; }
# Copies the page's command to the clipboard, runs it and prints its output.
copied_command_writes() {
  local command
  command=$(js "(async () => { document.getElementById('copy').click(); await new Promise((r) => setTimeout(r, 200)); return window.copied; })()")
  eval "$(sed "s,^headlight,\"$headlight\"," <<<"$command")" --log_level error
}

writes_with_switches() {
  open_site '?text=The+cat&max_tokens=30&temperature=0.9&seed=5&changes=0.1:off,mlp.1:scale2'
  js "(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()" >/dev/null
  expect 'the switches stand beside the text' "$(text_of '#write-switches')" 'Switches for generation: off 0.1; scale mlp.1 2'
  click '#go'
  wait_for "$(count_of .piece) > 10 && document.getElementById('go').hidden === false"
  local changed plain
  changed=$(written)
  checks=$((checks + 1))
  if [ "$(copied_command_writes)" != "$changed" ]; then
    failures=$((failures + 1))
    printf 'FAILED: the command writes another text than the page\n  %s\n  %s\n' "$changed" "$(copied_command_writes)"
  fi
  check_access 'writing with switches'
  click '#write-release'
  expect 'without switches the text that is there says what it was written with' "$(text_of '#write-switches')" \
    'Generated with: off 0.1; scale mlp.1 2'
  expect 'and they leave the address' "new URLSearchParams(location.search).get('changes')" null
  click '#go'
  wait_for "$(count_of .piece) > 10 && document.getElementById('go').hidden === false && $(text_of '#write-switches') === ''"
  plain=$(written)
  checks=$((checks + 1))
  if [ "$plain" = "$changed" ] || [ "$(copied_command_writes)" != "$plain" ]; then
    failures=$((failures + 1))
    printf 'FAILED: without switches the text is\n  %s\n' "$plain"
  fi
}

classes_heads() {
  open_site '?text=The+cat+sat+on+the+mat.+The+cat+ran.&part=heads'
  wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
  expect 'nobody has pressed a button for it' "$(count_of '.thumbnails')" 1
  wait_for "$(count_of '.thumbnails canvas') === 4"
  expect 'all thumbnails have a class' "[...document.querySelectorAll('.thumbnails button')].filter((node) => node.title.includes(': ')).length" 4
  expect 'and all switches' "[...document.querySelectorAll('.cell')].filter((node) => node.title.includes(': ')).length" 4
  js "document.querySelector('.chip').click()" >/dev/null
  expect 'a class is switched as a whole' "document.querySelectorAll('.cell[aria-pressed=true]').length + ' ' +
    /\\((\\d)\\)/.exec($(text_of .chip))[1]" "$(js "(document.querySelectorAll('.cell[aria-pressed=true]').length + ' ').repeat(2).trim()")"
  js "(() => { document.querySelector('details').open = true; })()" >/dev/null
  set_text scored 'Another text for the classes. Another text for the classes.'
  expect 'the text that is chosen is in the address' "new URLSearchParams(location.search).get('scored').slice(0, 7)" Another
  local questions="performance.getEntriesByType('resource').filter(({name}) => name.endsWith('/api/scores')).length"
  wait_for "$questions === 2 && /^Found: /.test($(text_of '#scoring-state')) && document.getElementById('scoring').hidden"
  expect 'the maps say that their classes come from it' "$(hidden '#classed') + $(text_of '#classed-on')" \
    'falseClasses come from another text: Another text for the classes. Another text for the classes.'
  click '#class-this'
  wait_for "$questions === 3 && document.getElementById('classed').hidden && document.getElementById('scoring').hidden"
  expect 'one click classes heads on the text that is shown' "document.getElementById('scored').value" \
    'The cat sat on the mat. The cat ran.'
  set_text text 'The cat sat on the mat. The dog ran.'
  expect 'another text shown is another text' "$(hidden '#classed') + $(text_of '#classed-on')" \
    'falseClasses come from another text: The cat sat on the mat. The cat ran.'
}

switches_heads() {
  open_site '?text=The+cat+sat+on+the+mat'
  open_part heads
  wait_for "$(count_of '.thumbnails button') === 4 && document.querySelectorAll('.cell').length === 6"
  wait_for "$(count_of '#next .likely') === 10"
  expect 'the loss of the text' "/^Loss [0-9.]+ nats/.test($(text_of '#loss'))" true
  wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
  js "document.querySelector('#surprise [tabindex=\"0\"]').focus()" >/dev/null
  press right
  wait_for "/ nats/.test($(text_of '#tip'))"
  expect 'a token tells the keyboard what it costs' "document.activeElement.textContent + document.getElementById('tip').hidden" hfalse
  expect 'the switches are one stop of Tab' "$(count_of '#board [tabindex="0"]')" 1
  js "document.querySelector('.cell[aria-label=\"head 0.1\"]').focus()" >/dev/null
  press down
  expect 'with arrows between them' "document.activeElement.ariaLabel" 'head 1.1'
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

goes_back() {
  open_site '?text=Hi'
  open_part heads
  open_part layers
  set_text text 'The cat'
  js 'history.back()' >/dev/null
  wait_for "!document.getElementById('part-heads').hidden"
  js 'history.back()' >/dev/null
  wait_for "!document.getElementById('part-write').hidden"
  expect 'Back opens the part before and keeps the text' \
    "new URLSearchParams(location.search).get('text') + document.getElementById('text').value" 'The catThe cat'
}

warns_of_special_tokens() {
  open_site '?text=Hi%20%3C%7Cendoftext%7C%3E'
  click '#go'
  wait_for "!document.getElementById('warnings').hidden"
  expect 'a special token that is read as characters is named' \
    "$(text_of '#warnings').includes('<|endoftext|>')" true
  js "(() => { const text = document.getElementById('text'); text.value = 'Hi';
    text.dispatchEvent(new Event('input')); })()" >/dev/null
  wait_for "document.getElementById('warnings').hidden"
}

misses_the_server() {
  open_site '?text=Hi'
  js "(() => { window.fetch = async () => { throw new TypeError('Failed to fetch'); }; })()" >/dev/null
  click '#go'
  wait_for "$(text_of '#write-problem') !== ''"
  expect 'a server that is gone is named' "$(text_of '#write-problem')" \
    'Failed: The server does not answer. Check that headlight serve is running, then try again.'
}

# Does not end the script, so that the log shows which way of opening the view failed.
shows_neurons() { wait_for "$(count_of '.neurons')" || true; }

multiplies_neurons() {
  open_site '?text=The+cat&part=heads#neuron/0.1'
  shows_neurons
  expect 'an address of the neuron view asks for vectors at once' "$(count_of '.neurons') + ' ' +
    performance.getEntriesByType('resource').filter(({name}) => name.endsWith('/api/attention')).length" '1 1'
  local way
  for way in 'press 3' "js \"document.getElementById('tab-model').focus()\"; press right; press right" \
    "js \"location.hash = '#neuron/0.1'\""; do
    open_site '?text=The+cat&part=heads'
    wait_for "$(count_of '.thumbnails button') === 4"
    eval "$way" >/dev/null
    shows_neurons
    expect "the neuron view has its vectors, opened by: $way" "$(count_of '.neurons')" 1
  done
}

reads_layers() {
  open_part layers
  wait_for "$(count_of '#lens tbody tr') === 3"
  expect 'a column for every token' "$(count_of '#lens thead th') === $(count_of '#lens tbody tr:first-child td')" true
  point '#lens tbody td:nth-of-type(2)'
  point '#lens tbody td:nth-of-type(3)'
  wait_for "!document.getElementById('tip').hidden"
  expect 'a cell tells five tokens' "$(count_of '#tip .tip-row')" 5
  js "document.querySelector('#lens [tabindex=\"0\"]').focus()" >/dev/null
  press down
  press right
  wait_for "!document.getElementById('tip').hidden"
  expect 'arrows lead through cells' "(({parentNode: row, cellIndex}) => [row.rowIndex, cellIndex].join())(document.activeElement)" 2,2
  expect 'which tell the keyboard as much' "$(count_of '#tip .tip-row')" 5
  expect 'and are one stop of Tab' "$(count_of '#lens [tabindex="0"]')" 1
  check_access 'layers'
}

patches() {
  open_site '?part=pair&clean=the+red+cat+sat&corrupt=the+red+dog+sat&answer=c&wrong=d'
  wait_for "$(count_of '#pair-grid td') === 4"
  expect 'the difference of both texts is told' "/first text -?[0-9.]+/.test($(text_of '#differences'))" true
  expect 'tokens that differ are marked' "$(count_of '#corrupt-strip .differs')" 3
  check_access 'two texts'
  click '#pair-grid [data-place="1"]'
  wait_for "$(count_of '#carried-result .likely') === 12"
  expect 'a click on a cell patches that head' "$(text_of '#carried-result h2')" 'head 0.1'
  expect 'as the map says' "Number($(text_of '#carried-result .recovered b')) === Number($(text_of '#pair-grid [data-place="1"]'))" true
  expect 'both answers stand there three times' "$(count_of '.answers tbody td')" 6
  expect 'it is in the address' "new URLSearchParams(location.search).get('carry')" 0.1
  press down
  press enter
  wait_for "$(text_of '#carried-result h2') === 'head 1.1' && $(count_of '#carried-result .likely') === 12"
  check_access 'a patched head'
  js "(() => { const box = document.getElementById('carried'); box.value = 'resid_post'; box.dispatchEvent(new Event('change')); })()" >/dev/null
  wait_for "$(count_of '#pair-grid td') === 30"
  drag '#clean-strip button:nth-child(9)' '#corrupt-strip button:nth-child(3)'
  wait_for "$(text_of '#carried-result h2') === 'stream after layer 0: 8 c → 2 e' && $(count_of '#carried-result .likely') === 12"
  js "document.querySelector('#clean-strip button:nth-child(15)').focus()" >/dev/null
  js "(() => { const box = document.getElementById('carry-layer'); box.value = '1'; })()" >/dev/null
  press enter
  expect 'tokens of a text are one stop of Tab' "$(count_of '#clean-strip [tabindex="0"]')" 1
  expect 'a token is taken by keys' "document.querySelector('#clean-strip [aria-pressed=true]').title" 14
  js "document.querySelector('#corrupt-strip button:nth-child(15)').focus()" >/dev/null
  press enter
  wait_for "$(text_of '#carried-result h2') === 'stream after layer 1: 14 t → 14 t' && $(count_of '#carried-result .likely') === 12"
  expect 'the stream at the last token is all there is' "$(text_of '#carried-result .recovered b')" 1.00
  js 'location.reload()' >/dev/null
  wait_for "document.documentElement.dataset.ready && $(text_of '#carried-result .recovered b') === '1.00'"
  expect 'a link leads back to it' "new URLSearchParams(location.search).get('carry')" 'resid_post.1:14>14'
  js "(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()" >/dev/null
  expect 'the command puts out the token that the page says is next' \
    "$(copied_command_writes | sed -n 1p | sed 's/^the red dog sat//' | jq -R 'gsub(" "; "·")') === $(text_of '#carried-result .nexts div:last-child bdi')" true
  set_text clean 'a red cat sat'
  wait_for "/tokens/.test($(text_of '#pair-problem')) && $(count_of '#clean-strip button') === 13"
  drag '#clean-strip button:nth-child(13)' '#corrupt-strip button:nth-child(15)'
  wait_for "$(count_of '#carried-result .likely') === 12"
  expect 'texts of other lengths can be dragged from' "$(text_of '#carried-result h2')" 'stream after layer 1: 12 t → 14 t'
  expect 'and wholly' "$(text_of '#carried-result .recovered b')" 1.00
  expect 'that there is no map is still told' "/tokens/.test($(text_of '#pair-problem'))" true
  js 'location.reload()' >/dev/null
  wait_for "document.documentElement.dataset.ready && $(text_of '#carried-result .recovered b') === '1.00'"
  expect 'a link leads back to what was carried without a map' "/tokens/.test($(text_of '#pair-problem'))" true
}

# slow_down PATH MILLISECONDS: delays all later requests to PATH.
slow_down() {
  js "(() => { const real = window.fetch; window.fetch = async (path, ...rest) => {
    if (path === '$1') { await new Promise((resolve) => setTimeout(resolve, $2)); }
    return real(path, ...rest); }; })()" >/dev/null
}

forgets_old_texts() {
  open_site '?part=pair&clean=the+red+cat+sat&corrupt=the+red+dog+sat&answer=c&wrong=d'
  wait_for "$(count_of '#pair-grid td') === 4"
  slow_down /api/ablate 500
  click '#pair-grid [data-place="1"]'
  wait_for "$(text_of '#carried-result h2') === 'head 0.1'"
  set_text corrupt 'the red hog sat'
  expect 'another text takes back what was chosen' "$(count_of '#carried-result .hint')" 1
  sleep 1.5
  expect 'and its answer never comes' "$(count_of '#carried-result .hint')" 1
  expect 'without a word of that' "$(text_of '#pair-problem')" ''
}

watches() {
  open_part train
  wait_for "$(count_of '#chart .curve') === 2"
  expect 'the run and how far it is' "$(text_of '#state-0')" '12 steps'
  check_access 'training'
  echo '{"iteration":13,"loss":2.5,"learning_rate":0.001,"gradient_norm":1.0,"tokens":100,"seconds":0.1,"elapsed_seconds":2.0}' \
    >>"$work/runs/small/metrics.jsonl"
  wait_for "$(text_of '#state-0') === '13 steps'"
  echo '{"iteration":13,"text":"The cat sat"}' >>"$work/runs/small/samples.jsonl"
  wait_for "$(text_of '#sample-list blockquote') === 'The cat sat'"
}

outlives_servers() {
  mkdir "$work/runs/second"
  head -n 5 "$work/runs/small/metrics.jsonl" >"$work/runs/second/metrics.jsonl"
  wait_for "$(count_of '#runs li') === 2"
  expect 'a new run stands behind those that are known' "$(text_of '#runs li:last-child .key')" second
  expect 'and is not watched unasked' "$(count_of '#runs input:checked')" 1
  local port=${site##*:}
  stop_server
  wait "$server_pid" 2>/dev/null || true
  wait_for "$(text_of '#train-problem') === 'The server does not answer: this page shows old data.'"
  sed -n '$s/"iteration":13/"iteration":14/p' "$work/runs/small/metrics.jsonl" >>"$work/runs/small/metrics.jsonl"
  serve_model "$work/runs/small" "$port"
  wait_for "$(text_of '#state-0') === '14 steps'"
  expect 'a server that is back is followed again' "$(text_of '#train-problem')" ''
}

speaks_korean() {
  open_site '?lang=ko'
  expect 'the page is Korean' "document.documentElement.lang + $(text_of '#open-write')" 'ko쓰기'
  expect 'no word is missing' "[...document.querySelectorAll('[data-say]')].filter((node) => node.textContent === '' ||
    node.textContent === 'undefined').length" 0
}

takes_pictures() {
  mkdir -p "$pictures"
  [ -z "$pictured" ] || serve_model "$pictured"
  local shape language part
  for shape in '1280 900 light' '1280 900 dark' '390 800 light' '390 800 dark'; do
    stop_browser
    start_browser $shape
    for language in en ko; do
      for part in write heads layers pair train; do
        open_site "?part=$part&lang=$language&changes=$([ $part = pair ] || echo 0.1:off)&carried=resid_post&carry=resid_post.1:6%3E6"
        [ $part != write ] || click '#go'
        sleep 2
        [ $part != write ] || { js "document.querySelectorAll('.piece')[40]?.focus()" >/dev/null; sleep 1; }
        screenshot "$pictures/$part-$language-${shape// /-}.png"
        check_access "$part, $shape, $language"
      done
    done
  done
}

start_server
# The browser reaches only this machine.
browser_flags='["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]'
start_browser 1280 900 light
opens
writes
writes_with_switches
leaves_boxes
keeps_text
refuses_numbers
goes_back
warns_of_special_tokens
misses_the_server
classes_heads
switches_heads
multiplies_neurons
reads_layers
patches
forgets_old_texts
watches
outlives_servers
speaks_korean
# Errors of a stopped server are not faults of the page.
complaints=$(console | grep -v -e ' 400 (Bad Request)' -e 'net::ERR_' || true)
if [ -n "$complaints" ]; then
  failures=$((failures + 1))
  printf 'FAILED: the browser complains\n%s\n' "$complaints"
fi
[ -z "$pictures" ] || takes_pictures
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
