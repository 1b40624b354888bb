"""What benchmarks/likelihood_page.py concludes from figures that are made up."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import likelihood_page as page  # noqa: E402

HERE = {"processor": "made up", "threads": 2, "date": "today", "commit": "none"}


def run(accuracy, seconds=1.0, cosine=0.5):
    return {"test_accuracy": accuracy / 100, "seconds": 2 * seconds, "epochs": 2,
            "reports": {f"cosine/{layer}.weight": cosine for layer in page.LAYERS} | {"noisy_runs": 8}}


MNIST = {
    "back-propagation": [run(98.0), run(98.2)],
    "M: mixed": [run(98.01, 0.9)],  # 0.09 below the mean
    "F: few": [run(94, 2)],
    "F: many": [run(96, 20)],
    "L: few": [{"reason": "no time was left"}],
}


class Goals(unittest.TestCase):
    def test_are_met_or_missed_part_by_part(self):
        self.assertEqual(page.goal_text("mnist-mlp", MNIST, "M: mixed"), "≥ 98.0 % met, ≤ 1 × met")
        self.assertEqual(page.goal_text("mnist-mlp", MNIST, "F: few"), "≥ 95.5 % missed, ≤ 2.5 × met")
        self.assertEqual(page.goal_text("mnist-mlp", MNIST, "F: many"), "≥ 95.5 % met, ≤ 2.5 × missed")
        self.assertEqual(page.goal_text("mnist-mlp", MNIST, "L: few"), "–")
        self.assertEqual(page.goal_text("mnist-mlp", MNIST, "back-propagation"), "–")

    def test_one_setting_has_to_meet_all_parts(self):
        missed = "\n".join(page.shortfalls({"mnist-mlp": MNIST}))
        self.assertIn("mnist-mlp, F: few: 94.00 %, 2.0 ×", missed)
        self.assertIn("many: 96.00 %, 20.0 ×", missed)
        self.assertIn("mnist-mlp, L: no figures", missed)
        self.assertNotIn("mnist-mlp, M", missed)

    def test_every_attack_counts(self):
        text = page.robustness_section({
            "back-propagation, relu": {"fgsm:0.1": [run(20)], "fgsm:0.1 against the first": [run(20)]},
            "likelihood, threshold": {"fgsm:0.1": [run(55)], "fgsm:0.1 against the first": [run(40)]}})
        for wanted in ("fgsm:0.1: 55.0 %, met", "against the first: 40.0 %, missed", "relu: 20.0 %", "least of them, 40.0 %"):
            self.assertIn(wanted, text)


class Page(unittest.TestCase):
    def found(self):
        speed = {"samples_per_second": 1e4, "step_seconds": 0.01, "flops_per_step": 3.95e12}
        ways = [{"name": "as it is", "milliseconds": 1, "gigabytes_per_second": 1, "teraflops": 1},
                {"name": "in tiles", "milliseconds": 4, "gigabytes_per_second": 1, "teraflops": 1},
                {"name": "otherwise", "reason": "it did not run"}]
        parts = {
            "accuracy": {"mnist-mlp": MNIST},
            "cosine": {"L, Hadamard, masked": {"8": [run(1, 1, 0.25)], "32": [run(1, 1, 0.5)]}},
            "sigma": {"L": {"0.1": [run(1)]}},
            "sites": {"mnist-mlp": {"1": [run(90)], "2": [{"reason": "no time was left"}]}},
            "throughput": {"tf32": {"4": [speed], "8": [{"reason": "no time was left"}]}},
            "primitives": [{"primitives": [{"name": "Hadamard product", "ways": ways}]}],
        }
        return {"cuda": {part: {"machine": HERE | {"gpu": "a GPU"}, "runs": runs} for part, runs in parts.items()},
                "cpu": {"cosine": {"machine": HERE, "runs": parts["cosine"]}}}

    def test_has_every_part_and_says_what_did_not_run(self):
        text = page.report(self.found())
        for wanted in ("| L: few | none: no time was left | – |", "| 98.10 ± 0.14 | 1.00 ± 0.00 | 1.00 |",
                       "| tf32 | 4 | 10.00 | 0.040 | 395.00 | 1.00 |", "| L, Hadamard, masked | 0.250 | 0.500 |",
                       "as it is is fastest; in tiles takes 4.0 ×", "none: it did not run", "(GPU)", "(CPU)"):
            self.assertIn(wanted, text)

    def test_draws_what_it_links(self):
        found = self.found()
        found["cpu"] = found["cpu"] | {part: found["cuda"][part] for part in ("sigma", "sites", "throughput")}
        with tempfile.TemporaryDirectory() as folder:
            page.write_plots(Path(folder), found)
            linked = {word.split(")")[0] for word in page.report(found).split("](")[1:] if word.split(")")[0].endswith("svg")}
            self.assertEqual(linked, {path.name for path in Path(folder).iterdir()})


if __name__ == "__main__":
    unittest.main()
