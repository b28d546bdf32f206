#!/usr/bin/env bash
# Tests the modules of the attention page (modules/*.test.js) and of the server's page
# (modules/live) in headless Chromium, from the files on disk. Then compares a page that loads the
# modules one by one with the page of one script. Exits with 77 (skipped) if chromium, chromedriver,
# curl or jq is missing.
# usage: modules.sh SAMPLE_PAGES
#   SAMPLE_PAGES   the program sample_pages
set -euo pipefail
for program in chromium chromedriver curl jq; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
page=$(cd "$here/../../src/show/page" && pwd)
words=$(cd "$here/../../src/interpret/words" && pwd)
sample_pages=$1
work=$(mktemp -d)
. "$here/webdriver.sh"
trap 'stop_browser; rm -rf "$work"' EXIT
failures=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}

# main.js has no test of its own: modules_one_by_one and run.sh test it.
every_module_has_tests() {
  local module
  for module in $(cd "$page" && find . -name '*.js' ! -name main.js ! -path './live/*' | sort); do
    [ -e "$here/modules/${module%.js}.test.js" ] || fail "$module has no ${module%.js}.test.js"
  done
}

# Writes tests.html: the page without data and policy, with all texts and a script that runs the tests.
test_page() {
  local file body shell
  {
    echo "import {runTests} from 'file://$here/modules/harness.js';"
    for file in $(find "$here/modules" -name '*.test.js' | sort); do
      echo "import 'file://$file';"
    done
    echo "document.documentElement.dataset.results = JSON.stringify(await runTests());"
  } >"$work/tests.js"
  body=$(<"$page/body.html")
  for file in controls views; do
    body=${body/"{{$file}}"/"$(<"$page/$file.html")"}
  done
  shell=$(<"$page/shell.html")
  shell=${shell/'{{body}}'/"$body"}
  shell=${shell/'{{style}}'/"<link rel=\"stylesheet\" href=\"file://$page/style.css\">"}
  shell=${shell/'{{script}}'/"<script type=\"module\" src=\"tests.js\"></script>"}
  shell=${shell/'{{words}}'/"$(jq -sc '{en: (.[0].views + .[0].live), ko: (.[1].views + .[1].live)}' "$words/en.json" "$words/ko.json")"}
  sed 's/{{[a-z]*}}//g' <<<"$shell" >"$work/tests.html"
}

run_tests() {
  local results
  test_page
  load "file://$work/tests.html"
  if wait_for 'document.documentElement.dataset.results'; then
    results=$(js 'document.documentElement.dataset.results')
    while IFS= read -r line; do
      [ -z "$line" ] || fail "$line"
    done <<<"$(jq -r '.failures[]' <<<"$results")"
    echo "$(jq .count <<<"$results") tests of modules"
  else
    fail 'the tests did not finish'
  fi
  complaints
}

# Fails if the browser's console has messages, except the warning about tests that read pixels.
complaints() {
  local lines
  lines=$(console | grep -v willReadFrequently || true)
  [ -z "$lines" ] || fail "the page logs errors: $lines"
}

# Compares each view of the written page with that of a page that loads main.js and its imports. A
# name that a module uses without importing it exists only in the single script.
shown() { js "[document.querySelector('main').innerHTML, document.querySelector('#status').textContent]"; }
modules_one_by_one() {
  local view bundled
  "$sample_pages" "$work"
  sed -e '/Content-Security-Policy/d' -e '/<script type="module"/,$d' "$work/small.html" \
    >"$work/loose.html"
  echo "<script type=\"module\" src=\"file://$page/main.js\"></script>" >>"$work/loose.html"
  for view in model model/0.1/5 head/0.1 head/1.2/5/receives neuron/0.0 neuron/1.2/6 grid/0.0; do
    for file in small loose; do
      open_page "$work/$file.html#$view"
      [ "$view" != model ] || wait_for 'document.documentElement.dataset.drawn'
      press down
      click '#hide-first'
      press 3
      press left
      shown >"$work/$file.txt"
      shown >>"$work/$file.txt"
    done
    cmp -s "$work/small.txt" "$work/loose.txt" || fail "separately loaded modules show another #$view"
  done
  complaints
}

every_module_has_tests
browser_flags='["--allow-file-access-from-files"]'
start_browser 1280 850 light
run_tests
modules_one_by_one
stop_browser
echo "$failures failed"
[ "$failures" = 0 ]
