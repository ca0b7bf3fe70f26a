"""mutants.py FOLDER [GOLDEN]: damaged models end with a module or a named error, in time and within memory.

Seeded: truncated files, flipped bits, bytes removed, repeated and overwritten, and fields of the parsed model that are set to
extremes; of the small models, of those of control flow and functions, and of the golden models where they are.
"""
import glob
import os
import random
import sys
import time

import control_flow
import functions
import small_models

SECONDS, EACH = 30, 4


def peak(path):
    """(status, messages, peak bytes) of one import; status none: it hangs."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writer, 2)
        os.execvp("zero-import", ["zero-import", path, "--loss=mse", "--labels=labels", "-o", path + ".mlir"])
    os.close(writer)
    started, killed = time.time(), False
    os.set_blocking(reader, False)
    text = b""
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        try:
            text += os.read(reader, 1 << 20)
        except BlockingIOError:
            pass
        if done:
            break
        if time.time() - started > SECONDS and not killed:
            os.kill(pid, 9)
            killed = True
        time.sleep(0.005)
    while True:
        try:
            more = os.read(reader, 1 << 20)
        except BlockingIOError:
            break
        if not more:
            break
        text += more
    os.close(reader)
    return None if killed else os.waitstatus_to_exitcode(status), text.decode(errors="replace"), usage.ru_maxrss * 1024


def damaged(data, rng):
    kind = rng.randrange(6)
    data = bytearray(data)
    at = rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        del data[at:at + rng.randint(1, 16)]
    elif kind == 3:
        data[at:at] = data[at:at + rng.randint(1, 200)]
    elif kind == 4:
        data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
    else:
        # A length or a number becomes the largest.
        data[at:at + 1] = b"\xff" * 9 + b"\x01"
    return data


EXTREMES = [0, 1, -1, 2, 65, 2**31 - 1, -2**31, 2**31, 2**40, 2**62, 2**63 - 1, -2**63]


def changed(model, rng):
    """One field of the parsed model set to something else."""
    copy = type(model)()
    copy.CopyFrom(model)
    messages = [copy]
    for message in messages:
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE and len(messages) < 3000:
                messages.extend(value if hasattr(value, "add") else [value])
    strings = [v for m in messages for f, v in m.ListFields() if f.type == f.TYPE_STRING and isinstance(v, str)] + ["", "x"]
    for _ in range(20):
        message = rng.choice(messages)
        fields = message.ListFields()
        if not fields:
            continue
        field, value = rng.choice(fields)
        try:
            if field.type == field.TYPE_MESSAGE:
                if hasattr(value, "add"):
                    rng.choice([lambda: value.add().CopyFrom(value[0]), lambda: value.pop(), lambda: value.reverse()])()
                else:
                    message.ClearField(field.name)
            elif field.type == field.TYPE_STRING:
                if isinstance(value, str):
                    setattr(message, field.name, rng.choice(strings))
                else:
                    value[rng.randrange(len(value))] = rng.choice(strings)
            elif field.type == field.TYPE_BYTES:
                setattr(message, field.name, value[:len(value) // 2])
            elif field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
                number = rng.choice([float("nan"), float("inf"), -1e30, 0.0])
                if isinstance(value, float):
                    setattr(message, field.name, number)
                else:
                    value[0] = number
            elif isinstance(value, int):
                setattr(message, field.name, rng.choice(EXTREMES))
            else:
                value[rng.randrange(len(value))] = rng.choice(EXTREMES)
            return copy.SerializeToString()
        except (ValueError, TypeError, IndexError):
            continue  # out of the field's range
    return copy.SerializeToString()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    sources = {"model_" + name: model for name, model in small_models.MODELS.items()}
    for family, cases in (("flow_", control_flow.AGREE), ("function_", functions.AGREE)):
        for name, case in cases.items():
            sources[family + name] = case[0] if isinstance(case, tuple) else case
    files = {name: model.SerializeToString() for name, model in sources.items()}
    for path in sorted(glob.glob(os.path.join(sys.argv[2], "*.onnx"))) if len(sys.argv) > 2 else []:
        with open(path, "rb") as f:
            files["golden_" + os.path.basename(path)[:-5]] = f.read()
        sources["golden_" + os.path.basename(path)[:-5]] = small_models.programs.onnx.load(path)
    rng = random.Random(4)
    empty = os.path.join(folder, "empty.onnx")
    open(empty, "wb").close()
    status, text, base = peak(empty)
    assert status == 3 and "it is not an ONNX model" in text, (status, text)
    bad, count, refused = [], 0, 0
    for name, data in files.items():
        for index in range(EACH if not name.startswith("golden") else 2 * EACH):
            mutant = bytes(damaged(data, rng) if index % 2 else changed(sources[name], rng))
            path = os.path.join(folder, "%s_%d.onnx" % (name, index))
            with open(path, "wb") as f:
                f.write(mutant)
            status, text, used = peak(path)
            limit = base + 4 * len(mutant) + (64 << 20)
            count += 1
            refused += status == 3
            if status not in (0, 3) or (status == 3 and "error: " not in text) or used > limit:
                bad.append("%s: status %s, %d KiB of %d, %s" % (path, status, used >> 10, limit >> 10, text[-300:]))
            else:
                os.remove(path)
    if bad:
        sys.exit("\n".join(bad))
    print("%d damaged models: %d refused by name, the others imported" % (count, refused))


main()
