#!/usr/bin/env bash
# Opens a page that fetches its data from a local server in headless Chromium. The page must equal
# the page with embedded data, and must report missing or broken data. Exits with 77 (skipped) if
# chromium, chromedriver, curl, jq or python3 is missing.
# usage: fetch.sh SAMPLE_PAGES
#   SAMPLE_PAGES   the program sample_pages
set -euo pipefail
for program in chromium chromedriver curl jq python3; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
sample_pages=$1
work=$(mktemp -d)
server_pid=
. "$here/webdriver.sh"
stop_server() { [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true; }
trap 'stop_browser; stop_server; rm -rf "$work"' EXIT
failures=0
# expect DESCRIPTION GOT EXPECTED: counts a failure if the values differ.
expect() {
  [ "$2" = "$3" ] && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n  expected %s\n  got      %s\n' "$1" "$3" "$2"
}

start_server() {
  mkdir "$work/pages"
  "$sample_pages" "$work/pages"
  : >"$work/server.log"
  python3 -u -m http.server --bind 127.0.0.1 --directory "$work/pages" 0 >"$work/server.log" 2>&1 &
  server_pid=$!
  site=http://127.0.0.1:$(port_in "$work/server.log" '^Serving HTTP on .* port \([0-9]*\) .*')
}

shown() { js "document.querySelector('main').innerHTML"; }
alert() { js "document.querySelector('[role=alert]')?.textContent"; }

start_server
# The browser reaches only this machine.
browser_flags='["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]'
start_browser 1280 850 light
for view in head/0.1/5 neuron/1.2/6 model/1.1; do
  open_page "$work/pages/small.html#$view"
  inside=$(shown)
  load "$site/fetching.html#$view"
  wait_for 'document.documentElement.dataset.ready'
  expect "a page that fetches its data shows the same #$view" "$(shown)" "$inside"
done
expect 'the page asked for its data and nothing else' \
  "$(js "performance.getEntriesByType('resource').map(({name}) => name).join()")" "$site/small.json"
expect 'the page does not complain' "$(console | grep -v favicon.ico || true)" ''
echo '{"bits": ' >"$work/pages/small.json"
load "$site/fetching.html"
wait_for "document.querySelector('[role=alert]')"
expect 'broken data is told' "$(alert | cut -d: -f1)" 'This page’s data cannot be read'
rm "$work/pages/small.json"
load "$site/fetching.html"
wait_for "document.querySelector('[role=alert]')"
expect 'missing data is told by its address' "$(alert)" \
  'This page’s data cannot be read: small.json: 404 File not found'
stop_browser
echo "$failures failed"
[ "$failures" = 0 ]
