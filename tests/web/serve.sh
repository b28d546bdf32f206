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

hidden() { echo "String(document.querySelector('$1').hidden)"; }
open_part() {
  click "#open-$1"
  wait_for "!document.getElementById('part-$1').hidden"
}

start_server() {
  echo '{% for message in messages %}{{ message.content }} {% endfor %}' >"$work/chat.jinja"
  train_small
  serve_model "$work/runs/small"
}

serve_model() { # RUN [PORT]
  stop_server
  : >"$work/server.json"
  "$headlight" serve "$1" --chat_template "$work/chat.jinja" --runs "$(dirname "$1")" --port "${2:-0}" --json >"$work/server.json" 2>"$work/server.log" &
  server_pid=$!
  site=http://127.0.0.1:$(port_in "$work/server.json" '.*127\.0\.0\.1:\([0-9]*\).*')
}

open_site() { # QUERY
  load "$site/$1"
  wait_for 'document.documentElement.dataset.ready'
}

opens() {
  open_site ''
  expect 'the opening text leaves room in the block' "document.getElementById('text').value" 'One day, Nora lost her red'
  expect 'the answer field is empty if the default answer has several tokens' "document.getElementById('answer').value" ''
}

writes() {
  open_site ''
  set_text text 'The cat'
  click '#go'
  wait_for "$(count_of .piece) > 15 && document.getElementById('go').hidden === false"
  expect 'the given text is shown token by token too' "$(count_of '.piece.given')" 7
  js "document.querySelectorAll('.piece')[11].focus()" >/dev/null
  wait_for "$(count_of '#choices .adds .amount') > 0"
  expect 'a token lists ten alternatives' "$(count_of '#choices .likely')" 10
  expect 'a token shows the contribution of each head and MLP' "$(count_of '#choices .adds-map rect')" 6
  expect 'every token shows its probability' \
    "[...document.querySelectorAll('.piece')].slice(1).every((node) => /^[0-9<.]+/.test(node.dataset.probability))" true
  check_access 'writing'
  press left
  expect 'an arrow key moves to the next token' "document.activeElement.dataset.token" 10
  press right
  press enter
  expect 'Enter moves to the alternatives' "document.activeElement.className" likely
  press escape
  expect 'Escape returns to the token' "document.activeElement.dataset.token" 11
  press enter
  local other
  other=$(js "document.activeElement.querySelector('bdi').textContent")
  press enter
  wait_for "$(count_of .piece) > 15 && document.getElementById('go').hidden === false"
  expect 'the text is continued from the chosen alternative' \
    "document.querySelectorAll('.piece')[11].ariaLabel.split(' ')[0]" "$other"
  expect 'the chosen alternative has keyboard focus' "document.activeElement.dataset.token" 11
  expect 'the text before the alternative stays' "[...document.querySelectorAll('.piece.given')].map((node) => node.textContent).join('')" 'The cat'
  click '#keep'
  wait_for "document.getElementById('text').value !== 'The cat'"
  expect 'the generated text is kept as the text' "document.getElementById('text').value.startsWith('The cat') && document.getElementById('text').value.length > 12" true
  click '#clear'
  expect 'a click on Clear removes the generated text' "$(count_of .piece)" 0
  js "document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true}))" >/dev/null
  wait_for "$(count_of .piece) > 12 && document.getElementById('go').hidden === false"
  click '#clear'
  js "document.getElementById('go').focus()" >/dev/null
  press enter
  wait_for "$(count_of .piece) > 12 && document.getElementById('go').hidden === false"
  expect 'the keyboard focus stays on the button that starts and stops' "document.activeElement.id" go
}

set_change() { js "(() => { const box = document.getElementById('$1'); box.value = '$2'; box.dispatchEvent(new Event('change')); })()" >/dev/null; }

