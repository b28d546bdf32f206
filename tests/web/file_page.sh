#!/usr/bin/env bash
# Tests a page of `headlight page` in headless Chromium, from the disk and without a network: types,
# switches a head off, patches, generates; then in Firefox, if it and node are installed. Exits with 77 (skipped) if
# chromium, chromedriver, curl or jq is missing. Without a WebAssembly build, the page has the program of docs/demo.html.
# usage: file_page.sh HEADLIGHT [PICTURES [MODEL]]
#   PICTURES   directory for screenshots
#   MODEL      model of the page; default: a small one trained here
# Environment variable AXE: path of axe-core's axe.min.js, which must find no problem in any part.
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$(realpath "$1")  # commands run in another folder
engine=${HEADLIGHT_ENGINE:-$(dirname "$headlight")/../wasm}
# Packages make pages with the program of docs/demo.html, which must answer what the page asks.
[ -e "$engine/headlight.wasm.gz" ] || engine=$here/../../docs/demo.html
pictures=${2:-}
model=${3:-}
work=$(mktemp -d)
. "$here/webdriver.sh"
site_pid=
trap 'stop_browser; [ -z "$site_pid" ] || kill "$site_pid" 2>/dev/null || true; rm -rf "$work"' EXIT

picture() { [ -z "$pictures" ] || { mkdir -p "$pictures"; sleep 1; screenshot "$pictures/$1.png"; }; }

make_page() {
  if [ -z "$model" ]; then
    train_small
    model=$work/runs/small
  fi
  "$headlight" page "$model" --text 'The cat sat on the mat' --weights int8 --engine "$engine" --log_level error --out "$work/demo.html" >/dev/null
}

opens() {
  open_page "$work/demo.html"
  expect 'the opening text is that of --text' "document.getElementById('text').value" 'The cat sat on the mat'
  expect 'the model has the name of its folder' "document.getElementById('model').value" "$(basename "$model")"
  expect 'training has no tab' "document.getElementById('open-train').hidden" true
}

writes() {
  click '#go'
  wait_for "$(count_of .piece) > 25 && document.getElementById('go').hidden === false"
  expect 'every token shows its probability' \
    "[...document.querySelectorAll('.piece')].slice(1).every((node) => /^[0-9<.]+/.test(node.dataset.probability))" true
  expect 'there is no error' "$(text_of '#write-problem')" ''
  check_access 'writing'
  picture write
}

switches_heads() {
  open_page "$work/demo.html?part=heads"
  wait_for "$(count_of '.thumbnails button') >= 4 && $(count_of '#next .likely') === 10"
  wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
  set_text text 'The dog sat on the mat and ran'
  wait_for "document.querySelectorAll('#surprise [tabindex]').length > 10"
  click '.cell[aria-label="head 0.1"]'
  wait_for "$(count_of '.thumbnails') === 2"
  expect 'the loss changes' "/→/.test($(text_of '#loss'))" true
  expect 'a switch is in the address' "new URLSearchParams(location.search).get('changes')" '0.1:off'
  expect 'there is no error' "$(text_of '#heads-problem')" ''
  check_access 'heads'
  picture heads
}

patches() {
  open_page "$work/demo.html?part=pair&clean=the+red+cat+sat&corrupt=the+red+dog+sat&answer=c&wrong=d"
  wait_for "$(count_of '#pair-grid td') >= 4"
  click '#pair-grid [data-place="1"]'
  wait_for "$(count_of '#carried-result .likely') === 12"
  expect 'the result of the patch equals the value in the map' \
    "Number($(text_of '#carried-result .recovered b')) === Number($(text_of '#pair-grid [data-place="1"]'))" true
  expect 'there is no error' "$(text_of '#pair-problem')" ''
  check_access 'two texts'
  picture pair
}

reads_layers() {
  open_page "$work/demo.html?part=layers"
  wait_for "$(count_of '#lens tbody tr') >= 3"
  check_access 'layers'
  picture layers
}

