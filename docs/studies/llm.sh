#!/bin/sh
# Every run of llm.md: sh docs/studies/llm.sh MODELS RUNS [options of assay run, such as --device cuda]
# MODELS holds smollm2 and qwen (llm_weights.py). ASSAY_DATA names the folder of BBQ's official files.
models=$1 runs=$2
shift 2
smollm2="--model hf:$models/smollm2"
audit() { # audit OUT OPTION…: the last options are those of the command line
  out=$1
  shift
  assay run "$@" --out "$runs/$out" || echo "failed: $out"
}

audit letters bbq $smollm2 --preset quick --set form=letters --set orders=all "$@"
audit options bbq $smollm2 --preset quick --set form=options "$@"
audit unqover unqover $smollm2 --set form=choice --set class=gender,religion --limit 80000 "$@"
audit side-by-side bbq $smollm2 --set form=letters --limit 300 "$@"
for variant in q q+if baseline reprompt explain; do
  audit "$variant" bbq $smollm2 --set form=letters --set variant=$variant --preset quick "$@"
done
for variant in q q+if q+if+cot; do
  audit "$variant-200" bbq $smollm2 --set form=letters --set variant=$variant --limit 200 "$@"
done
audit tour $smollm2 "$@"
if [ -d "$models/qwen" ]; then
  audit qwen bbq --model hf:$models/qwen --set form=letters --set orders=all --limit 240 "$@"
fi

for variant in q+if; do assay compare "$runs/q" "$runs/$variant" --json > "$runs/q-$variant.json"; done
for variant in reprompt explain; do assay compare "$runs/baseline" "$runs/$variant" --json > "$runs/baseline-$variant.json"; done
for variant in q+if q+if+cot; do assay compare "$runs/q-200" "$runs/$variant-200" --json > "$runs/q-200-$variant.json"; done