chats() {
  local answered="!document.getElementById('send').hidden && $(count_of .message)"
  open_site '?part=chat&answer_tokens=8'
  expect 'the chat has no text box of the other parts' "$(hidden '#text-box')" true
  set_text question 'Hi'
  click '#send'
  wait_for "$answered === 2"
  expect 'the question is shown' "$(text_of '.message.user .content')" 'Hi'
  expect 'the length and the speed of an answer are shown' "/^8 tokens, [0-9.]+ tokens\\/s, cut/.test($(text_of '#chat-speed'))" true
  local first
  first=$(js "$(text_of '.message.assistant .content')")
  click '#chat-retry'
  wait_for "$answered === 2 && $(text_of '.message.assistant .content').length > 0"
  expect 'a new answer has other random choices' "$(text_of '.message.assistant .content') === $(jq -n --arg t "$first" '$t')" false
  set_change chat-changes 'off 0.1'
  expect 'switches of the chat are listed' "$(text_of '#chat-switches')" 'Switches for generation: off 0.1'
  js "document.getElementById('question').focus()" >/dev/null
  set_text question 'And?'
  press enter
  wait_for "$answered === 4"
  click '#chat-undo'
  expect 'a question is removed with its answer' "$(count_of .message)" 2
  set_change chat-changes 'off 9.1'
  click '#chat-retry'
  wait_for "$(text_of '#chat-problem') !== ''"
  expect 'an invalid switch is reported' "$(text_of '#chat-problem').includes('intervene')" true
  click '#chat-clear'
  expect 'a click on Clear removes the conversation' "$(count_of .message)" 0
  expect 'without an added direction there is no slider' "String(document.getElementById('steering').parentNode.hidden)" true
  set_change chat-changes 'add resid_post.0 "a" - "b"*2'
  expect 'an added direction has a slider' "document.getElementById('steering').parentNode.hidden + document.getElementById('steering-value').textContent" 'false×2'
  js "(() => { const box = document.getElementById('steering'); box.value = -1.5; ['input', 'change'].forEach((name) => box.dispatchEvent(new Event(name))); })()" >/dev/null
  expect 'the slider changes the strength' "document.getElementById('chat-changes').value" 'add resid_post.0 "a" - "b"*-1.5'
  expect 'the next answer has that strength' "$(text_of '#chat-switches')" 'Switches for generation: add resid_post.0 "a" - "b"*-1.5'
  open_site '?part=chat&answer_tokens=50'
  set_text question 'Hi'
  click '#send'
  wait_for "$(text_of '.message.assistant .content')?.length > 0"
  first=$(js "(() => { const box = document.getElementById('chat-changes'); const before = $(text_of '.message.assistant .content');
    box.value = 'off layer.0'; box.dispatchEvent(new Event('change')); return before; })()")
  wait_for "$answered === 2"
  expect 'an answer goes on after switches change in its middle' \
    "$(text_of '.message.assistant .content').startsWith($(jq -n --arg t "$first" '$t')) && $(text_of '#chat-problem') === ''" true
  check_access 'chat'
}

refuses_numbers() {
  open_site '?text=Hi&max_tokens=5'
  js "(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()" >/dev/null
  local problem='Tokens: expected a whole number from 1 to 4096.'
  set_text max_tokens 99999
  click '#go'
  expect 'a number out of its range is refused' "$(text_of '#write-problem')" "$problem"
  expect 'nothing is generated with the previous number' "$(count_of .piece) + document.activeElement.id" 0max_tokens
  set_text max_tokens ''
  click '#copy'
  expect 'an empty number is refused and no command is copied' "$(text_of '#write-problem') + String(window.copied)" "${problem}undefined"
  set_text max_tokens 6
  expect 'a valid number removes the error' "$(text_of '#write-problem')" ''
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
  expect 'a token lists alternatives' "document.activeElement.className" likely
  press escape
  press enter
  press escape
  js "document.querySelectorAll('.piece')[2].focus()" >/dev/null
  press escape
  expect 'Escape that closes a box does not stop generation' "$(hidden '#choices') + $(hidden '#go')" truetrue
  press escape
  expect 'the next Escape stops generation' "$(hidden '#go')" false
}

