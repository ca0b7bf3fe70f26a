"""Prints a plan of as many commands as asked for: fills of a few buffers, with names that a page must not take for markup."""
import sys

print('''module attributes {zero.phase = "plan", zero.config = {world_size = 1 : i64, gradient_accumulation_steps = 1 : i64,
                   train_micro_batch_size_per_gpu = 1 : i64, train_batch_size = 1 : i64}} {
zero.mesh @dp {size = 1 : i64}
plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 4096 : i64}''')
for i in range(64):
    print(f'plan.buffer @b{i} in @device {{content = #plan<content activations>, label = "</script><b>node_{i}", offset = {64 * i} : i64, size_bytes = 64 : i64}}')
print("plan.section @micro_first {")
for i in range(int(sys.argv[1])):
    print(f'plan.dispatch "fill" on compute reads [] writes [#plan.slice<@b{i * 7919 % 64}, 0, 64>] waits [] '
          f'{{integers = array<i64: 4, 16, 0>, reals = array<f64>}} loc("</script><b>node_{i}")')
print("}\nplan.section @update {\n}\n}")
