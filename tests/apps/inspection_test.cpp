// `antichain compare`, `gradcheck`, `bench`, `explain`.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/apps/run_program.h"
#include "tests/base/cache_folder.h"
#include "tests/base/temporary_folder.h"

namespace antichain::inspection_test {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kSmall = " spirals --batch 100 --set hidden=5 ";

TEST(Compare, GivesARowPerEngineAndAReport) {
  const TemporaryFolder folder;
  const std::string arguments = std::string("compare") + kSmall +
                                "--epochs 2 --engines backprop,forward --out " +
                                (folder / "c").string();
  const ProgramRun run = run_program("--json " + arguments);
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json engines = run.last_line().at("engines");
  ASSERT_EQ(engines.size(), 2U);
  EXPECT_EQ(engines[0].at("engine"), "backprop");
  EXPECT_EQ(engines[1].at("engine"), "forward");
  const double loss = engines[0].at("train_loss");
  EXPECT_NEAR(engines[1].at("train_loss").get<double>(), loss, 1e-4 * loss);
  for (const nlohmann::json& engine : engines) {
    EXPECT_LT(engine.at("gradient_error"), 1e-5);
    EXPECT_GT(engine.at("peak_bytes"), 0);
    EXPECT_GT(engine.at("seconds"), 0);
  }
  EXPECT_THAT(read_text(folder / "c/report.html"), HasSubstr("forward train"));
}

TEST(Compare, ShowsTheLossesOfEachStep) {
  const TemporaryFolder folder;
  const std::string arguments =
      "bitstream-rnn --engines backprop,scan --set T=40 --set samples=100 "
      "--set hidden=4 --max-steps 3 --plot " +
      (folder / "losses.svg").string() + " --out ";
  const ProgramRun run = run_program("compare " + arguments + (folder / "a").string());
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("loss of step        backprop"));
  EXPECT_THAT(run.out, ContainsRegex("largest difference  –  +[0-9.]+e[-+]0"));
  EXPECT_THAT(read_text(folder / "losses.svg"),
              testing::AllOf(testing::StartsWith("<svg xmlns="), HasSubstr(">scan</text>"),
                             testing::EndsWith("</svg>\n")));
  const nlohmann::json json =
      run_program("--json compare " + arguments + (folder / "b").string()).last_line();
  ASSERT_EQ(json.at("losses").size(), 3U);
  EXPECT_EQ(json["losses"][2].at("step"), 3);
  EXPECT_NEAR(json["losses"][2].at("backprop").get<double>(),
              json["losses"][2].at("scan").get<double>(), 1e-5);
  EXPECT_EQ(json["engines"][0].at("largest_loss_difference"), 0);
  EXPECT_LT(json["engines"][1].at("largest_loss_difference"), 1e-5);
  EXPECT_GT(json["engines"][1].at("step_seconds"), 0);
}

// A recipe that has less to do for one engine has so for all of them.
TEST(Compare, TrainsOneModelByAllEngines) {
  const TemporaryFolder folder;
  const std::string arguments = "compare spirals --engines backprop,forward --max-steps 2 --out ";
  const ProgramRun run = run_program(arguments + (folder / "a").string());
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("All engines train with hidden=12, epochs=25, as one of them would "
                        "by itself."));
  const nlohmann::json engines =
      run_program("--json " + arguments + (folder / "b").string()).last_line().at("engines");
  nlohmann::json settings = engines[0].at("settings");
  settings["engine"] = "forward";
  EXPECT_EQ(settings, engines[1].at("settings"));
  EXPECT_EQ(engines[0].at("parameters"), engines[1].at("parameters"));
  EXPECT_LT(engines[1].at("largest_loss_difference"), 1e-5);
  const nlohmann::json alone =
      run_program("--json compare spirals --engines backprop --max-steps 2 --out " +
                  (folder / "c").string())
          .last_line();
  EXPECT_EQ(alone.at("engines")[0].at("settings").at("hidden"), 64);
}

// An engine that estimates a way to be slower does not go it, and says so.
TEST(Compare, SaysWhatEnginesDid) {
  const TemporaryFolder folder;
  const std::string arguments =
      "compare bitstream-rnn --engines backprop,scan --set T=40 --set samples=100 "
      "--set hidden=64 --max-steps 1 --out ";
  const ProgramRun run = run_program(arguments + (folder / "a").string());
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("engine  region .*how"));
  EXPECT_THAT(run.out, ContainsRegex("scan    chain .*in 'rnn'.*step by step: "));
  EXPECT_THAT(read_text(folder / "a/report.html"), HasSubstr("step by step: "));
  const nlohmann::json engines =
      run_program("--json " + arguments + (folder / "b").string()).last_line().at("engines");
  EXPECT_TRUE(engines[0].at("engine_choices").empty());
  EXPECT_EQ(engines[1].at("engine_choices")[0].at("engine"), "scan");
  EXPECT_THAT(std::string(engines[1].at("engine_choices")[0].at("how")),
              testing::StartsWith("step by step: "));
}