keeps_text() {
  open_site '?text=Hi'
  local ids
  ids=($(ids_of ' at'))
  # The page recognises special tokens by id: 0 is no text, whatever its name.
  write_tokens "<s>:0" "▁a:${ids[1]}" "t:${ids[2]}" '</s>:0'
  expect 'special tokens are styled differently from text' "$(count_of '.piece.special')" 2
  click '#keep'
  wait_for "document.getElementById('text').value !== 'Hi'"
  expect 'special tokens are not kept in the text' "document.getElementById('text').value" at
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
  expect 'the switches are listed beside the text' "$(text_of '#write-switches')" 'Switches for generation: off 0.1; scale mlp.1 2'
  click '#go'
  wait_for "$(count_of .piece) > 10 && document.getElementById('go').hidden === false"
  local changed plain
  changed=$(written)
  checks=$((checks + 1))
  if [ "$(copied_command_writes)" != "$changed" ]; then
    failures=$((failures + 1))
    printf 'FAILED: the copied command generates another text than the page\n  %s\n  %s\n' "$changed" "$(copied_command_writes)"
  fi
  check_access 'writing with switches'
  click '#write-release'
  expect 'without switches the generated text still shows the switches that it was generated with' "$(text_of '#write-switches')" \
    'Generated with: off 0.1; scale mlp.1 2'
  expect 'released switches are removed from the address' "new URLSearchParams(location.search).get('changes')" null
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
  expect 'classes are found without a click' "$(count_of '.thumbnails')" 1
  wait_for "$(count_of '.thumbnails canvas') === 4"
  expect 'all thumbnails have a class' "[...document.querySelectorAll('.thumbnails button')].filter((node) => node.title.includes(': ')).length" 4
  expect 'all switches of heads have a class' "[...document.querySelectorAll('.cell')].filter((node) => node.title.includes(': ')).length" 4
  js "document.querySelector('.chip').click()" >/dev/null
  expect 'a class is switched as a whole' "document.querySelectorAll('.cell[aria-pressed=true]').length + ' ' +
    /\\((\\d)\\)/.exec($(text_of .chip))[1]" "$(js "(document.querySelectorAll('.cell[aria-pressed=true]').length + ' ').repeat(2).trim()")"
  js "(() => { document.querySelector('details').open = true; })()" >/dev/null
  set_text scored 'Another text for the classes. Another text for the classes.'
  expect 'the text for the classes is in the address' "new URLSearchParams(location.search).get('scored').slice(0, 7)" Another
  local questions="performance.getEntriesByType('resource').filter(({name}) => name.endsWith('/api/scores')).length"
  wait_for "$questions === 2 && /^Found: /.test($(text_of '#scoring-state')) && document.getElementById('scoring').hidden"
  expect 'the maps name the text that their classes come from' "$(hidden '#classed') + $(text_of '#classed-on')" \
    'falseClasses come from another text: Another text for the classes. Another text for the classes.'
  click '#class-this'
  wait_for "$questions === 3 && document.getElementById('classed').hidden && document.getElementById('scoring').hidden"
  expect 'one click classifies heads on the shown text' "document.getElementById('scored').value" \
    'The cat sat on the mat. The cat ran.'
  set_text text 'The cat sat on the mat. The dog ran.'
  expect 'after a change of the shown text the classes name the old one' "$(hidden '#classed') + $(text_of '#classed-on')" \
    'falseClasses come from another text: The cat sat on the mat. The cat ran.'
}

