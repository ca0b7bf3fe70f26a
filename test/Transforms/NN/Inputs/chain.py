"""chain.py LAYERS: a network of that many layers and its backward pass, whose derivatives stand far behind what they read."""
import sys

layers, t = int(sys.argv[1]), "tensor<8x8xf32>"
print(f"func.func @micro(%x0: {t}, " + ", ".join(f"%w{i}: {t}" for i in range(layers)) + f") -> ({t}, " + ", ".join([t] * layers) + ") {")
for i in range(layers):
    print(f"  %y{i} = nn.matmul %x{i}, %w{i} : {t}, {t} -> {t}")
    print(f"  %x{i + 1} = nn.tanh %y{i} : {t}")
print(f"  %one = nn.constant dense<1.0> : {t}\n  %d{layers} = nn.exp %x{layers} : {t}")
for i in reversed(range(layers)):
    print(f"  %s{i} = nn.mul %x{i + 1}, %x{i + 1} : {t}")
    print(f"  %q{i} = nn.sub %one, %s{i} : {t}")
    print(f"  %r{i} = nn.exp %q{i} : {t}")
    print(f"  %m{i} = nn.mul %d{i + 1}, %r{i} : {t}")
    print(f"  %g{i} = nn.matmul %x{i}, %m{i} transpose_lhs : {t}, {t} -> {t}")
    print(f"  %d{i} = nn.matmul %m{i}, %w{i} transpose_rhs : {t}, {t} -> {t}")
print("  return %d0, " + ", ".join(f"%g{i}" for i in range(layers)) + f" : {t}, " + ", ".join([t] * layers) + "\n}")
