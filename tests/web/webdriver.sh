# Drives headless Chromium through its driver's HTTP interface (W3C WebDriver) with curl and jq.
# Source it, then call start_browser, open_page, js, expect, click, press, screenshot. stop_browser ends
# the browser and the driver.

driver_pid=
driver_url=
session=

# post PATH JSON: prints .value of the response; on an error, prints its message and returns 1.
post() {
  curl -sS --max-time 120 -H 'Content-Type: application/json' --data-binary @- "$driver_url$1" <<<"$2" |
    jq -r 'if (.value | type) == "object" and .value.error
           then .value | "\(.error): \(.message | split("\n")[0])\n" | halt_error(1) else .value end'
}

# Additional flags of the browser, as a JSON list.
browser_flags='[]'

# port_in LOG PATTERN: waits up to 20 s for a line in a server's log and prints its \(...\) group.
port_in() {
  local port
  for _ in $(seq 200); do
    port=$(sed -n "s/$2/\1/p" "$1")
    [ -n "$port" ] && { echo "$port"; return; }
    sleep 0.1
  done
  { echo "no server:"; cat "$1"; } >&2
  return 1
}

# start_browser WIDTH HEIGHT [light|dark]: starts a browser that reaches no host.
start_browser() {
  local log=$work/driver_$RANDOM.log options
  : >"$log"
  chromedriver --port=0 >"$log" 2>&1 &
  driver_pid=$!
  local port
  port=$(port_in "$log" '.*started successfully on port \([0-9]*\).*') || return 1
  driver_url=http://127.0.0.1:$port
  options=$(jq -n --arg size "--window-size=$1,$2" --arg home "--user-data-dir=$work/profile_$port" \
    --argjson more "$browser_flags" --argjson dark "$([ "${3:-light}" = dark ] && echo true || echo false)" \
    '["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND", $size, $home]
     + (if $dark then ["--force-dark-mode"] else [] end) + $more')
  session=$(post /session "{\"capabilities\": {\"alwaysMatch\": {\"goog:chromeOptions\": {\"args\": $options},
    \"goog:loggingPrefs\": {\"browser\": \"ALL\"}}}}" | jq -r .sessionId)
  # Sets the size of the page: desktop windows have a minimum width.
  cdp Emulation.setDeviceMetricsOverride \
    "{\"width\": $1, \"height\": $2, \"deviceScaleFactor\": 1, \"mobile\": false}" >/dev/null
  cdp Emulation.setEmulatedMedia \
    "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"${3:-light}\"}]}" >/dev/null
  cdp Network.enable '{}' >/dev/null
}

cdp() { post "/session/$session/goog/cdp/execute" "{\"cmd\": \"$1\", \"params\": $2}"; }

stop_browser() {
  [ -n "$session" ] && curl -s --max-time 20 -X DELETE "$driver_url/session/$session" >/dev/null || true
  [ -n "$driver_pid" ] && kill "$driver_pid" 2>/dev/null || true
  wait "$driver_pid" 2>/dev/null || true
  session=
  driver_pid=
  return 0
}

# load ADDRESS: loads a page anew.
load() {
  post "/session/$session/url" '{"url": "about:blank"}' >/dev/null
  post "/session/$session/url" "$(jq -n --arg url "$1" '{url: $url}')" >/dev/null
}

# open_page FILE[#FRAGMENT]: loads a page and waits until it is built.
open_page() {
  load "file://$1"
  wait_for 'document.documentElement.dataset.ready'
}

# js EXPRESSION: prints the value of a JavaScript expression in the page.
js() {
  post "/session/$session/execute/sync" "$(jq -n --arg s "return ($1)" '{script: $s, args: []}')"
}

# wait_for EXPRESSION: waits until it is true; fails after 60 s (tests may run in parallel). The page
# itself asks again and again; it is asked anew where another page has come in between.
wait_for() {
  local wait end=$((SECONDS + 60))
  wait=$(jq -n --arg s "$1" '{args: [], script: "const done = arguments[0], ask = () => {
    let holds = false; try { holds = Boolean(\($s)); } catch {} holds ? done(true) : setTimeout(ask, 50); }; ask();"}')
  until [ "$(post "/session/$session/execute/async" "$wait" 2>/dev/null)" = true ]; do
    if [ $SECONDS -ge $end ]; then
      echo "timed out waiting for: $1" >&2
      return 1
    fi
    sleep 0.1
  done
}

element_at() {
  post "/session/$session/element" "$(jq -n --arg s "$1" '{using: "css selector", value: $s}')" |
    jq -r '.[]'
}

# until_done FUNCTION...: calls it until it succeeds, for up to 10 s: a page may draw an element anew, or move
# it, between the request that finds it and the request that uses it. Prints the last error.
until_done() {
  local error end=$((SECONDS + 10))
  until error=$("$@" 2>&1 >/dev/null); do
    if [ $SECONDS -ge $end ]; then
      printf '%s: %s\n' "$*" "$error" >&2
      return 1
    fi
    sleep 0.1
  done
}

# click SELECTOR: scrolls to an element and clicks it.
click() { until_done click_once "$1"; }
click_once() {
  local id
  id=$(element_at "$1") && post "/session/$session/element/$id/click" '{}'
}

# act ACTIONS: sends a list of WebDriver's actions.
act() { post "/session/$session/actions" "{\"actions\": [$1]}"; }
# mouse MOVES: the actions of a mouse. move_to ID MILLISECONDS: a move to the middle of an element.
mouse() { echo "{\"type\": \"pointer\", \"id\": \"mouse\", \"actions\": [$1]}"; }
move_to() {
  echo "{\"type\": \"pointerMove\", \"duration\": $2, \"x\": 0, \"y\": 0,
    \"origin\": {\"element-6066-11e4-a52e-4f735466cecf\": \"$1\"}}"
}

# point SELECTOR: moves the mouse over the middle of an element.
point() { until_done point_once "$1"; }
point_once() {
  local id
  id=$(element_at "$1") && act "$(mouse "$(move_to "$id" 0)")"
}

# drag SELECTOR SELECTOR: drags the mouse from the middle of one element to the middle of another.
drag() { until_done drag_once "$1" "$2"; }
drag_once() {
  local from to
  from=$(element_at "$1") && to=$(element_at "$2") &&
    act "$(mouse "$(move_to "$from" 0), {\"type\": \"pointerDown\", \"button\": 0},
      $(move_to "$to" 60), {\"type\": \"pointerUp\", \"button\": 0}")"
}

# press KEY: sends a keystroke to the focused element; arrows are "left", "right", "up", "down".
press() {
  local key=$1
  case $1 in
    left) key='\uE012' ;; up) key='\uE013' ;; right) key='\uE014' ;; down) key='\uE015' ;;
    escape) key='\uE00C' ;; enter) key='\uE007' ;; tab) key='\uE004' ;;
  esac
  act "{\"type\": \"key\", \"id\": \"keyboard\", \"actions\": [
    {\"type\": \"keyDown\", \"value\": \"$key\"}, {\"type\": \"keyUp\", \"value\": \"$key\"}]}" >/dev/null
}