TEST(Compare, ChecksEveryEngineFirst) {
  const TemporaryFolder folder;
  const ProgramRun run =
      run_program("compare --engines backprop,none --out " + (folder / "c").string());
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no gradient engine 'none'"));
  EXPECT_FALSE(std::filesystem::exists(folder / "c"));
}

TEST(Gradcheck, NamesEveryParameter) {
  const ProgramRun run = run_program(std::string("gradcheck --json --engine forward") + kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json result = run.last_line();
  EXPECT_EQ(result.at("engine"), "forward");
  EXPECT_LT(result.at("max_relative_error"), 1e-5);
  EXPECT_GT(result.at("cosine"), 0.999999);
  EXPECT_EQ(result.at("parameters").size(), 6U);
  EXPECT_EQ(result.at("cosines").size(), 6U);
  EXPECT_TRUE(result.at("parameters").contains("mlp.0.weight"));
  EXPECT_THAT(run_program(std::string("gradcheck") + kSmall).out,
              ContainsRegex("mlp.2.bias +[0-9.]+e-"));
}

TEST(Gradcheck, TakesTheWeightsOfARun) {
  const TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  ASSERT_EQ(run_program("train spirals --epochs 3 --set hidden=5 --out " + run).code, 0);
  const auto losses = [](const std::string& of) {
    const ProgramRun check = run_program("gradcheck --json " + of);
    EXPECT_EQ(check.code, 0) << check.err;
    return check.last_line();
  };
  const nlohmann::json trained = losses(run), started = losses("spirals --set hidden=5");
  EXPECT_EQ(trained.at("recipe"), "spirals");
  EXPECT_LT(trained.at("loss"), started.at("loss"));
  EXPECT_EQ(losses(run + " --engine forward").at("engine"), "forward");
  const ProgramRun none = run_program("gradcheck " + (folder / "").string());
  EXPECT_EQ(none.code, 2);
}

TEST(Bench, MeasuresTheStep) {
  const ProgramRun run = run_program(std::string("bench --json --steps 5") + kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_GT(run.last_line().at("step_seconds"), 0);
  EXPECT_GT(run.last_line().at("peak_bytes"), 0);
  EXPECT_GT(run.last_line().at("first_step_seconds"), run.last_line().at("fastest_step_seconds"));
  // Three layers, forwards and backwards, but for the gradient of the input.
  const double products = 3 * 2.0 * 100 * (2 * 5 + 5 * 5 + 5 * 3) - 2.0 * 100 * 2 * 5;
  EXPECT_EQ(run.last_line().at("flops_per_step"), products);
}

TEST(Bench, TellsWhatFitsIntoABudget) {
  const std::string arguments =
      "--json bench conv-chain --steps 1 --warm-up 0 --batch 1 --set depth=200";
  const nlohmann::json all = run_program(arguments).last_line();
  EXPECT_EQ(all.at("activation_bytes"), 4 * 16 * 16 * 4);
  EXPECT_EQ(all.at("stored_activations"), 200);
  EXPECT_EQ(all.at("forward_evaluations_max"), 1);
  const ProgramRun run = run_program(arguments + " --memory-budget 100KiB");
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json few = run.last_line();
  EXPECT_LT(few.at("stored_activations"), 25);
  EXPECT_GE(few.at("stored_activations"), 15);
  EXPECT_EQ(few.at("forward_evaluations_max"), 2);
  EXPECT_LT(few.at("peak_bytes"), 110 * 1024);
  const ProgramRun none = run_program(arguments + " --memory-budget 1KiB");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err,
              HasSubstr("memory_budget: nothing fits into 1.0 KiB; the least that would "));
}

TEST(Explain, TakesABudget) {
  const ProgramRun run =
      run_program("--json explain conv-chain --batch 1 --set depth=50 --memory-budget 100KiB");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("replayed_chain"));
}

TEST(Explain, ShowsParametersAndOps) {
  const TemporaryFolder folder;
  const std::string files =
      "--dot " + (folder / "g.dot").string() + " --text " + (folder / "g.txt").string();
  const ProgramRun run = run_program("explain --json " + files + kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.last_line().at("parameters"), 2 * 5 + 5 + 5 * 5 + 5 + 5 * 3 + 3);
  EXPECT_GT(run.last_line().at("num_ops"), 10);
  EXPECT_THAT(read_text(folder / "g.dot"), HasSubstr("digraph"));
  EXPECT_THAT(read_text(folder / "g.txt"), HasSubstr("matmul("));
  EXPECT_THAT(run_program(std::string("explain") + kSmall).out,
              ContainsRegex("\nmlp.0.weight +\\[2, 5\\] +10\n"));
}

