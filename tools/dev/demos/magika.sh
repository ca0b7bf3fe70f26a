# Fine-tunes the magika wheel's byte model on files of this machine. Read by tools/dev/demo, which sets demo, python, steps and run.
demo=$demo/magika
mkdir -p "$demo"
if ! ls "$demo"/magika-1.0.3-*.whl >/dev/null 2>&1; then
  echo "demo: fetching the model"
  $python -m pip download -q --disable-pip-version-check --no-deps -d "$demo" magika==1.0.3
fi
echo "demo: collecting files"
$python tools/dev/demos/magika_files.py prepare "$demo"/magika-1.0.3-*.whl "$demo" --train $((${steps:-60} * 32)) --test 640 \
  --multiple 32
cat >"$demo/config.json" <<'JSON'
{
  "train_micro_batch_size_per_gpu": 16,
  "gradient_clipping": 1.0,
  "steps_per_print": 10,
  "optimizer": {"type": "AdamW", "params": {"lr": 0.0003, "weight_decay": 0.01}},
  "zero_optimization": {"stage": 3}
}
JSON
# The one of 1 + tanh in the model's GELU is a tensor of rank 3, which no rule can tell from a parameter.
run zero-compile "$demo/magika.onnx" --loss=cross-entropy:logits --labels=y --freeze=const_fold_opt__211 \
  --config "$demo/config.json" --world-size=2 -o "$demo/compiled.bin"
# The data file holds the training samples and behind them the test samples: --steps ends before these, --predict answers all.
run mpirun -n 2 zero-run "$demo/compiled.bin" --data "$demo/data.npz" --predict "$demo/before.npz"
run mpirun -n 2 zero-run "$demo/compiled.bin" --data "$demo/data.npz" --steps "$(cat "$demo/steps.txt")" \
  --metrics "$demo/metrics.jsonl" --predict "$demo/after.npz"
$python tools/dev/demos/magika_files.py report "$demo" "$demo/before.npz" "$demo/after.npz" ${steps:+--few-steps}
