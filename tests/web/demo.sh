#!/usr/bin/env bash
# Tests docs/demo.html in headless Chromium, from the disk and without a network: all steps of the story in both
# languages with the keys alone, on a telephone, switches of heads, two texts, printing, and the places that
# docs/class.md names. Exits with 77 (skipped) if chromium, chromedriver, curl or jq is missing.
# usage: demo.sh [PAGE [PICTURES]]
#   PAGE       another page of tools/make_demo.sh
#   PICTURES   directory for screenshots of all steps and parts: light and dark, wide and narrow, printed, and as
#              readers with three kinds of colour blindness see them
# Environment variable AXE: path of axe-core's axe.min.js, which must find no problem in any step or part.
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
docs=$(realpath "$here/../../docs")
page=$(realpath "${1:-$docs/demo.html}")
pictures=${2:-}
parts=(heads pair layers write)
work=$(mktemp -d)
. "$here/webdriver.sh"
trap 'stop_browser; rm -rf "$work"' EXIT
place=$(text_of '#story-place')
steps=$(grep -c '^## ' "$here/../../data/stories/heads.md")

# JavaScript: the open part shows its answers, and no part shows a problem.
is_shown="((part, some) => ![...document.querySelectorAll('.problem')].some(({textContent}) => textContent) && {
  heads: some('#next .likely') === 10 && some('#stage canvas') > 0, layers: some('#lens tbody tr') >= 3,
  pair: some('#carried-result .likely') === 12, write: some('#go') === 1}[part])(
  document.querySelector('main > section[role=tabpanel]:not([hidden])').id.slice(5),
  (selector) => document.querySelectorAll(selector).length)"
fits="document.documentElement.scrollWidth <= innerWidth"

# open_at ADDRESS: opens the page at a query with its fragment.
open_at() { load "file://$page$1"; wait_for "document.documentElement.dataset.ready"; }

picture() { [ -z "$pictures" ] || { mkdir -p "$pictures"; sleep 1; screenshot "$pictures/$1.png"; }; }

# tab_to SELECTOR: presses Tab until an element has the focus.
tab_to() {
  for _ in $(seq 80); do
    press tab
    [ "$(js "document.activeElement.matches('$1')")" = true ] && return
  done
  expect "Tab reaches $1" false true
}

is_small() {
  expect 'the page has at most 2.5 MB' "$(stat -c %s "$page") <= 2500000" true
  local links
  links=$(grep -acoE '<(link|script|img|iframe)[^>]* (src|href)="[^d#]' "$page" || true)
  expect 'the page names no other file' "$links" 0
}

# walks LANGUAGE NAME: opens all steps of the story with the right arrow key.
walks() {
  local step
  open_at "?lang=$1"
  for step in $(seq "$steps"); do
    wait_for "$place === '$step / $steps' && $is_shown"
    expect "step $step ($1) fits into the window" "$fits" true
    expect "step $step ($1) is in its language" "/[가-힣]/.test($(text_of '#story-text'))" "$([ "$1" = ko ] && echo true || echo false)"
    check_access "step $step ($1)"
    picture "step${step}_$1_$2"
    press right
  done
}

switches_language() {
  open_at '?step=2'
  expect 'the page has the language of the browser' 'document.documentElement.lang' en
  click '#story-language'
  wait_for "document.documentElement.dataset.ready && $place === '2 / $steps' && $is_shown"
  expect 'the link opens the same step in the other language' "/[가-힣]/.test($(text_of '#story-title'))" true
  cdp Network.setUserAgentOverride '{"userAgent": "Korean", "acceptLanguage": "ko-KR"}' >/dev/null
  open_at ''
  expect 'a Korean browser opens the page in Korean' 'document.documentElement.lang' ko
  cdp Network.setUserAgentOverride '{"userAgent": "English", "acceptLanguage": "en-US"}' >/dev/null
}