switches_heads() {
  open_site '?text=The+cat+sat+on+the+mat'
  open_part heads
  wait_for "$(count_of '.thumbnails button') === 4 && document.querySelectorAll('.cell').length === 6"
  wait_for "$(count_of '#next .likely') === 10"
  expect 'the loss of the text is shown' "/^Loss [0-9.]+ nats/.test($(text_of '#loss'))" true
  wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
  js "document.querySelector('#surprise [tabindex=\"0\"]').focus()" >/dev/null
  press right
  wait_for "/ nats/.test($(text_of '#tip'))"
  expect 'a focused token shows its loss' "document.activeElement.textContent + document.getElementById('tip').hidden" hfalse
  expect 'the switches are one Tab stop' "$(count_of '#board [tabindex="0"]')" 1
  js "document.querySelector('.cell[aria-label=\"head 0.1\"]').focus()" >/dev/null
  press down
  expect 'arrow keys move between the switches' "document.activeElement.ariaLabel" 'head 1.1'
  check_access 'heads'
  click '.cell[aria-label="head 0.1"]'
  wait_for "$(count_of '.thumbnails') === 2"
  expect 'a switch is in the address' "new URLSearchParams(location.search).get('changes')" '0.1:off'
  expect 'the loss changes' "/→/.test($(text_of '#loss'))" true
  expect 'heads above the switched one are marked as changed' \
    "Number.parseFloat(document.querySelector('.cell[aria-label=\"head 1.0\"]').style.getPropertyValue('--shift')) > 0" true
  expect 'heads beside the switched one are not marked as changed' \
    "Number.parseFloat(document.querySelector('.cell[aria-label=\"head 0.0\"]').style.getPropertyValue('--shift'))" 0
  local loss
  loss=$(js "$(text_of '#loss')")
  js 'location.reload()' >/dev/null
  wait_for "document.documentElement.dataset.ready && $(count_of '.thumbnails') === 2"
  wait_for "document.querySelector('#loss').textContent !== ''"
  expect 'reloading the address restores the loss' "$(text_of '#loss')" "$loss"
  expect 'reloading the address restores the switch' "document.querySelector('.cell[aria-label=\"head 0.1\"]').ariaPressed" true
  set_text text 'The dog sat on the mat and ran'
  wait_for "$(text_of '#loss') !== '$loss'"
  for kind in mean freeze scale; do
    click "#tool-$kind"
    click '.cell[aria-label="head 1.1"]'
    wait_for "document.querySelector('.cell[aria-label=\"head 1.1\"]').dataset.change === '$kind'"
  done
  sleep 0.5
  expect 'the server accepts every kind of switch' "$(text_of '#heads-problem')" ''
  click '#release'
  wait_for "$(count_of '.thumbnails') === 1"
  click '#tab-neuron'
  wait_for "$(count_of '.neurons')"
  expect 'the neuron view shows no error' "$(text_of '#heads-problem')" ''
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
  expect 'a warning names a special token that is read as plain text' \
    "$(text_of '#warnings').includes('<|endoftext|>')" true
  js "(() => { const text = document.getElementById('text'); text.value = 'Hi';
    text.dispatchEvent(new Event('input')); })()" >/dev/null
  wait_for "/^Found: /.test($(text_of '#scoring-state'))"  # the classes of the opening text, in the background
  expect 'the warning leaves with its text' "$(hidden '#warnings')" true
}

misses_the_server() {
  open_site '?text=Hi'
  js "(() => { window.fetch = async () => { throw new TypeError('Failed to fetch'); }; })()" >/dev/null
  click '#go'
  wait_for "$(text_of '#write-problem') !== ''"
  expect 'a missing server is reported' "$(text_of '#write-problem')" \
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
  expect 'the lens has a column for every token' "$(count_of '#lens thead th') === $(count_of '#lens tbody tr:first-child td')" true
  point '#lens tbody td:nth-of-type(2)'
  point '#lens tbody td:nth-of-type(3)'
  wait_for "!document.getElementById('tip').hidden"
  expect 'the tip of a cell lists five tokens' "$(count_of '#tip .tip-row')" 5
  js "document.querySelector('#lens [tabindex=\"0\"]').focus()" >/dev/null
  press down
  press right
  wait_for "!document.getElementById('tip').hidden"
  expect 'arrow keys move between cells' "(({parentNode: row, cellIndex}) => [row.rowIndex, cellIndex].join())(document.activeElement)" 2,2
  expect 'a focused cell shows the same tip' "$(count_of '#tip .tip-row')" 5
  expect 'the cells are one Tab stop' "$(count_of '#lens [tabindex="0"]')" 1
  check_access 'layers'
}