# Serves a page whose model is in a second file, and opens it. From the disk it names the web server.
opens_from_server() {
  mkdir "$work/site"
  local bytes log=$work/site.log
  "$headlight" page "$model" --separate --engine "$engine" --log_level error --out "$work/site/a demo.html" >/dev/null
  opens_with_problem "$work/site/a%20demo.html" 'python3 -m http.server'
  (cd "$work/site" && exec python3 -u -m http.server 0 --bind 127.0.0.1) >"$log" 2>&1 &
  site_pid=$!
  local site=http://127.0.0.1:$(port_in "$log" '.*127\.0\.0\.1 port \([0-9]*\) .*')
  load "$site/a%20demo.html?part=heads"
  wait_for "document.documentElement.dataset.ready && $(count_of '#next .likely') === 10"
  wait_for "/^Found: [0-9]/.test($(text_of '#scoring-state'))"
  expect 'the progress bar has gone' "document.getElementById('loading').hidden" true
  expect 'the page loads only its model' \
    "[...new Set(performance.getEntriesByType('resource').map(({name}) => name).filter((name) => !name.startsWith('blob:')).map((name) => name.replace(/[?].*/, '')))].join()" "$site/a%20demo.bin"
  js "(() => { window.refused = ''; addEventListener('securitypolicyviolation', ({violatedDirective}) => { window.refused = violatedDirective; });
    fetch('http://127.0.0.2/').catch(() => {}); })()" >/dev/null
  wait_for "window.refused === 'connect-src'"
  bytes=$(stat -c %s "$work/site/a demo.bin")
  truncate -s $((bytes - 10)) "$work/site/a demo.bin"
  lacks_model "$site"
  rm "$work/site/a demo.bin"
  lacks_model "$site"
  kill "$site_pid"
}

lacks_model() {
  load "$1/a%20demo.html"
  wait_for "document.querySelector('p.problem[role=status]')?.textContent"
  expect 'a page without its model says so' "document.querySelector('p.problem[role=status]').textContent.includes('a demo.bin must be beside this page')" true
}

# Runs the copied command of each part, and saves each view as a picture.
saves_and_copies() {
  local part command
  for part in write heads layers pair; do
    open_page "$work/demo.html?part=$part&text=The+cat's+%22mat%22&changes=0.1:off,1.0:scale0.5&clean=the+red+cat+sat&corrupt=the+red+dog+sat&answer=c&wrong=d&max_tokens=5"
    js "(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; window.saved = []; const real = URL.createObjectURL;
      URL.createObjectURL = (blob) => blob.type.startsWith('image/') ? (window.saved.push(blob), 'data:,') : real.call(URL, blob);
      HTMLAnchorElement.prototype.click = function () { window.name_of_picture = this.download; }; })()" >/dev/null
    [ "$part" != write ] || { click '#go'; wait_for "$(count_of .piece) > 8 && !document.getElementById('go').hidden"; }
    [ "$part" != pair ] || wait_for "$(count_of '#pair-grid td') >= 4"
    [ "$part" != layers ] || wait_for "$(count_of '#lens tbody tr') >= 3"
    [ "$part" != heads ] || wait_for "$(count_of '.thumbnails button') >= 4"
    click '#copy'
    wait_for 'window.copied'
    command=$(js 'window.copied')
    checks=$((checks + 1))
    if ! (cd "$work" && eval "$(sed "s,^headlight,\"$headlight\"," <<<"$command")" --log_level error >"$work/copied.out" 2>&1); then
      failures=$((failures + 1))
      printf 'FAILED: the copied command does not run\n  %s\n' "$command"
      tail -3 "$work/copied.out"
    fi
    for form in 1 2; do
      js "document.querySelectorAll('#part-$part .picture button')[$form - 1].dispatchEvent(new Event('click'))" >/dev/null
      wait_for "window.saved.length === $form"
    done
    expect 'the picture has the name of the view' 'window.name_of_picture' "$(basename "$model")-$part.png"
    expect 'a view is saved as SVG and PNG' "window.saved.map(({type, size}) => type + (size > 600)).join()" 'image/svg+xmltrue,image/pngtrue'
    [ -z "$pictures" ] || save_pictures "$part"
  done
}

save_pictures() {
  js "Promise.all(window.saved.map((blob) => new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result.split(',')[1]); reader.readAsDataURL(blob); }))).then((all) => all.join())" >"$work/saved.txt"
  cut -d, -f1 "$work/saved.txt" | base64 -d >"$pictures/saved_$1.svg"
  cut -d, -f2 "$work/saved.txt" | base64 -d >"$pictures/saved_$1.png"
}

