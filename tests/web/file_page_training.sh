#!/usr/bin/env bash
# Tests the training tab of a page of `headlight page --train` in headless Chromium, from the disk and without a
# network: a small model learns, is explored, and its downloaded run opens in `headlight`. Exits with 77 (skipped) if
# chromium, chromedriver, curl, jq, unzip or the WebAssembly build is missing.
# usage: file_page_training.sh HEADLIGHT [PICTURES]
#   PICTURES   directory for screenshots
# Environment variable AXE: path of axe-core's axe.min.js, which must find no problem.
set -euo pipefail
for program in chromium chromedriver curl jq unzip; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$1
engine=${HEADLIGHT_ENGINE:-$(dirname "$headlight")/../wasm}
[ -e "$engine/headlight.wasm.gz" ] || { echo "skipped: no WebAssembly build in $engine"; exit 77; }
pictures=${2:-}
work=$(mktemp -d)
. "$here/webdriver.sh"
trap 'stop_browser; rm -rf "$work"' EXIT

picture() { [ -z "$pictures" ] || { mkdir -p "$pictures"; sleep 1; screenshot "$pictures/$1.png"; }; }
shown_tabs="[...document.querySelectorAll('#parts [role=tab]')].filter((tab) => !tab.hidden).map(({id}) => id.slice(5)).join()"
is_training="!document.getElementById('train_stop').hidden"
state=$(text_of '#training-state')

# sizes STEPS WIDTH: fills the form.
sizes() { set_text train-max_iters "$1"; set_text train-n_embd "$2"; }

trains() {
  "$headlight" page --train --engine "$engine" --log_level error --out "$work/learn.html" >/dev/null
  open_page "$work/learn.html"
  expect 'a page without a model has the training tab alone' "$shown_tabs" train
  expect 'the page names no option of the server' "document.getElementById('part-train').innerText.includes('--')" false
  expect 'the text is the English part of the toy corpus' "/[가-힣]/.test(document.getElementById('training-text').value)" false
  check_access 'the form'
  picture train_form
  sizes 200 32
  click '#train_start'
  wait_for "$is_training && /^[0-9]+ \/ 200 steps/.test($state)"
  wait_for "document.querySelectorAll('#chart .curve').length === 2 && $(count_of '#birth-chart .curve') === 8 && $(count_of '#sample-list .sample') === 3"
  picture training
  wait_for "!($is_training)"
  expect 'all steps were made' "/^200 \/ 200 steps/.test($state)" true
  expect 'the loss falls' "Number($state.match(/· loss ([0-9.]+)/)[1]) < 3" true
  expect 'there is no error' "$(text_of '#training-problem')" ''
  wait_for "$shown_tabs === 'write,chat,heads,layers,pair,train'"
  expect 'the model has a name' "document.getElementById('model').value" trained-1
  check_access 'a trained model'
  picture trained
}

explores() {
  click '#train_explore'
  wait_for "$(count_of '.thumbnails button') >= 8 && $(count_of '#next .likely') === 10"
  wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
  click '.cell[aria-label="head 0.1"]'
  wait_for "/→/.test($(text_of '#loss'))"
  expect 'there is no error' "$(text_of '#heads-problem')" ''
  picture trained_heads
  click '#open-write'
  click '#go'
  wait_for "$(count_of .piece) > 25 && document.getElementById('go').hidden === false"
  expect 'the model writes' "$(text_of '#write-problem')" ''
  click '#open-layers'
  wait_for "$(count_of '#lens tbody tr') >= 3"
}

downloads() {
  click '#open-train'
  js "(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => {
    const reader = new FileReader(); reader.onload = () => { window.saved = reader.result.split(',')[1]; }; reader.readAsDataURL(blob);
    return make.call(URL, blob); }; })()" >/dev/null
  click '#train_save'
  wait_for 'window.saved !== undefined'
  js 'window.saved' | base64 -d >"$work/trained-1.zip"
  (cd "$work" && unzip -q trained-1.zip)
  checks=$((checks + 2))
  "$headlight" info "$work/trained-1" >/dev/null || failures=$((failures + 1))
  [ "$("$headlight" generate "$work/trained-1" --prompt One --max_new_tokens 20 --log_level error | wc -c)" -gt 20 ] || failures=$((failures + 1))
}

stops() {
  sizes 100000 64
  click '#train_start'
  wait_for "$is_training && /^[1-9][0-9]* \/ 100000 steps/.test($state)"
  click '#train_stop'
  wait_for "!($is_training) && document.getElementById('model').value === 'trained-2'"
  expect 'both models are there' "[...document.getElementById('model').options].map(({value}) => value).join()" trained-1,trained-2
}

refuses() {
  set_text training-text 'too short'
  click '#train_start'
  wait_for "$(text_of '#training-problem') !== ''"
  expect 'a text that is too short gets one line' "/expected/.test($(text_of '#training-problem'))" true
  expect 'the form is ready again' "$is_training" false
}

# A page with a model: the model answers at first, a trained one later.
with_model() {
  "$headlight" page "$work/trained-1" --train --views heads --data "$here/../../data/stories/heads.ko.md" --engine "$engine" --log_level error \
    --out "$work/both.html" >/dev/null
  open_page "$work/both.html?lang=ko&part=train"
  expect 'the tabs are those of --views and training' "$shown_tabs" heads,train
  sizes 20 16
  set_text train-block_size 16
  click '#train_start'
  wait_for "[...document.getElementById('model').options].map(({value}) => value).join() === 'trained-1,trained-2'"
  picture trained_ko
  expect 'there is no error' "$(text_of '#training-problem')" ''
}

start_browser 1280 1100 light
trains
explores
downloads
stops
refuses
with_model
complaints=$(console || true)
if [ -n "$complaints" ]; then
  failures=$((failures + 1))
  printf 'FAILED: the browser logs errors\n%s\n' "$complaints"
fi
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
