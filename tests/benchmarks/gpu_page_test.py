"""Tests what benchmarks/gpu/run concludes from measurements."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "gpu")]

import gpu_page  # noqa: E402

SMALL = "mlp 784-512-512-10 B=128 momentum tf32"  # at most 0.06 ms
ADAM = "mlp 784-1024-1024-10 B=128 adam"  # at least 1.5 times as fast
ABOUT = {"gpu": "a GPU", "driver": "1.2", "processor": "a CPU", "threads": 2, "date": "2000-01-01", "commit": "abc"}


def ours(milliseconds, flops=None, tf32=False, size=0):
    return {"milliseconds": milliseconds, "flops": flops or {}, "tf32": tf32, "bytes": size, "plan_bytes": 2**20}


def case(antichain, eager, graph):
    return {"antichain": ours(antichain), "eager": {"milliseconds": eager}, "graph": {"milliseconds": graph}}


class Conclusions(unittest.TestCase):
    def test_ratio_is_to_the_better_of_theirs(self):
        self.assertAlmostEqual(gpu_page.ratio(case(0.05, 1, 0.1)), 2)
        self.assertAlmostEqual(gpu_page.ratio({"antichain": ours(0.5), "eager": {"milliseconds": 1},
                                               "graph": {"reason": "cannot be captured"}}), 2)

    def test_goals_of_both_kinds(self):
        self.assertTrue(gpu_page.is_met(SMALL, case(0.06, 1, 1)))
        self.assertFalse(gpu_page.is_met(SMALL, case(0.061, 1, 1)))
        self.assertTrue(gpu_page.is_met(ADAM, case(1, 2, 1.5)))
        self.assertFalse(gpu_page.is_met(ADAM, case(1, 2, 1.4)))

    def test_what_was_not_measured_is_not_met_nor_missed(self):
        self.assertIsNone(gpu_page.is_met(SMALL, {}))
        self.assertIsNone(gpu_page.is_met(ADAM, {"antichain": ours(1)}))
        self.assertIsNone(gpu_page.is_met(ADAM, {"antichain": {"reason": "out of memory"}, "eager": {"milliseconds": 1}}))

    def test_least_time_is_the_longer_of_arithmetic_and_traffic(self):
        flops = {"bf16": 781e9, "f32": 51e9}
        self.assertAlmostEqual(gpu_page.least_milliseconds(ours(1, flops)), 2)
        self.assertAlmostEqual(gpu_page.least_milliseconds(ours(1, {"f32": 395e9}, tf32=True)), 1)
        self.assertAlmostEqual(gpu_page.least_milliseconds(ours(1, flops, size=4.24e9 * 3)), 3)
        self.assertAlmostEqual(gpu_page.conclusions(SMALL, {"antichain": ours(4, flops)})["of_roofline"], 0.5)


class Page(unittest.TestCase):
    def page(self, steps):
        return gpu_page.report({"machine": ABOUT, "pytorch": "2", "steps": steps})

    def test_nothing_measured_yet(self):
        page = self.page({name: {} for name in gpu_page.GOALS})
        for name in gpu_page.GOALS:
            self.assertIn(f"| {name} | –", page)
        self.assertIn(f"0 of {len(gpu_page.GOALS)} goals", page)

    def test_a_case_that_fails_says_why(self):
        page = self.page({SMALL: {"antichain": {"reason": "a | b"}, "eager": {"milliseconds": 1},
                                  "graph": {"reason": "cannot be captured"}, "gradients": {"reason": "too long"}}})
        self.assertIn("| none: a / b | 1.000 | none: cannot be captured | – | ≤ 0.06 ms | – | – | – | – | none: too long |",
                      page)

    def test_a_whole_row(self):
        measured = case(0.05, 1, 0.1) | {"gradients": {"error": 1.26e-6, "batch": 8, "step_batch": 16}}
        measured["antichain"]["flops"] = {"f32": 2e9}
        page = self.page({SMALL: measured})
        self.assertIn("| 0.050 | 1.000 | 0.100 | 2.00 | ≤ 0.06 ms | yes | 0.78 | 2.0 | 1.0 | 1.3e-06 (B=8) |", page)
        self.assertIn("1 of 1 goals", page)


class Missing(unittest.TestCase):
    def test_what_is_not_there_or_ran_out_of_time(self):
        self.assertEqual(gpu_page.missing_parts({}), list(gpu_page.PARTS))
        self.assertEqual(gpu_page.missing_parts({}, has_peer=False), ["antichain", "gradients"])
        found = case(1, 2, 3) | {"gradients": {"error": 1e-6, "batch": 8, "step_batch": 16}}
        self.assertEqual(gpu_page.missing_parts(found), ["peer_gradients"])
        found["peer_gradients"] = {"reason": "took more than 60 s"}
        self.assertEqual(gpu_page.missing_parts(found), ["peer_gradients"])
        found["peer_gradients"] = {"error": 1e-6}
        self.assertEqual(gpu_page.missing_parts(found), [])

    def test_another_reason_is_a_finding(self):
        found = case(1, 2, 3) | {"gradients": {"reason": "out of memory"}}
        found["graph"] = {"reason": "cannot be captured"}
        self.assertEqual(gpu_page.missing_parts(found), [])
        found["gradients"] = {"reason": "took more than 300 s"}
        self.assertEqual(gpu_page.missing_parts(found), ["gradients"])

    def test_resuming_fills_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            names = repr(list(gpu_page.GOALS))
            program = Path(folder) / "program"
            program.write_text(f"""#!/usr/bin/env python3