# opens_with_problem FILE TEXT: opens a page that cannot work, and checks its line.
opens_with_problem() {
  load "file://$1"
  wait_for "document.querySelector('p.problem[role=status]')?.textContent"
  expect "a page with a fault says so" "document.querySelector('p.problem[role=status]').textContent.includes('$2')" true
}

names_faults() {
  head -c -200 "$work/demo.html" >"$work/cut.html"
  opens_with_problem "$work/cut.html" 'This file is incomplete'
  sed "s/^'use strict';$/&WebAssembly.validate = () => false;/" "$work/demo.html" >"$work/old.html"
  opens_with_problem "$work/old.html" 'This browser is too old'
  sed 's/"bytes":[0-9]*/"bytes":1e15/' "$work/demo.html" >"$work/large.html"
  opens_with_problem "$work/large.html" 'more memory'
}

# A presentation: keys and buttons move, the address holds the step, and views change with it.
presents() {
  cat >"$work/story.md" <<'END'
# A test

`?text=The+cat+sat`

## First

`?part=heads#grid/0.1`

One.

## Second

`?part=heads&text=The+dog&changes=1.0:off#model/1.1/3`

Two.

## Third

`?part=layers`

Three.
END
  "$headlight" page "$model" --story "$work/story.md" --views layers,heads --engine "$engine" --log_level error --out "$work/story.html" >/dev/null
  open_page "$work/story.html"
  local place="$(text_of '#story-place')"
  wait_for "$place === '1 / 3' && $(count_of '.view-grid') === 1"
  expect 'a step shows its heading and sentences' "$(text_of '#story-title') + $(text_of '#story-text')" FirstOne.
  expect 'a step shows its text' "document.getElementById('text').value" 'The cat sat'
  expect 'the first step has no step before it' "document.getElementById('story_previous').disabled" true
  expect 'the tabs are hidden' "document.getElementById('parts').checkVisibility()" false
  check_access 'a step'
  press right
  wait_for "$place === '2 / 3' && $(count_of '#stage.view-model') === 1 && /→/.test($(text_of '#next .amount'))"
  expect 'the address holds the step' "location.search + location.hash" '?step=2#model/1.1/3'
  expect 'a step switches its heads off' "document.querySelector('.cell[aria-label=\"head 1.0\"]').ariaPressed" true
  picture story
  click '#story_next'
  wait_for "$place === '3 / 3' && $(count_of '#lens tbody tr') >= 3"
  expect 'a step without its own text has that of all steps' "document.getElementById('text').value" 'The cat sat'
  js 'history.back()' >/dev/null
  wait_for "$place === '2 / 3' && location.search === '?step=2'"
  press left
  wait_for "$place === '1 / 3'"
  open_page "$work/story.html?step=3&lang=ko"
  wait_for "$place === '3 / 3' && $(count_of '#lens tbody tr') >= 3"
  expect 'the language of the address stays' "document.getElementById('story_next').textContent + location.search" '다음?step=3&lang=ko'
  click '#story_leave'
  wait_for "document.getElementById('parts').checkVisibility() && document.getElementById('story').hidden"
  expect 'only parts of --views have tabs' "[...document.querySelectorAll('#parts [role=tab]')].filter((tab) => !tab.hidden).map(({id}) => id).join()" open-heads,open-layers
  check_access 'the page after a story'
  expect 'there is no error' "$(text_of '#heads-problem') + $(text_of '#layers-problem')" ''
}

make_page
browser_flags='["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]'  # the server of opens_from_server
start_browser 1280 900 light
opens
writes
switches_heads
patches
reads_layers
saves_and_copies
presents
complaints=$(console || true)
if [ -n "$complaints" ]; then
  failures=$((failures + 1))
  printf 'FAILED: the browser logs errors\n%s\n' "$complaints"
fi
sends_nothing
names_faults
! command -v python3 >/dev/null || opens_from_server
if command -v firefox-esr >/dev/null && command -v node >/dev/null; then
  node "$here/file_page_firefox.mjs" firefox-esr "$work/demo.html" || failures=$((failures + 1))
fi
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
