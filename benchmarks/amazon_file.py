#!/usr/bin/env python3
"""Writes files in the format of extreme classification with the sizes of Amazon-670K as published.

    benchmarks/amazon_file.py FOLDER [--points 490449] [--test 2000]

490,449 points with 135,909 features, about 76 of them in a point, and 670,091 labels, about 5.45 of a point: 600 MB of
text. Which ones is drawn: the files show that such a set can be read and trained, not how well.
"""
import argparse
import random
from pathlib import Path

POINTS, FEATURES, LABELS = 490_449, 135_909, 670_091
FEATURES_OF_POINT, MOST_LABELS, AT_ONCE = (40, 112), 10, 1000


def line(draw, values):
    labels = sorted({int(LABELS * draw.random() ** 2) for _ in range(draw.randrange(1, MOST_LABELS + 1))})
    features = sorted({int(FEATURES * draw.random() ** 2) for _ in range(draw.randrange(*FEATURES_OF_POINT))})
    return ",".join(map(str, labels)) + "".join(f" {feature}:{draw.choice(values)}" for feature in features) + "\n"


def write_points(path, count, seed):
    draw = random.Random(seed)
    values = [f"{draw.random():.6f}" for _ in range(AT_ONCE)]
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{count} {FEATURES} {LABELS}\n")
        for first in range(0, count, AT_ONCE):
            file.write("".join(line(draw, values) for _ in range(min(AT_ONCE, count - first))))


def write_files(folder, points=POINTS, test=2000):
    """Writes train.txt and test.txt into a folder that is there."""
    write_points(Path(folder) / "train.txt", points, 1)
    write_points(Path(folder) / "test.txt", test, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--test", type=int, default=2000)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_files(arguments.folder, arguments.points, arguments.test)


if __name__ == "__main__":
    main()