import json, pathlib, sys, time
if sys.argv[1] == "--list":
    print("\\n".join({names}))
elif sys.argv[1] == "--gradients":
    started = pathlib.Path({folder!r}, sys.argv[2].replace("/", " ") + ".started")
    if not started.exists():
        started.touch()
        time.sleep(20)
    print(json.dumps({{"error": 1e-6, "batch": 8, "step_batch": 8}}))
else:
    print(json.dumps({{"milliseconds": 1, "flops": {{}}, "tf32": False, "bytes": 0, "plan_bytes": 0}}))
""", encoding="utf-8")
            program.chmod(0o755)

            def run(*more):
                return subprocess.run([sys.executable, "-B", BENCHMARKS / "gpu" / "run", "--program", program, "--out", folder,
                                       "--only", "gru", "--no-peer", *more], capture_output=True, text=True, check=False)
            first = run("--seconds", "4")
            self.assertEqual(first.returncode, 3, first.stderr)
            self.assertIn("has no figures of gru T=128", first.stderr)
            page = (Path(folder) / "gpu.md").read_text(encoding="utf-8")
            self.assertIn("| gru T=128 B=64 inputs=512 h=512 | 1.000 |", page)
            self.assertNotIn("1.0e-06", page)
            second = run("--resume")
            self.assertEqual(second.returncode, 0, second.stderr)
            self.assertNotIn("{'antichain'", second.stderr, "times that are there are not taken again")
            self.assertEqual((Path(folder) / "gpu.md").read_text(encoding="utf-8").count("1.0e-06"), 2)


class Merging(unittest.TestCase):
    def before(self, **changes):
        return {"machine": ABOUT | changes, "pytorch": "2", "steps": {SMALL: case(0.05, 1, 0.1), ADAM: case(1, 2, 3)}}

    def test_cases_stay_with_their_commits(self):
        now = {"machine": ABOUT | {"commit": "def", "date": "2000-01-02"}, "pytorch": "2"}
        kept = gpu_page.kept_cases(self.before(), now)
        self.assertEqual(kept[ADAM]["commit"], "abc")
        again = gpu_page.kept_cases(now | {"steps": kept}, now | {"machine": ABOUT | {"commit": "ghi"}})
        self.assertEqual(again[ADAM]["commit"], "abc")
        page = gpu_page.report(now | {"steps": kept | {SMALL: case(0.04, 1, 1)}})
        self.assertIn(f"commit def, PyTorch 2. 2 of 2 goals are met. Of commit abc: {ADAM}.\n", page)

    def test_another_machine_is_refused(self):
        now = {"machine": ABOUT, "pytorch": "2"}
        for changes in ({"gpu": "another"}, {"driver": "1.3"}, {"processor": "another"}, {"threads": 3}):
            with self.assertRaisesRegex(ValueError, "then, .* now"):
                gpu_page.kept_cases(self.before(**changes), now)
        with self.assertRaisesRegex(ValueError, "PyTorch 2 then, 3 now"):
            gpu_page.kept_cases(self.before(), now | {"pytorch": "3"})


if __name__ == "__main__":
    unittest.main()
