"""make_idx.py FOLDER [SIZE]: a tiny data set in the format of Fashion-MNIST: bright quarters of SIZE x SIZE images (8), four classes."""
import gzip
import pathlib
import struct
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
size = int(sys.argv[2]) if len(sys.argv) > 2 else 8
half = size // 2
random = np.random.default_rng(5)
for stem, count in (("train", 512), ("t10k", 80)):
    labels = random.integers(0, 4, count).astype(np.uint8)
    images = random.integers(0, 120, (count, size, size)).astype(np.uint8)
    for image, label in zip(images, labels):
        row, column = half * (label // 2), half * (label % 2)
        image[row:row + half, column:column + half] += 100
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        with gzip.open(folder / f"{stem}-{name}-ubyte.gz", "wb") as file:
            file.write(struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())