TEST(Explain, ShowsWhatIsComputedTogether) {
  const TemporaryFolder folder;
  const std::string code = (folder / "code.txt").string();
  const ProgramRun run = run_program("explain --clusters spirals --set hidden=40 --code " + code);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("\nadd, relu +"));
  EXPECT_THAT(run.out, ContainsRegex("\nmatmul, add, relu +"));
  const std::string levels[] = {"0", "1", "2"};
  std::size_t clusters[3], ops[3];
  for (int n = 0; n < 3; ++n) {
    const nlohmann::json facts =
        run_program("explain --json --level " + levels[n] + kSmall).last_line();
    clusters[n] = facts.at("clusters").size();
    ops[n] = facts.at("num_ops");
  }
  EXPECT_EQ(clusters[1], 0U);
  EXPECT_GT(clusters[2], 2U);
  EXPECT_GE(ops[0], ops[1]);
  EXPECT_GT(ops[1], ops[2]);
  EXPECT_EQ(run_program(std::string("explain --json --disable-pass fuse-elementwise") + kSmall)
                .last_line()
                .at("clusters")
                .size(),
            0U);
  const bool has_llvm = run_program("--json --version").last_line().at("parts").at("llvm");
  EXPECT_EQ(read_text(code).find("define void @cluster") != std::string::npos, has_llvm);
}

// The file with the graph that a pass has made; none: empty.
std::filesystem::path graph_after(const std::string& pass, const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with("-" + pass + ".txt")) {
      return entry.path();
    }
  }
  return {};
}

TEST(Explain, WritesTheGraphAfterEveryPass) {
  const TemporaryFolder folder;
  const std::string dump = " --dump-passes " + (folder / "p").string();
  const ProgramRun run = run_program("--log-level info explain" + dump + kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, ContainsRegex(" 0  built +[0-9.]+ +[0-9]+\n"));
  EXPECT_THAT(read_text(folder / "p/1/passes.txt"),
              ContainsRegex("[0-9]+  fuse-elementwise +[0-9.]+"));
  const std::string fused = read_text(graph_after("fuse-elementwise", folder / "p/1"));
  EXPECT_THAT(fused, ContainsRegex("^# fuse-elementwise: [0-9.]+ ms, [0-9]+ ops\n"));
  EXPECT_THAT(fused, HasSubstr(" = fused("));
  EXPECT_THAT(read_text(folder / "p/1/00-built.txt"), Not(HasSubstr(" = fused(")));
  const ProgramRun other = run_program("explain --memory-budget 1MiB" + dump + kSmall);
  ASSERT_EQ(other.code, 0) << other.err;  // beside the first
  EXPECT_THAT(read_text(folder / "p/2/passes.txt"), ContainsRegex("[0-9]+  memory-budget "));
  EXPECT_FALSE(graph_after("memory-budget", folder / "p/2").empty());
  const ProgramRun wrong =
      run_program("explain --dump-passes " + (folder / "p/1/passes.txt").string() + kSmall);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("cannot make a folder for the graphs of passes in '"));
}

TEST(Explain, SaysHowAnEngineGoesAboutAChain) {
  const std::string recipe = "explain bitstream-rnn --batch 4 --set samples=100 --set length=10";
  const auto how = [&](const std::string& hidden) -> std::string {
    const ProgramRun run =
        run_program("--json " + recipe + " --set engine=scan --set hidden=" + hidden);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.last_line().at("engine_choices").at(0).at("how");
  };
  EXPECT_THAT(how("3"), HasSubstr("by a scan: a step takes about"));
  EXPECT_THAT(how("90"), HasSubstr("step by step: a step takes about"));
  const ProgramRun plain = run_program("--json " + recipe);
  EXPECT_FALSE(plain.last_line().contains("engine_choices"));
}

TEST(Explain, SaysWhichAlgorithmAScanTakes) {
  const std::string recipe =
      "--json explain bitstream-rnn --batch 4 --set samples=100 --set T=10 --set hidden=3";
  const auto choices = [&](const std::string& settings) {
    const ProgramRun run = run_program(recipe + settings);
    EXPECT_EQ(run.code, 0) << run.err;
    const nlohmann::json facts = run.last_line();
    return facts.contains("device_choices") ? facts.at("device_choices") : nlohmann::json::array();
  };
  const nlohmann::json chosen = choices(" --set engine=scan");
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_THAT(chosen[0].at("how").get<std::string>(),
              ContainsRegex("^(serial|chunked).*, for 10 steps of 4 matrices of 3 x 3 on [0-9]+ "
                            "cores: step by step about .* ms, in chunks .* ms$"));
  const nlohmann::json asked = choices(" --engine scan:algorithm=chunked,chunk=4");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(asked[0].at("how").get<std::string>(),
              ContainsRegex("^chunked with chunks of 4 steps, .*: asked for$"));
  EXPECT_EQ(choices("").size(), 0U);
}

