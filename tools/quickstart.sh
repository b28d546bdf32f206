#!/usr/bin/env bash
# Trains a model from a fresh clone, generates a story and draws attention maps.
# usage: quickstart.sh [OUT_DIR]      (default: runs/toy; a run that is there already is kept)
set -euo pipefail
cd "$(dirname "$0")/.."
run=${1:-runs/toy}
headlight=build/quickstart/headlight

say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }

say "1/4  Building: 3 to 7 minutes on two cores"
./tools/install_packages.sh build
cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADLIGHT_TESTS=OFF \
  -DCMAKE_UNITY_BUILD=ON >/dev/null
cmake --build build/quickstart --target headlight_cli

if [ -e "$run/latest" ]; then
  say "2/4  $run holds a trained model already (remove it to train again)"
else
  say "2/4  Training configs/toy.toml on data/toy.txt: half a minute"
  $headlight train configs/toy.toml --out_dir "$run"
fi

say "3/4  A story that the model makes up"
$headlight generate "$run" --prompt "One day" --temperature 0.5 --seed 22

say "4/4  What its attention heads look at"
text='One day, Nora lost her red kite. She looked in the tall grass, but it was not there. "Here it is," said Ben (he was very happy).'
$headlight attention "$run" --text "$text" --out "$run/attention"

say "Done. Open $run/attention/attention.html in a browser."
cat >&2 <<EOF
Next:
  $headlight generate $run --prompt "어느 날" --temperature 0.5 --num_samples 3
  $headlight eval $run --data data/toy.txt --documents blank_line
  $headlight --help
EOF
