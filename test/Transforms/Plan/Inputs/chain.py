"""chain.py LAYERS: a plan that keeps a buffer of each layer until the backward pass is back there, and one that is soon dead."""
import sys

layers = int(sys.argv[1])
size = lambda i: 64 * (1 + i * 7 % 5)
buffer = lambda name, bytes: f"  plan.buffer @{name} in @device {{content = #plan<content activations>, label = \"\", size_bytes = {bytes} : i64}}"
slice_ = lambda name, bytes: f"#plan.slice<@{name}, 0, {bytes}>"
dispatch = lambda reads, writes: (f"    plan.dispatch \"f\" on compute reads [{', '.join(reads)}] writes [{', '.join(writes)}] waits [] "
                                  "{integers = array<i64>, reals = array<f64>}")
print("plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}")
for i in range(layers):
    print(buffer(f"kept{i}", size(i)))
    print(buffer(f"short{i}", size(i + 1)))
    print(buffer(f"back{i}", size(i + 2)))
print("plan.section @micro_first {")
for i in range(layers):
    print(dispatch([slice_(f"kept{i - 1}", size(i - 1))] if i else [], [slice_(f"short{i}", size(i + 1))]))
    print(dispatch([slice_(f"short{i}", size(i + 1))], [slice_(f"kept{i}", size(i))]))
for i in reversed(range(layers)):
    print(dispatch([slice_(f"kept{i}", size(i))] + ([slice_(f"back{i + 1}", size(i + 3))] if i + 1 < layers else []), [slice_(f"back{i}", size(i + 2))]))
print("}")