TEST(Calibrate, MeasuresOnce) {
  const TemporaryFolder folder;
  const CacheFolder cache((folder / "cache").string());
  // Other tests run beside this one.
  const nlohmann::json first = run_program("--json calibrate --busy").last_line(),
                       second = run_program("--json calibrate").last_line();
  EXPECT_EQ(first.at("measured"), true);
  EXPECT_EQ(second.at("measured"), false);
  EXPECT_EQ(first.at("scan_costs"), second.at("scan_costs"));
  EXPECT_EQ(first.at("scan_costs").size(), 5U);
  EXPECT_EQ(run_program("--json calibrate --busy --again").last_line().at("measured"), true);
  EXPECT_THAT(run_program("calibrate").out, HasSubstr("Measured before"));
  // A machine on which giving work to threads takes a second chooses no chunks.
  const std::string file = first.at("file");
  std::ofstream(file) << "step 1e-9\ncolumn 1e-9\nentry 1e-9\nterm 1e-12\nfork 1\n";
  const ProgramRun run = run_program(
      "--json explain bitstream-rnn --batch 1 --set samples=100 --set T=200 --set hidden=3 "
      "--set engine=scan");
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string how = run.last_line().at("device_choices").at(0).at("how");
  EXPECT_THAT(how, testing::StartsWith("serial, "));
  EXPECT_THAT(how, HasSubstr("step by step about 1e+03 ms, in chunks 3e+03 ms"));
  const CacheFolder none("");
  EXPECT_THAT(run_program("calibrate").err, HasSubstr("there is no folder to keep the results in"));
}

TEST(Calibrate, StoresNothingOnABusyMachine) {
  const TemporaryFolder folder;
  const CacheFolder cache((folder / "cache").string());
  std::atomic<bool> done = false;
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&done] {
      while (!done) {
      }
    });
  }
  const ProgramRun run = run_program("calibrate");
  done = true;
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, ContainsRegex("calibrate: this machine is busy, a thread waited for a core "
                                     "[0-9]+ % of the time; nothing was stored"));
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
}

TEST(Explain, SaysHowAnEngineGoesAboutStages) {
  const ProgramRun run = run_program(std::string("explain --json --set engine=scan") + kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(std::string(run.last_line().at("engine_choices").at(0).at("how")),
              HasSubstr("stage by stage: a scan over"));
}

TEST(Explain, CountsWhatHasItsChannelsLast) {
  const ProgramRun run = run_program("explain conv-chain --level 3 --set batch=4");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("\nchannels last +[0-9]+ of [0-9]+ ops"));
  EXPECT_EQ(run_program(std::string("explain --json") + kSmall).last_line().at("num_channels_last"),
            0);
}

TEST(Explain, ShowsTheMemoryPlan) {
  const TemporaryFolder folder;
  const std::string svg = "--memory --memory-svg " + (folder / "m.svg").string();
  const ProgramRun run = run_program("explain --json " + svg + kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json memory = run.last_line().at("memory");
  EXPECT_EQ(memory.at("peak_bytes"), memory.at("allocated_bytes"));
  EXPECT_GE(memory.at("peak_bytes"), memory.at("bound_bytes"));
  EXPECT_LE(memory.at("ratio"), 1.05);
  const nlohmann::json& values = memory.at("values");
  ASSERT_GT(values.size(), 3U);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(values[i].at("bytes"), values[i > 0 ? i - 1 : 0].at("bytes")) << "largest first";
    EXPECT_LE(values[i].at("first_step"), values[i].at("last_step"));
    EXPECT_LE(values[i].at("last_step"), memory.at("steps"));
    EXPECT_FALSE(values[i].at("op").get<std::string>().empty());
    EXPECT_FALSE(values[i].at("where").get<std::string>().empty());
  }
  const std::string image = read_text(folder / "m.svg");
  EXPECT_THAT(image, testing::StartsWith("<svg xmlns"));
  EXPECT_THAT(image, HasSubstr("<title>%"));
  EXPECT_THAT(image, HasSubstr("alive at once"));
  EXPECT_THAT(image, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(run_program(std::string("explain --memory") + kSmall).out,
              ContainsRegex("\nplanned / alive +1\\.0"));
  EXPECT_FALSE(run_program(std::string("explain --json") + kSmall).last_line().contains("memory"));
}

}  // namespace antichain::inspection_test
