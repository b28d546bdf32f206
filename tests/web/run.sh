#!/usr/bin/env bash
# Opens the attention page in headless Chromium without a network, clicks through its views and
# checks them. Exits with 77 (skipped) if chromium, chromedriver, curl or jq is missing.
# usage: run.sh SAMPLE_PAGES [SCREENSHOTS]
#   SAMPLE_PAGES   the program sample_pages
#   SCREENSHOTS    directory for screenshots of every view, light and dark, wide and narrow
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
sample_pages=$1
pictures=${2:-}
work=$(mktemp -d)
. "$here/webdriver.sh"
trap 'stop_browser; rm -rf "$work"' EXIT

# colours_of SELECTOR: prints JavaScript that counts the colours on a canvas; 1 if it is blank.
colours_of() {
  echo "new Set(new Uint32Array(document.querySelector('$1').getContext('2d').getImageData(0, 0,
    document.querySelector('$1').width, document.querySelector('$1').height).data.buffer)).size"
}

model_view() {
  open_page "$work/small.html"
  expect 'the model view opens first' "$(text_of '[aria-selected=true]')" 'Model view'
  expect 'both documents have a thumbnail for each head' "$(count_of '.thumbnails button')" 12
  expect 'a thumbnail carries its class' "$(text_of '.thumbnails [title^="Head 0.1"] .class')" 'previous token'
  wait_for 'document.documentElement.dataset.drawn'
  expect 'thumbnails are drawn' "$(colours_of '.thumbnails canvas') > 5" true
  expect 'markup among the tokens stays text' "$(count_of 'main b b, main img')" 0
  click '.thumbnails [title^="Head 0.1"]'
  expect 'a click opens the head' "$(text_of '#name')" 'Layer 0 · Head 1'
  expect 'the head is open in both documents' "$(count_of '.heat')" 2
  expect 'the address names the open head' 'location.hash' '#model/0.1'
  click '.text [data-token="5"]'
  expect 'a click chooses a token' "$(text_of '.reading h3 bdi')" '·cat'
  expect 'the strongest link of the token is the token before it' "$(text_of '.links li .place')" 4
  expect 'the other document shows its last token' "$(text_of 'section:nth-child(2) .reading h3 bdi')" '·ran'
  expect 'the address names the token' 'location.hash' '#model/0.1/5'
  click '.table-box summary'
  expect 'a table holds the links' "$(count_of '.table-box table tbody tr')" 8
  click '#receives'
  expect 'the direction of the links can be reversed' "$(text_of '.reading h3')" '·cat 5 is attended to by 0.84 in sum over all queries'
  press down
  expect 'an arrow moves to the next layer' "$(text_of '#name')" 'Layer 1 · Head 1'
  press escape
  expect 'Escape closes the head' "$(count_of '.thumbnails')" 2
  click '#hide-first'
  expect 'a note reports the hidden token' "document.getElementById('note').hidden" false
}

head_view() {
  open_page "$work/small.html#head/0.0"
  expect 'the head view has a chip for each head' "$(count_of '.chip')" 3
  expect 'the layer picker names the layer' "document.querySelector('#tools .picker select').value" 0
  expect 'lines are drawn' "$(colours_of '.between canvas') > 5" true
  expect 'labels show blanks, line ends and tabs' \
    "[...document.querySelectorAll('.tokens.left')][0].textContent" '<b>·하늘🙂⏎·cat·cat⇥</script>'
  click '.tokens.left [data-token="4"]'
  expect 'a click chooses a query' "$(text_of '.tokens.left .chosen')" '·cat'
  expect 'the table names the chosen query' "$(text_of '.table-box caption')" 'What ·cat at 4 attends to, by head'
  expect 'the table has a row for each head' "$(count_of 'section:first-child .table-box tbody tr')" 3
  click '.chip:nth-child(2)'
  expect 'a chip hides its head' "$(count_of 'section:first-child .table-box tbody tr')" 2
  js "document.querySelector('.tokens.left').focus()" >/dev/null
  press down
  expect 'an arrow chooses the next token' "$(text_of '.tokens.left .chosen')" '·cat'
  expect 'the address names the next token' 'location.hash' '#head/0.0/5'
  click '.tokens.right [data-token="1"]'
  expect 'a key can be chosen, too' "$(text_of '.table-box caption')" 'What attends to ·하늘 at 1, by head'
  js "(() => { const select = document.querySelector('#tools .picker select'); select.value = 1;
    select.dispatchEvent(new Event('change')); })()" >/dev/null
  expect 'the picker changes the layer' 'location.hash' '#head/1.0/1/receives'
}

neuron_view() {
  open_page "$work/small.html#neuron/1.2/6"
  expect 'the neuron view has a row for each key' "$(count_of 'section:first-child .neurons tbody tr')" 7
  expect 'weights computed in the neuron view equal the recorded ones' "$(text_of '.difference')" 'less than 0.0001'
  # Query (1.5, -0.25), key (1.5, 1): (2.25 - 0.25) / sqrt(2).
  expect 'the neuron view shows the score of the last key' \
    "document.querySelector('.neurons tbody tr:nth-child(7) .number').textContent" 1.41
  expect 'strips are drawn' "$(colours_of '.neurons .strip') > 1" true
  click '.text [data-token="2"]'
  expect 'the query follows the text' "$(count_of 'section:first-child .neurons tbody tr')" 3
  open_page "$work/small.html#neuron/0.0"
  expect 'the neuron view without vectors names the option that records them' "$(text_of '.missing')?.includes('--neurons')" true
}

