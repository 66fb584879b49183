#!/usr/bin/env bash
# Repeats the experiment of koelectra-kote.md: a small ELECTRA of written Korean, continued on colloquial text and, as
# long, on more of the written text; all three fine-tuned on KOTE with the same seeds.
#   docs/experiments/koelectra-kote.sh DATA OUT [FINE_TUNING_SEEDS] [PRE-TRAINING SEED...]
#   DATA/written, DATA/colloquial     folders of text, a sentence or message a line
#   DATA/kote/{train,dev,test}.tsv    KOTE's files: id, text, label numbers
#   $HEADWATER                        the program; default: build/release/headwater
# Again with the same OUT it goes on: runs that are there are not repeated.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
hw=${HEADWATER:-$root/build/release/headwater}
[ $# -ge 2 ] || { sed -n '2,9s/^# \?//p' "$0"; exit 2; }
data=$(readlink -f "$1") seeds=${3:-8}
mkdir -p "$2"; cd "$2"; shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- 42
task=(--task kote --train "$data/kote/train.tsv" --dev "$data/kote/dev.tsv" --test "$data/kote/test.tsv"
      --epochs 6 --learning-rate 5e-4 --batch-size 32)

# once FOLDER COMMAND...: unless the folder is there.
once() { [ -e "$1" ] || "${@:2}"; }
# run FOLDER OPTION...: a pre-training run, to its end.
run() {
  local folder=$1; shift
  if [ -e "$folder/finished" ]; then return; fi
  if compgen -G "$folder/checkpoint-*" >/dev/null; then
    set -- --resume $(printf '%s\n' "$@" | sed '/^--init-checkpoint$/,+1d')
  fi
  "$hw" pretrain --vocab-file vocab.txt --output-dir "$folder" --preset tiny --eval-fraction 0.03 --log-steps 50 "$@"
  touch "$folder/finished"
}

cut -f2 "$data/kote/dev.tsv" "$data/kote/test.tsv" >held-out.txt
once vocab.txt "$hw" vocab train --corpus-dir "$data/written" --corpus-dir "$data/colloquial" --vocab-size 4000 --output vocab.txt
for text in written colloquial; do
  once "records-$text" "$hw" records build --corpus-dir "$data/$text" --vocab-file vocab.txt --output-dir "records-$text" \
    --max-seq-length 64 --no-lower-case --split-long-lines --exclude held-out.txt
done
run base --records records-written --max-steps 4500 --warmup-steps 500 --generator-warmup-steps 2000 --eval-steps 500
once model-base "$hw" export --checkpoint base --output-dir model-base
for seed in "$@"; do
  for side in adapted control; do
    text=written; [ $side = control ] || text=colloquial
    run "$side-$seed" --records "records-$text" --init-checkpoint base --seed "$seed" --max-steps 2400 --warmup-steps 150 \
      --generator-warmup-steps 0 --learning-rate 5e-4 --eval-steps 400
    once "model-$side-$seed" "$hw" export --checkpoint "$side-$seed" --output-dir "model-$side-$seed"
  done
  "$hw" compare --base model-base/discriminator --adapted "model-adapted-$seed/discriminator" \
    --control "model-control-$seed/discriminator" "${task[@]}" --seeds "$seeds" --output-dir "comparison-$seed" | tee "comparison-$seed.txt"
done
"$hw" report records-written records-colloquial base adapted-* control-* comparison-* -o report.html --title "KOTE: written and colloquial Korean"
