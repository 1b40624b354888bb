"""Tests what scripts/time_build reads and concludes."""
import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "time_build"
loader = importlib.machinery.SourceFileLoader("time_build", str(SCRIPT))
time_build = importlib.util.module_from_spec(importlib.util.spec_from_loader("time_build", loader))
loader.exec_module(time_build)

LOG = """Start testing: Nov 19 14:48 UTC
----------------------------------------------------------
2/3 Testing: base
2/3 Test: base
Command: "/build/tests/base/test_base" "--gtest_brief=1"
Output:
[==========] 52 tests from 17 test suites ran. (321 ms total)
<end of output>
Test time =   0.33 sec
----------------------------------------------------------
1/3 Testing: peer/values
1/3 Test: peer/values
Command: "x"
Test time =  12.50 sec
"""


def job(wall, cpu, failed=False):
    return {"wall": wall, "cpu": cpu, "failed": failed}


class TimeBuild(unittest.TestCase):
    def test_times_of_tests(self):
        self.assertEqual(time_build.TEST.findall(LOG), [("base", "0.33"), ("peer/values", "12.50")])

    def test_jobs_of_ci(self):
        jobs = time_build.jobs_of_ci()
        self.assertEqual(jobs["build and all tests"], "make test")
        self.assertGreaterEqual(len(jobs), 5)

    def test_page(self):
        page = time_build.report({
            "machine": {"processor": "a CPU", "threads": 2, "date": "2000-01-01", "commit": "abc"}, "load": 0.0,
            "parts": {"run": {"": job(125, 240)}, "cold": {"lint": job(60, 61), "all tests": job(5, 6, failed=True)}},
            "commits": {"run": "abc", "cold": "old"},
            "tests": {"processes": 2, "cases": 52, "skipped": 1, "seconds": 12.8, "slowest": {"peer/values": 12.5}}})
        self.assertIn("| **`make run`, nothing cached** | 2 min 05 s | 4 min 00 s | 5 min |", page)
        self.assertIn("| **`.ci/run`, nothing cached** (commit old), FAILED | 1 min 05 s | 1 min 07 s | 60 min |", page)
        self.assertIn("| all tests, FAILED | 5.0 s | 6.0 s |  |", page)
        self.assertIn("2 processes of CTest with 52 cases, of which 1 are skipped", page)
        self.assertIn("| peer/values | 12.5 |", page)

    def test_parts_that_were_not_looked_at_stay(self):
        here = {"processor": "a CPU", "threads": 2}
        old = {"machine": here | {"commit": "old"}, "load": 0.0, "parts": {"run": {"": job(1, 2)}, "warm": {"": job(3, 4)}},
               "commits": {"run": "old", "warm": "old"}}
        new = {"machine": here | {"commit": "new"}, "load": 0.1, "parts": {"warm": {"": job(5, 6)}}, "commits": {"warm": "new"}}
        both = time_build.merged(old, new)
        self.assertEqual(list(both["parts"]), ["run", "warm"])
        self.assertEqual(both["parts"]["warm"], new["parts"]["warm"])
        self.assertEqual(both["commits"], {"run": "old", "warm": "new"})
        elsewhere = new | {"machine": {"processor": "another", "threads": 2, "commit": "new"}}
        self.assertEqual(time_build.merged(old, elsewhere), elsewhere)


if __name__ == "__main__":
    unittest.main()