grid_and_pickers() {
  open_page "$work/small.html#grid/0.0"
  expect 'the grid has a panel for each head' "$(count_of '.panels figure')" 6
  expect 'panels are drawn' "$(colours_of '.panels canvas') > 5" true
  js "(() => { const select = document.getElementById('beside'); select.value = -1;
    select.dispatchEvent(new Event('change')); })()" >/dev/null
  expect 'the second document can be hidden' "$(count_of '.panels figure')" 3
  expect 'the address names the hidden document' 'location.hash' '#grid/0.0&beside=-1'
  js "(() => { const select = document.getElementById('document'); select.value = 1;
    select.dispatchEvent(new Event('change')); })()" >/dev/null
  expect 'another document can be picked' "$(text_of '#counts')" 'Attention of 6 heads in 2 layers over 3 tokens'
  click '.panels button'
  expect 'a panel opens its head' 'location.hash' '#model/0.0&doc=1&beside=-1'
  press 2
  expect 'digits switch the view' "$(text_of '[aria-selected=true]')" 'Head view'
  click '#tab-grid'
  press right
  expect 'tabs follow the arrows' "$(text_of '[aria-selected=true]')" 'Model view'
  js "history.back()" >/dev/null
  wait_for "$(text_of '[aria-selected=true]') === 'Grid'"
  expect 'Back returns to the previous view' 'location.hash' '#grid/0.0&doc=1&beside=-1'
}

large_page() {
  local bytes
  bytes=$(stat -c %s "$work/large.html")
  expect 'the large page stays under 30 MB' "$bytes < 30000000" true
  open_page "$work/large.html"
  echo "large page: $bytes bytes, ready after $(js 'document.documentElement.dataset.ready') ms"
  expect 'the large page shows its precision' "$(text_of '#precision').includes('8-bit')" true
  wait_for 'document.documentElement.dataset.drawn'
  expect 'the first thumbnails of the large page are drawn' "$(colours_of '.thumbnails canvas') > 5" true
  click '.thumbnails [title^="Head 3.3"]'
  expect 'a head opens' "$(text_of '#name')" 'Layer 3 · Head 3'
  # Head 3.3 gives most weight to the token 2 places before: (3 + 3) % 4.
  expect 'an open head of the large page shows its weights' "$(text_of '.links li .place')" 509
  open_page "$work/large.html#head/3.3/500"
  expect 'the head view scrolls to its token' "document.querySelector('.lines').scrollTop > 9000" true
  expect 'the head view draws only the visible part' "document.querySelector('.between canvas').height < 2000" true
}

results_page() {
  open_page "$work/results.html"
  expect 'a page of results has a table for each grid' "$(count_of '.result table')" 3
  expect 'markup among its labels stays text' "$(count_of 'main b, main script')" 0
  expect 'its cells hold values' "$(text_of '.result:first-child tbody tr:nth-child(1) td:nth-child(2)')" -0.25
  expect 'a value that is missing has no cell' "$(count_of '.result:first-child .missing')" 1
  expect 'wide grids leave values to the pointer' "$(count_of '.result:nth-child(2) .written')" 0
  point '.result:first-child tbody tr:nth-child(2) td:nth-child(3)'
  wait_for "!document.getElementById('tip').hidden"
  expect 'pointing at a cell shows its value' "$(text_of '#tip')" \
    '0.5layer 1, position 1 하늘 · 95 % interval 0.375 to 0.625'
  expect 'colours follow the values' "getComputedStyle(document.querySelector('.result td[data-place=\"8\"]')).backgroundColor !== getComputedStyle(document.querySelector('.result td[data-place=\"2\"]')).backgroundColor" true
  expect 'the circuit has its nodes' "$(count_of '.graph [data-node]')" 4
  point '.graph [data-node="mlp.2"]'
  wait_for "$(count_of '.graph .aside')"
  expect 'a node shows its own lines alone' "$(count_of '.graph .aside')" 2
}

# Prints a dark page. When the browser takes the picture, every heat map must have other colours.
print_in_the_dark() {
  start_browser 1280 850 dark
  open_page "$work/small.html#model"
  js "void (window.pictures = () =>
    [...document.querySelectorAll('.thumbnails canvas')].map((map) => map.toDataURL()))" >/dev/null
  js "void ((dark) => matchMedia('print').addEventListener('change', ({matches}) => {
    window.printed ??= matches && dark.length > 0 && pictures().every((map, i) => map !== dark[i]);
  }))(pictures())" >/dev/null
  cdp Page.printToPDF '{}' >/dev/null
  expect 'heat maps are drawn before they are printed' 'window.printed' true
  stop_browser
}

take_pictures() {
  local view size scheme
  mkdir -p "$pictures"
  for scheme in light dark; do
    for size in 1280x850 400x800; do
      start_browser "${size%x*}" "${size#*x}" "$scheme"
      for view in model model/0.1/5 head/0.1 head/0.1/5 neuron/1.2/6 grid/0.0; do
        open_page "$work/small.html#$view"
        sleep 0.5
        screenshot "$pictures/${view//\//_}_${size}_$scheme.png"
      done
      open_page "$work/results.html"
      screenshot "$pictures/results_${size}_$scheme.png"
      stop_browser
    done
  done
}

"$sample_pages" "$work"
expect_none() {
  local complaints
  complaints=$(console)
  checks=$((checks + 1))
  [ -z "$complaints" ] && return
  failures=$((failures + 1))
  printf 'FAILED: the page logs errors\n%s\n' "$complaints"
}
start_browser 1280 850 light
model_view
head_view
neuron_view
grid_and_pickers
large_page
results_page
expect 'the page asked the network for nothing' "performance.getEntriesByType('resource').length" 0
expect_none
stop_browser
print_in_the_dark
[ -z "$pictures" ] || take_pictures
echo "$checks checks, $failures failed"
[ "$failures" = 0 ]
