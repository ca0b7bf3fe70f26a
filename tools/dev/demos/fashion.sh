# A small convolutional network on Fashion-MNIST. Read by tools/dev/demo, which sets demo, python, steps and run.
fashion=$demo/fashion images=/usr/share/datasets/fashion-mnist
mkdir -p "$fashion"
if [ ! -s "$fashion/test.npz" ] && [ ! -d "$images" ]; then
  echo "demo: installing dataset-fashion-mnist"
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends dataset-fashion-mnist
fi
[ -s "$fashion/test.npz" ] || $python tools/dev/fashion.py data "$images" "$fashion"
$python tools/dev/make_cnn.py -o "$fashion/cnn.onnx"
cat >"$fashion/config.json" <<'JSON'
{
  "train_micro_batch_size_per_gpu": 32,
  "gradient_accumulation_steps": 1,
  "steps_per_print": 200,
  "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "weight_decay": 0.01}},
  "zero_optimization": {"stage": 3}
}
JSON
run zero-compile "$fashion/cnn.onnx" --loss=cross-entropy --labels=y --config "$fashion/config.json" --world-size=2 \
  -o "$fashion/compiled.bin"
# An epoch of 60,000 images is 937 steps of 64.
run mpirun -n 2 zero-run "$fashion/compiled.bin" --data "$fashion/train.npz" --epochs $((steps ? (steps + 936) / 937 : 3)) ${steps:+--steps "$steps"} \
  --metrics "$fashion/metrics.jsonl" --export "$fashion/trained.onnx"
cat >"$fashion/predict.json" <<'JSON'
{"train_micro_batch_size_per_gpu": 100}
JSON
run zero-compile "$fashion/trained.onnx" --loss=none --config "$fashion/predict.json" --world-size=1 -o "$fashion/trained.bin"
run zero-run "$fashion/trained.bin" --data "$fashion/test.npz" --predict "$fashion/predictions.npz"
$python tools/dev/fashion.py accuracy "$fashion/predictions.npz" "$fashion/test.npz" $([ -n "$steps" ] || echo --at-least 88)
