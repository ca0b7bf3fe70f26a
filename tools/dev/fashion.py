"""Fashion-MNIST for the demo.

    fashion.py data FOLDER OUT    reads the data set's four IDX files (Debian: dataset-fashion-mnist) and writes OUT/train.npz,
                                  shuffled once, and OUT/test.npz: images x (bytes, N x 1 x H x W) and labels y
    fashion.py accuracy PREDICTIONS.npz TEST.npz [--at-least P]
                                  how many logits are largest at the label, in percent; exit code 1 below P
"""
import argparse
import gzip
import pathlib
import struct
import sys

import numpy as np


def read_idx(path):
    """An array of bytes: two zeros, the type (8: bytes), the rank, the sizes, the elements."""
    with gzip.open(path) as file:
        data = file.read()
    zeros, kind, rank = struct.unpack_from(">HBB", data)
    if zeros or kind != 8:
        sys.exit(f"fashion.py: {path} is no IDX file of bytes")
    shape = struct.unpack_from(f">{rank}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def write_data(a):
    a.out.mkdir(parents=True, exist_ok=True)
    for part, stem in (("train", "train"), ("test", "t10k")):
        images, labels = read_idx(a.folder / f"{stem}-images-idx3-ubyte.gz"), read_idx(a.folder / f"{stem}-labels-idx1-ubyte.gz")
        order = np.random.default_rng(1234).permutation(len(images)) if part == "train" else np.arange(len(images))
        np.savez(a.out / f"{part}.npz", x=images[order][:, None], y=labels[order].astype(np.int64))
        print(f"{a.out / part}.npz: {len(images)} images of {images.shape[1]} x {images.shape[2]}")


def print_accuracy(a):
    logits, labels = np.load(a.predictions)["logits"], np.load(a.test)["y"]
    if len(logits) != len(labels):
        sys.exit(f"fashion.py: {len(logits)} predictions for {len(labels)} labels")
    right = int(np.sum(np.argmax(logits, axis=1) == labels))
    percent = 100 * right / len(labels)
    print(f"test accuracy {percent:.2f} % ({right} of {len(labels)})")
    if percent < a.at_least:
        sys.exit(f"fashion.py: the accuracy is below {a.at_least} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    data = commands.add_parser("data")
    data.add_argument("folder", type=pathlib.Path)
    data.add_argument("out", type=pathlib.Path)
    data.set_defaults(run=write_data)
    accuracy = commands.add_parser("accuracy")
    accuracy.add_argument("predictions", type=pathlib.Path)
    accuracy.add_argument("test", type=pathlib.Path)
    accuracy.add_argument("--at-least", type=float, default=0)
    accuracy.set_defaults(run=print_accuracy)
    a = parser.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
