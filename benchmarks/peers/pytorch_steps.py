"""Times one of the training steps of benchmarks/training_steps.cpp or gpu/gpu_cases.cpp in PyTorch; prints JSON.

    pytorch_steps.py --list                  the names of the cases that are timed on the CPU
    pytorch_steps.py [--compile] <case>      milliseconds of a step, eager or by torch.compile
    pytorch_steps.py --device cuda <case>    milliseconds of a step on a GPU: eager, and replayed as a CUDA graph
    pytorch_steps.py --device cuda --gradients BATCH <case>   error of the gradients of so many examples against f64

    pytorch_steps.py --shared SECONDS <case>  steps done in that time, begun with others (see benchmarks/shared_machine)

The time is the median over the steps of this process. The step is what a user writes: zero_grad, forward,
backward, step, and the loss read at the end; on a GPU, for which that would wait, only at the end of ten steps.
"""
import argparse
import json
import os
import statistics
import sys
import time
import warnings

import torch

from pytorch_models import CPU_CASES, GPU_CASES

SECONDS = 1.0
MIN_STEPS = 2
WARM_UP_SECONDS = 0.3  # of a GPU, until its clock is up
GPU_BURST = 10  # steps until somebody waits


def times_of(step, seconds, burst=1):
    times = []
    start = time.perf_counter()
    while len(times) < MIN_STEPS or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        for _ in range(burst - 1):
            step()
        step().item()
        times.append((time.perf_counter() - before) * 1e3 / burst)
    return times


def on_cpu(case, compiled):
    if compiled:
        case.model = torch.compile(case.model)
    case.step().item()
    return {"milliseconds": statistics.median(times_of(case.step, SECONDS))}


def shared(case, seconds):
    """Does steps for a while, from when a line arrives on standard input, so that several processes begin together."""
    case.step().item()
    print("ready", flush=True)
    sys.stdin.readline()
    return {"milliseconds": statistics.mean(times_of(case.step, seconds))}


def as_cuda_graph(step):
    """Returns a function that replays a step as one graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):  # what is allocated and chosen once must not be captured
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


def on_gpu(make, device, gradient_batch):
    torch.backends.cudnn.benchmark = True  # lets it choose its fastest convolutions
    with torch.device(device):
        case = make()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = case.tf32
    if gradient_batch:
        return {"error": case.gradient_error(gradient_batch)}

    def median(step):
        times_of(step, WARM_UP_SECONDS, GPU_BURST)
        return {"milliseconds": statistics.median(times_of(step, SECONDS, GPU_BURST))}

    result = {"version": torch.__version__, "eager": median(case.step)}
    try:
        result["graph"] = median(as_cuda_graph(case.step))
    except Exception as error:  # whatever cannot be captured: it is the answer
        result["graph"] = {"reason": str(error).strip().splitlines()[0]}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--compile", action="store_true", help="compile the model, on the CPU")
    parser.add_argument("--device", default="cpu", help="where to run, default cpu")
    parser.add_argument("--shared", type=float, metavar="SECONDS", help="do steps for so long, beside other processes")
    parser.add_argument("--gradients", type=int, metavar="BATCH", help="compare gradients with f64, on a GPU")
    parser.add_argument("case", nargs="?", choices=CPU_CASES | GPU_CASES)
    arguments = parser.parse_args()
    if arguments.list:
        json.dump({"version": torch.__version__, "cases": list(CPU_CASES)}, sys.stdout)
        return
    if arguments.case is None:
        parser.error("name a case, or --list")
    make = (CPU_CASES | GPU_CASES)[arguments.case]
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    torch.manual_seed(1)
    warnings.filterwarnings("ignore", category=UserWarning)  # about sparse tensors being new
    if arguments.shared:
        json.dump(shared(make(), arguments.shared), sys.stdout)
        return
    on_a_gpu = arguments.device != "cpu"
    json.dump(on_gpu(make, arguments.device, arguments.gradients) if on_a_gpu else on_cpu(make(), arguments.compile), sys.stdout)


if __name__ == "__main__":
    main()
