// How long training steps take on a GPU, and how exact their gradients are:
//   bench_gpu_steps [--gradients] [--device=NAME] [--level=N] [case or part of its name]
//   bench_gpu_steps --profile [case or part of its name]
//   bench_gpu_steps --list
// A line of JSON per case, or a table of where the time goes. Inputs lie on the GPU. Steps are
// timed in bursts, at whose end the last loss is on the host: as in training, where nobody waits
// for every loss.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include "benchmarks/gpu/gradient_error.h"
#include "benchmarks/gpu/step_profile.h"
#include "benchmarks/gpu/step_work.h"

namespace {

using namespace antichain;
using Clock = std::chrono::steady_clock;

struct Wish {
  std::string name;  // of a case, or a part of it
  std::string device = "cuda";
  std::optional<int> level;  // none: the case's own
  bool list = false, gradients = false, profile = false;
};

double milliseconds(const bench::TrainingStep& step, const Feeds& feeds, Results& results) {
  const Clock::time_point start = Clock::now();
  step.executable.run_into(results, feeds);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Returns the time of a step in each burst.
std::vector<double> run_for(double milliseconds_in_all, const bench::TrainingStep& step,
                            const Feeds& feeds) {
  constexpr std::size_t kFewest = 5;
  constexpr int kBurst = 10;  // as benchmarks/peers/pytorch_steps.py
  std::vector<Results> results(kBurst);
  std::vector<double> times;
  for (double total = 0; total < milliseconds_in_all || times.size() < kFewest;
       total += times.back() * kBurst) {
    const Clock::time_point start = Clock::now();
    for (Results& one : results) {
      step.executable.start_into(one, feeds);
    }
    results.back().wait();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count() /
                    kBurst);
    for (Results& one : results) {
      one.wait();
    }
  }
  return times;
}

void print_work(const bench::StepWork& work) {
  std::cout << ", \"bytes\": " << work.bytes << ", \"state_bytes\": " << work.state_bytes
            << ", \"flops\": {";
  const char* before = "";
  for (const auto& [dtype, flops] : work.flops) {
    std::cout << before << '"' << dtype << "\": " << flops;
    before = ", ";
  }
  std::cout << '}';
}

void measure(const bench::GpuCase& gpu_case, const CompilerOptions& options, const Wish& wish) {
  constexpr double kWarmUp = 300, kMeasured = 1000;  // milliseconds
  const bench::TrainingStep step = gpu_case.step.make(options, wish.device);
  Feeds feeds;
  for (const auto& [name, value] : step.feeds) {
    feeds[name] = step.session->backend().to_device(value);
  }
  Results results;
  const double first = milliseconds(step, feeds, results);
  run_for(kWarmUp, step, feeds);
  std::vector<double> times = run_for(kMeasured, step, feeds);
  std::sort(times.begin(), times.end());
  std::cout << "{\"name\": \"" << gpu_case.step.name
            << "\", \"milliseconds\": " << times[times.size() / 2]
            << ", \"fastest\": " << times.front() << ", \"first\": " << first
            << ", \"steps\": " << times.size() << ", \"level\": " << options.level
            << ", \"tf32\": " << (gpu_case.step.tf32 ? "true" : "false")
            << ", \"ops\": " << step.executable.num_steps()
            << ", \"plan_bytes\": " << step.executable.memory_bytes()
            << ", \"plan_to_alive\": " << step.executable.memory_report(feeds).ratio();
  print_work(work_of(step));
  std::cout << '}' << std::endl;
}

void profile(const bench::GpuCase& gpu_case, const CompilerOptions& options, const Wish& wish) {
  std::cout << gpu_case.step.name << '\n'
            << bench::profile_table(gpu_case.step.make(options, wish.device)) << std::endl;
}

void compare(const bench::GpuCase& gpu_case, const CompilerOptions& options, const Wish& wish) {
  const bench::GradientError error = bench::gradient_error(gpu_case, options, wish.device);
  std::cout << "{\"name\": \"" << gpu_case.step.name << "\", \"error\": " << error.largest
            << ", \"parameter\": \"" << error.parameter << "\", \"batch\": " << error.batch
            << ", \"step_batch\": " << gpu_case.step.batch << ", \"oracle\": \"" << error.oracle
            << "\"}" << std::endl;
}

int parse_level(std::string_view text) {
  require(text.size() == 1 && text[0] >= '0' && text[0] <= '3',
          "--level must be 0, 1, 2 or 3, got '{}'", text);
  return text[0] - '0';
}

Wish parse(int argc, char** argv) {
  constexpr std::string_view kDevice = "--device=", kLevel = "--level=";
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list") {
      wish.list = true;
    } else if (argument == "--gradients") {
      wish.gradients = true;
    } else if (argument == "--profile") {
      wish.profile = true;
    } else if (argument.starts_with(kDevice)) {
      wish.device = argument.substr(kDevice.size());
    } else if (argument.starts_with(kLevel)) {
      wish.level = parse_level(argument.substr(kLevel.size()));
    } else {
      require(!argument.starts_with("--") && wish.name.empty(), "unexpected argument '{}'",
              argument);
      wish.name = argument;
    }
  }
  return wish;
}

// The case of that name, or all that have it in theirs.
std::vector<bench::GpuCase> chosen(const std::string& name) {
  std::vector<bench::GpuCase> cases = bench::gpu_cases(), result;
  for (bench::GpuCase& each : cases) {
    if (each.step.name == name) {
      return {each};
    }
    if (each.step.name.find(name) != std::string::npos) {
      result.push_back(each);
    }
  }
  require(!result.empty(), "no case has '{}' in its name; --list shows them", name);
  return result;
}

bool try_case(const bench::GpuCase& gpu_case, const Wish& wish) {
  const CompilerOptions options{.level = wish.level.value_or(gpu_case.level)};
  try {
    (wish.profile ? profile : wish.gradients ? compare : measure)(gpu_case, options, wish);
    return true;
  } catch (const std::exception& error) {
    std::cerr << gpu_case.step.name << ": " << error.what() << std::endl;
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Wish wish = parse(argc, argv);
    bool worked = true;
    for (const bench::GpuCase& gpu_case : chosen(wish.name)) {
      if (wish.list) {
        std::cout << gpu_case.step.name << '\n';
      } else {
        worked = try_case(gpu_case, wish) && worked;
      }
    }
    return worked ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_steps: " << error.what() << std::endl;
    return 2;
  }
}