# Leaves the story, switches a head off and opens two texts, all with the keyboard.
explores_with_keys() {
  open_at ''
  wait_for "$is_shown"
  tab_to '#story_leave'
  press enter
  wait_for "document.getElementById('parts').checkVisibility()"
  tab_to '#board button'
  press right
  press down
  press enter
  wait_for "/→/.test($(text_of '#loss')) && $(count_of '.heat') === 2"
  expect 'a switch is in the address' "new URLSearchParams(location.search).get('changes')" '1.0:off'
  tab_to '#release'
  press enter
  wait_for "$(count_of '.heat') === 1"
  js "document.getElementById('link').focus()" >/dev/null
  tab_to '#open-heads'
  press right
  press right
  wait_for "$(count_of '#pair-grid td') >= 4"
  tab_to '#pair-grid td'
  press right
  press enter
  wait_for "$is_shown"
  check_access 'two texts'
}

# shows_parts NAME
shows_parts() {
  local part
  for part in "${parts[@]}"; do
    open_at "?step=0&part=$part&carry=0.1"
    wait_for "$is_shown"
    [ "$part" != write ] || { click '#go'; wait_for "$(count_of .piece) > 25 && !document.getElementById('go').hidden"; }
    expect "part $part fits into the window" "$fits" true
    check_access "part $part"
    picture "part_${part}_$1"
  done
}

# Every place that the class's hour names is there: addresses, and labels in bold letters.
has_places_of_class() {
  local language file address label
  for language in en ko; do
    file=$docs/class.md
    [ "$language" = en ] || file=$docs/class.$language.md
    while IFS= read -r address; do
      open_at "$address&lang=$language"
      wait_for "$is_shown"
    done < <(grep -o '`?[^`]*`' "$file" | tr -d '`' | sort -u)
    open_at "?step=1&lang=$language"
    while IFS= read -r label; do
      expect "the page has $label ($language)" "[...document.querySelectorAll('button')]
        .some(({textContent}) => textContent.trim() === '$label')" true
    done < <(sed 's/^- \*\*[^*]*\*\*//' "$file" | grep -o '\*\*[^*]*\*\*' | tr -d '*' | sort -u)
  done
}

# prints SCHEME: when the page is printed, its colours are those of paper.
prints() {
  local print=$pictures/print_$1
  open_at '?step=1'
  wait_for "$is_shown"
  js "void matchMedia('print').addEventListener('change', ({matches}) => { if (matches) {
    window.printed = [document.body, document.getElementById('story-text')].map((node) => getComputedStyle(node))
      .map((style, i) => i ? style.color : style.backgroundColor).join(); } })" >/dev/null
  cdp Page.printToPDF '{"printBackground": true}' >"$work/print.json"
  expect "the page prints dark text on white ($1)" 'window.printed' 'rgb(255, 255, 255),rgb(27, 30, 43)'
  [ -z "$pictures" ] || jq -r .data "$work/print.json" | base64 -d >"$print.pdf"
}

# Lightness alone orders the colours of weights.
orders_without_hues() {
  expect 'the colours of weights get darker (or, in the dark, lighter) from 0 to 1' "(() => {
    const {data} = document.getElementById('legend').getContext('2d').getImageData(0, 0, 256, 1);
    const light = Array.from({length: 256}, (_, i) => 0.2126 * data[4 * i] + 0.7152 * data[4 * i + 1] + 0.0722 * data[4 * i + 2]);
    const sign = Math.sign(light[255] - light[0]);
    return light.every((value, i) => i < 8 || sign * (value - light[i - 8]) > 0); })()" true
}

takes_pictures_without_colours() {
  local sight
  for sight in protanopia deuteranopia tritanopia achromatopsia; do
    cdp Emulation.setEmulatedVisionDeficiency "{\"type\": \"$sight\"}" >/dev/null
    for part in heads pair layers; do
      open_at "?step=0&part=$part&carry=0.1&changes=1.0:off"
      wait_for "$is_shown"
      picture "${sight}_$part"
    done
  done
}

complains_not() {
  local complaints
  complaints=$(console || true)
  expect "the browser logs no errors: ${complaints//\'/}" "$([ -z "$complaints" ] && echo true || echo false)" true
}

start_browser 1280 900 light
open_at ''
is_small
walks en wide
walks ko wide
switches_language
explores_with_keys
shows_parts wide
has_places_of_class
prints light
open_at '?step=0&part=heads'
wait_for "$is_shown"
orders_without_hues
[ -z "$pictures" ] || takes_pictures_without_colours
complains_not
sends_nothing
stop_browser
start_browser 375 720 dark
walks en phone
walks ko phone
shows_parts phone
prints dark
orders_without_hues
complains_not
stop_browser
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