patches() {
  open_site '?part=pair&clean=the+red+cat+sat&corrupt=the+red+dog+sat&answer=c&wrong=d'
  wait_for "$(count_of '#pair-grid td') === 4"
  expect 'the logit differences of both texts are shown' "/first text -?[0-9.]+/.test($(text_of '#differences'))" true
  expect 'tokens that differ are marked' "$(count_of '#corrupt-strip .differs')" 3
  check_access 'two texts'
  click '#pair-grid [data-place="1"]'
  wait_for "$(count_of '#carried-result .likely') === 12"
  expect 'a click on a cell patches that head' "$(text_of '#carried-result h2')" 'head 0.1'
  expect 'the result of the patch equals the value in the map' "Number($(text_of '#carried-result .recovered b')) === Number($(text_of '#pair-grid [data-place="1"]'))" true
  expect 'both answers are listed for three runs' "$(count_of '.answers tbody td')" 6
  expect 'the patched head is in the address' "new URLSearchParams(location.search).get('carry')" 0.1
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
  expect 'tokens of a text are one Tab stop' "$(count_of '#clean-strip [tabindex="0"]')" 1
  expect 'a token can be picked with the keyboard' "document.querySelector('#clean-strip [aria-pressed=true]').title" 14
  js "document.querySelector('#corrupt-strip button:nth-child(15)').focus()" >/dev/null
  press enter
  wait_for "$(text_of '#carried-result h2') === 'stream after layer 1: 14 t → 14 t' && $(count_of '#carried-result .likely') === 12"
  expect 'patching the last stream at the last token recovers everything' "$(text_of '#carried-result .recovered b')" 1.00
  js 'location.reload()' >/dev/null
  wait_for "document.documentElement.dataset.ready && $(text_of '#carried-result .recovered b') === '1.00'"
  expect 'reloading the address restores the patch' "new URLSearchParams(location.search).get('carry')" 'resid_post.1:14>14'
  js "(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()" >/dev/null
  expect 'the copied command prints the next token shown on the page' \
    "$(copied_command_writes | sed -n 1p | sed 's/^the red dog sat//' | jq -R 'gsub(" "; "·")') === $(text_of '#carried-result .nexts div:last-child bdi')" true
  set_text clean 'a red cat sat'
  wait_for "/tokens/.test($(text_of '#pair-problem')) && $(count_of '#clean-strip button') === 13"
  drag '#clean-strip button:nth-child(13)' '#corrupt-strip button:nth-child(15)'
  wait_for "$(count_of '#carried-result .likely') === 12"
  expect 'tokens can be dragged between texts of different lengths' "$(text_of '#carried-result h2')" 'stream after layer 1: 12 t → 14 t'
  expect 'patching the last token between texts of different lengths recovers everything' "$(text_of '#carried-result .recovered b')" 1.00
  expect 'the note that there is no map is still shown' "/tokens/.test($(text_of '#pair-problem'))" true
  js 'location.reload()' >/dev/null
  wait_for "document.documentElement.dataset.ready && $(text_of '#carried-result .recovered b') === '1.00'"
  expect 'reloading the address restores a patch without a map' "/tokens/.test($(text_of '#pair-problem'))" true
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
  slow_down /api/predict 500
  click '#pair-grid [data-place="1"]'
  wait_for "$(text_of '#carried-result h2') === 'head 0.1'"
  set_text corrupt 'the red hog sat'
  expect 'a change of the text clears the chosen patch' "$(count_of '#carried-result .hint')" 1
  sleep 1.5
  expect 'a late answer to the cleared patch is ignored' "$(count_of '#carried-result .hint')" 1
  expect 'a late answer to the cleared patch causes no error' "$(text_of '#pair-problem')" ''
}

watches() {
  open_part train
  wait_for "$(count_of '#chart .curve') === 2"
  expect 'the run and its number of steps are shown' "$(text_of '#state-0')" '12 steps'
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
  expect 'a new run is listed after the known ones' "$(text_of '#runs li:last-child .key')" second
  expect 'a new run is not watched by default' "$(count_of '#runs input:checked')" 1
  local port=${site##*:}
  stop_server
  wait "$server_pid" 2>/dev/null || true
  wait_for "$(text_of '#train-problem') === 'The server does not answer: this page shows old data.'"
  sed -n '$s/"iteration":13/"iteration":14/p' "$work/runs/small/metrics.jsonl" >>"$work/runs/small/metrics.jsonl"
  serve_model "$work/runs/small" "$port"
  wait_for "$(text_of '#state-0') === '14 steps'"
  expect 'the page reconnects to a restarted server' "$(text_of '#train-problem')" ''
}

speaks_korean() {
  open_site '?lang=ko'
  expect 'the page is Korean' "document.documentElement.lang + $(text_of '#open-write')" 'ko쓰기'
  expect 'no Korean text is missing' "[...document.querySelectorAll('[data-say]')].filter((node) => node.textContent === '' ||
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
      for part in write chat heads layers pair train; do
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
chats
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
# Errors of a server that is stopped, stops or loads its models are not faults of the page.
complaints=$(console | grep -v -e ' 400 (Bad Request)' -e ' 503 (Service Unavailable)' -e 'net::ERR_' || true)
if [ -n "$complaints" ]; then
  failures=$((failures + 1))
  printf 'FAILED: the browser logs errors\n%s\n' "$complaints"
fi
[ -z "$pictures" ] || takes_pictures
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
