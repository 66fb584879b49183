#!/usr/bin/env bash
# Installs a build into an empty prefix, builds the programs under examples against it alone, and runs them.
#   tests/install/run.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1") source=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
cmake -S "$source/examples" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
if grep -rl "$source" "$work/prefix/lib"/cmake "$work/prefix/lib"/*/cmake 2>/dev/null; then
  echo "the installed package names the source folder"; exit 1
fi
ninja -C "$work/build"
"$work/prefix/bin/headwater" --version
[ "$("$work/build/fit_line")" = "y = 3.000 x + -2.000" ]
mkdir "$work/corpus"; cp "$source/examples/korean-written.txt" "$work/corpus"
"$work/build/pretrain_loop" "$work/corpus" "$work/out" 5
[ -s "$work/out/model/discriminator/model.safetensors" ]
cat >"$work/gpt2.json" <<'JSON'
{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 2000, "n_positions": 64, "n_embd": 32,
 "n_layer": 2, "n_head": 4}
JSON
"$work/build/train_gpt2" "$work/gpt2.json" "$work/out/records" "$work/gpt2" 5
[ -s "$work/gpt2/model.safetensors" ]
# A task that must be learned: to count.
"$work/build/custom_loop" | tee "$work/counting"
tail -n 1 "$work/counting" | grep -q 'accuracy 1.000'