# screenshot FILE: saves the window as PNG.
screenshot() {
  curl -s --max-time 60 "$driver_url/session/$session/screenshot" | jq -r .value | base64 -d >"$1"
}

# Prints the messages of the browser's console, one a line.
console() { post "/session/$session/se/log" '{"type": "browser"}' | jq -r '.[].message'; }

checks=0
failures=0
# expect DESCRIPTION EXPRESSION VALUE: a JavaScript expression in the page must get the value within 10 s: what a
# page shows after an action may be drawn a moment later.
expect() {
  local value end=$((SECONDS + 10))
  checks=$((checks + 1))
  until value=$(js "$2"); [ "$value" = "$3" ]; do
    if [ $SECONDS -ge $end ]; then
      failures=$((failures + 1))
      printf 'FAILED: %s\n  %s\n  expected %s\n  got      %s\n' "$1" "$2" "$3" "$value"
      return
    fi
    sleep 0.1
  done
}
# Print JavaScript for the number of elements of a selector, and for the text of the first one.
count_of() { echo "document.querySelectorAll('$1').length"; }
text_of() { echo "document.querySelector('$1')?.textContent"; }
# set_text ID TEXT: types into a text box.
set_text() { js "(() => { const box = document.getElementById('$1'); box.value = '$2'; box.dispatchEvent(new Event('input')); })()" >/dev/null; }
# check_access PART: if AXE is the path of axe-core's axe.min.js, axe must find no problem in the page, except
# contrasts with colours that it cannot read (NaN: oklab).
check_access() {
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
# train_small: trains a small model of characters in $work/runs/small with the program $headlight.
train_small() {
  head -c 20000 "$here/../../data/toy.txt" >"$work/text.txt"
  "$headlight" train --data "$work/text.txt" --out_dir "$work/runs/small" --n_layer 2 --n_head 2 --n_embd 16 --block_size 64 \
    --batch_size 4 --max_iters 12 --eval_interval 6 --eval_iters 1 --log_level error >/dev/null
}
# sends_nothing: checks that a page of one file has loaded nothing, and that its policy forbids requests.
sends_nothing() {
  expect 'the page loads nothing from elsewhere' \
    "performance.getEntriesByType('resource').filter(({name}) => !name.startsWith('blob:')).length" 0
  js "(() => { window.refused = ''; addEventListener('securitypolicyviolation', ({violatedDirective}) => { window.refused = violatedDirective; });
    fetch('http://127.0.0.1/').catch(() => {}); })()" >/dev/null
  wait_for "window.refused === 'connect-src'"
}
