"""Trains label trees of omikuji or napkinxc on files of extreme classification; prints one line of JSON.

    xmc_trees.py parabel TRAIN TEST [--threads N]    or bonsai (both omikuji), plt (napkinxc)

Seconds of training without reading the file where the library lets one tell them apart, and of prediction; P@k and PSP@k
as Antichain measures them: over all test points, those without labels counting 0.
"""
import argparse
import importlib.metadata
import json
import math
import os
import tempfile
import time

from napkinxc.datasets import load_libsvm_file

RANKED = (1, 3, 5)
A, B = 0.55, 1.5  # of the propensities


def inverse_propensities(label_lists):
    counts = {}
    for labels in label_lists:
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    scale = (math.log(len(label_lists)) - 1) * (B + 1) ** A
    return lambda label: 1 + scale * (counts.get(label, 0) + B) ** -A


def measures(predicted, truth, weight):
    found = {}
    for k in RANKED:
        hits = reached = most = 0.0
        for ranked, labels in zip(predicted, truth):
            own = set(labels)
            right = [label for label in ranked[:k] if label in own]
            hits += len(right)
            reached += sum(map(weight, right))
            most += sum(sorted(map(weight, own), reverse=True)[:k])
        found[f"precision_at_{k}"] = hits / k / len(truth)
        found[f"propensity_precision_at_{k}"] = reached / most
    return found


def by_omikuji(arguments, features):
    import omikuji
    options = omikuji.Model.default_hyper_param()
    if arguments.method == "bonsai":
        options.cluster_k, options.cluster_balanced = 100, False
    start = time.perf_counter()
    model = omikuji.Model.train_on_data(arguments.train, options, n_threads=arguments.threads)
    trained = time.perf_counter()
    rows = [list(zip(map(int, features[i].indices), map(float, features[i].data))) for i in range(features.shape[0])]
    begun = time.perf_counter()
    predicted = [[label for label, _ in model.predict(row, top_k=RANKED[-1])] for row in rows]
    return predicted, trained - start, time.perf_counter() - begun


def by_napkinxc(arguments, features):
    from napkinxc.models import PLT
    train_features, train_labels = load_libsvm_file(arguments.train, labels_format="list")
    with tempfile.TemporaryDirectory() as folder:
        model = PLT(folder, threads=arguments.threads)
        start = time.perf_counter()
        model.fit(train_features, train_labels)
        trained = time.perf_counter()
        predicted = model.predict(features, top_k=RANKED[-1])
        return predicted, trained - start, time.perf_counter() - trained


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=("parabel", "bonsai", "plt"))
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    # What libraries print about their progress would stand before the line.
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    features, truth = load_libsvm_file(arguments.test, labels_format="list")
    library, train = ("napkinxc", by_napkinxc) if arguments.method == "plt" else ("omikuji", by_omikuji)
    predicted, seconds, predict_seconds = train(arguments, features)
    weight = inverse_propensities(load_libsvm_file(arguments.train, labels_format="list")[1])
    print(json.dumps({"system": f"{library} {importlib.metadata.version(library)}", "seconds": seconds,
                      "predict_seconds": predict_seconds} | measures(predicted, truth, weight)), file=said)


if __name__ == "__main__":
    main()
