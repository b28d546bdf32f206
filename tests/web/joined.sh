#!/usr/bin/env bash
# Tests how the build joins modules and styles to one file (tools/cmake/HeadlightEmbed.cmake).
# usage: joined.sh CMAKE
set -euo pipefail
embed=$(cd "$(dirname "$0")/../../tools/cmake" && pwd)/HeadlightEmbed.cmake
cmake=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
expect() { # WHAT GOT EXPECTED
  [ "$2" = "$3" ] || { failures=$((failures + 1)); printf 'FAILED: %s: expected\n%s\ngot\n%s\n' "$1" "$3" "$2"; }
}

# joined NAME: prints the bytes that the program would hold, or the first line of CMake's message.
joined() {
  if "$cmake" "-DFOLDER=$work" -DHEADER=h -DFUNCTION=f "-DFILES=$1" "-DSOURCE=$work/out.cpp" -P "$embed" 2>"$work/log"; then
    printf '%b' "$(sed -n '/kFile0/,/};/p' "$work/out.cpp" | grep -o '\\x..' | tr -d '\n')"
  else
    sed '/^$/d; s/^  *//' "$work/log" | sed -n '2,/^Call/p' | grep -v '^Call' | tr '\n' ' ' | sed 's/ *$//'
  fi
}
refuses() { # MESSAGE MAIN B
  printf '%b' "$2" >"$work/main.js"
  printf '%b' "$3" >"$work/b.js"
  expect "$2" "$(joined main.js)" "$1"
}

mkdir "$work/views"
printf '%b' "// main\nimport {a} from './views/a.js';\nimport {b, c,\n        d} from './b.js';\n\na(b, c, d);\n" >"$work/main.js"
printf '%b' "import {b} from '../b.js';\nexport const a = () => b;\n" >"$work/views/a.js"
printf '%b' "export async function b() {\n  // why\n  const a = ['\\\\\\\\x;'];\n}\nexport let c = 2;\nexport class d {}\nconst own = 3;\n" >"$work/b.js"
expect 'a module appears once and after those that it imports' "$(joined main.js)" "let c;
const {b, d} = (() => {
async function b() {
  // why
  const a = ['\\\\x;'];
}
c = 2;
class d {}
const own = 3;
return {b, d};
})();
const {a} = (() => {
const a = () => b;
return {a};
})();
const {} = (() => {

a(b, c, d);
return {};
})();"
printf '%b' "@import './b.css';\n\nb { top: 0; }\n" >"$work/style.css"
printf '%b' "a { top: 0; }\n" >"$work/b.css"
expect 'a style follows those that it imports' "$(joined style.css)" "
a { top: 0; }


b { top: 0; }"

import="import {b} from './b.js';\n"
form="expected import {name, ...} from './file.js'; or the export of one function, class, const or let, got"
refuses 'main.js: imports b, which b.js does not export' "$import" 'const b = 1;\n'
refuses 'main.js: another module exports b, too' "${import}export let b = 1;\n" 'export const b = 1;\n'
refuses 'main.js: imports itself through other files' "$import" "import {a} from './main.js';\nexport const b = 1;\n"
for line in "import './b.js';" "import b from './b.js';" "export default b;" "export {b};" "export * from './c.js';" \
  "export const {b} = c;"; do
  refuses "main.js: $form $line" "$line\n" ''
done
[ "$failures" = 0 ]
