// `antichain train`, `eval` and what they write.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"
#include "tests/build_paths.h"

namespace antichain::train_test {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kShort = " --epochs 2 --batch 500 --set hidden=5 ";

class Train : public testing::Test {
 protected:
  // Trains into a folder of its own.
  ProgramRun train(const std::string& arguments) {
    return run_program("train --out " + next_folder() + " " + arguments);
  }
  std::string next_folder() { return (folder_ / std::to_string(++count_)).string(); }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(Train, EndsInATable) {
  const ProgramRun run = train(kShort);
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, ContainsRegex("\nengine +backprop\n"));
  EXPECT_THAT(run.out, ContainsRegex("\ntest accuracy +[0-9]+\\.[0-9]+ %\n"));
  EXPECT_THAT(run.out, ContainsRegex("\nsteps +4\n"));
  EXPECT_THAT(run.out, ContainsRegex("\nreport +.*/report.html\n"));
}

// Whoever computes some units only says which part of them: the engine hashing, adaptive dropout.
TEST_F(Train, TellsThePartOfActiveUnits) {
  const std::string small =
      "--json xmc-planted --epochs 1 --set features=200 --set labels=400 --set train=500 --set "
      "test=50 --set hidden=8 ";
  const auto json = [&](const std::string& more) { return train(small + more).last_line(); };
  const nlohmann::json hashed =
      json("--set output=hashed --engine out=hashing:when=always,share=0.1");
  EXPECT_DOUBLE_EQ(hashed.at("active_share"), 0.1);
  EXPECT_EQ(hashed.at("reports").at("out.active_share"), 0.1);
  EXPECT_TRUE(hashed.contains("precision_at_1"));
  EXPECT_GT(hashed.at("samples_per_second"), 0);
  EXPECT_GT(hashed.at("peak_bytes"), 0);
  EXPECT_GT(json("--set output=adaptive-dropout").at("active_share"), 0);
  EXPECT_FALSE(json("--set output=dense").contains("active_share"));
  EXPECT_THAT(train("xmc-planted --epochs 1 --set features=200 --set labels=400 --set train=500 "
                    "--set test=50 --engine out=hashing:when=always,share=0.1")
                  .out,
              ContainsRegex("\nactive share +10.00 %\n"));
}

TEST_F(Train, WritesPlainLinesWithoutATerminal) {
  const ProgramRun run = train("spirals --set hidden=5 --set batch=10 --set epochs=3");
  EXPECT_THAT(run.out, ContainsRegex("^epoch [0-9]/3  loss "));
  EXPECT_THAT(run.out, HasSubstr("0:00 left\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("\r")));
  // Three hundred steps, a line per second.
  EXPECT_LT(std::count(run.out.begin(), run.out.end(), '\n'), 60);
}

TEST_F(Train, DrawsABarOnATerminal) {
  const ProgramRun run = run_program_on_terminal("train --out " + next_folder() + kShort);
  if (run.code == 127) {
    GTEST_SKIP() << "there is no `script` here";
  }
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("\repoch 2/2 \\[#+\\] loss "));
  EXPECT_THAT(run.out, ContainsRegex("test accuracy +[0-9]"));
}

TEST_F(Train, ReportsInJson) {
  const ProgramRun run = train(std::string("--json --seed 7 --device cpu") + kShort);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("epoch 2/2"));
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
  const nlohmann::json result = run.last_line();
  EXPECT_EQ(result.at("recipe"), "spirals");
  EXPECT_EQ(result.at("seed"), 7);
  EXPECT_EQ(result.at("device"), "cpu");
  EXPECT_EQ(result.at("engine"), "backprop");
  EXPECT_EQ(result.at("settings").at("hidden"), 5);
  EXPECT_EQ(result.at("settings").at("lr"), 0.1);
  EXPECT_EQ(result.at("steps"), 4);
  EXPECT_EQ(result.at("finished"), true);
  for (const char* field : {"train_loss", "test_accuracy", "seconds", "samples_per_second",
                            "peak_bytes", "parameters"}) {
    EXPECT_GT(result.at(field), 0) << field;
  }
}

double train_loss(const ProgramRun& run) { return run.last_line().at("train_loss"); }

TEST_F(Train, TheSeedDeterminesTheResult) {
  const std::string json = std::string("--json") + kShort;
  EXPECT_EQ(train_loss(train(json + "--seed -3")), train_loss(train(json + "--seed -3")));
  EXPECT_NE(train_loss(train(json + "--seed -3")), train_loss(train(json + "--seed 3")));
}

TEST_F(Train, ABudgetChangesNoBitAndIsKeptWithTheRun) {
  const std::string arguments = "--json conv-chain --epochs 1 --batch 10 --set depth=40 ";
  const nlohmann::json all = train(arguments).last_line();
  const std::string folder = next_folder();
  const ProgramRun few =
      run_program("train --out " + folder + " " + arguments + "--memory-budget 900KiB");
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_EQ(few.last_line().at("train_loss"), all.at("train_loss"));
  EXPECT_EQ(few.last_line().at("test_loss"), all.at("test_loss"));
  EXPECT_LT(few.last_line().at("peak_bytes"), all.at("peak_bytes"));
  EXPECT_THAT(read_text(folder + "/run.json"), HasSubstr("\"memory_budget\": 921600"));
  EXPECT_EQ(run_program("train --resume " + folder).code, 0);
  EXPECT_THAT(run_program("train --memory-budget 1MiB --resume " + folder).err,
              HasSubstr("--memory-budget cannot be given"));
}

TEST_F(Train, NothingIsWrittenWhereNothingFits) {
  const std::string folder = next_folder();
  const ProgramRun run = run_program("train conv-chain --memory-budget 9 --out " + folder);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("the least that would is"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Train, EnginesAgreeAndCanBeNamedInTwoWays) {
  const std::string json = std::string("--json") + kShort;
  const double backprop = train_loss(train(json));
  const double forward = train_loss(train(json + "--engine forward"));
  EXPECT_NEAR(forward, backprop, 1e-4 * backprop);
  EXPECT_EQ(train_loss(train(json + "--set engine=forward")), forward);
}

TEST_F(Train, LeavesEverythingInItsFolder) {
  const std::string folder = next_folder();
  EXPECT_EQ(run_program("train --out " + folder + kShort).code, 0);
  EXPECT_THAT(read_text(folder + "/run.json"), HasSubstr("\"recipe\": \"spirals\""));
  EXPECT_TRUE(std::filesystem::exists(folder + "/checkpoints/step-00000004-final/state.json"));
  EXPECT_THAT(read_text(folder + "/report.html"), HasSubstr("<polyline"));
  EXPECT_FALSE(std::filesystem::is_empty(folder + "/events"));
}

// What an engine measures while it runs: in the report, in the event file and in the checkpoint.
TEST_F(Train, ShowsWhatEnginesMeasure) {
  const ProgramRun run = train(
      "bitstream-rnn --engine rnn=scan:forward=newton --set T=20 --set samples=100 --max-steps 2");
  ASSERT_EQ(run.code, 0) << run.err;
  const std::filesystem::path folder = folder_ / "1";
  for (const char* series : {"rnn.newton_iterations", "rnn.newton_residual"}) {
    const std::filesystem::path events =
        std::filesystem::directory_iterator(folder / "events")->path();
    for (const std::filesystem::path& file :
         {folder / "report.html", folder / "checkpoints/step-00000002-final/state.json", events}) {
      EXPECT_NE(read_text(file).find(series), std::string::npos) << series << " in " << file;
    }
  }
}

TEST_F(Train, ChoosesAFreeFolder) {
  const std::string command = "cd " + folder_.path().string() + " && " + program_file() + " train";
  for (const char* name : {"spirals-1", "spirals-2"}) {
    EXPECT_EQ(std::system((command + kShort + "> /dev/null").c_str()), 0);
    EXPECT_TRUE(std::filesystem::exists(folder_ / ("runs/" + std::string(name) + "/run.json")));
  }
}

TEST_F(Train, DoesNotOverwriteARun) {
  const std::string folder = next_folder();
  EXPECT_EQ(run_program("train --out " + folder + kShort).code, 0);
  const ProgramRun again = run_program("train --out " + folder + kShort);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("already holds a run; go on with it by --resume"));
}

TEST_F(Train, AMistakeLeavesNoFolder) {
  const std::string folder = next_folder();
  EXPECT_EQ(run_program("train --engine none --out " + folder).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(run_line("OMP_NUM_THREADS=100000 $antichain train --out " + folder).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Train, ResumesNothingButARun) {
  const ProgramRun none = run_program("train --resume " + next_folder());
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("holds no run: there is no run.json"));
  for (const char* changed :
       {"--epochs 5", "--seed 1", "--precision bf16", "--set lr=1", "--out x"}) {
    const std::string name = std::string(changed).substr(0, std::string(changed).find(' '));
    const ProgramRun run =
        run_program(std::string("train ") + changed + " --resume " + next_folder());
    EXPECT_EQ(run.code, 2);
    EXPECT_EQ(run.err, "antichain: --resume goes on with what the run was started with; " + name +
                           " cannot be given\n");
  }
}

TEST_F(Train, AnyDeviceMayGoOn) {
  const std::string folder = next_folder();
  EXPECT_EQ(run_program("train --max-steps 2 --out " + folder + kShort).code, 0);
  EXPECT_EQ(run_program("train --device cpu --resume " + folder).code, 0);
  EXPECT_THAT(run_program("train --device cuda:99 --resume " + folder).err,
              HasSubstr("device 'cuda:99' is not available"));
}

TEST_F(Train, HowTheGraphIsCompiledIsKeptWithTheRun) {
  const std::string folder = next_folder(), command = "train --max-steps 2 --resume " + folder;
  ASSERT_EQ(run_program("train --max-steps 1 --level 1 --fast-math --disable-pass simplify "
                        "--disable-pass contract --out " +
                        folder + kShort)
                .code,
            0);
  const nlohmann::json kept = nlohmann::json::parse(read_text(folder + "/run.json"));
  EXPECT_EQ(kept.at("level"), 1);
  EXPECT_EQ(kept.at("fast_math"), true);
  EXPECT_EQ(kept.at("disabled_passes"), (std::vector<std::string>{"simplify", "contract"}));
  const std::string start = "antichain: --resume goes on with what the run was started with, ";
  EXPECT_EQ(run_program(command + " --level 2").err,
            start + "--level 1; --level cannot be changed\n");
  EXPECT_EQ(
      run_program(command + " --disable-pass contract").err,
      start +
          "--disable-pass simplify --disable-pass contract; --disable-pass cannot be changed\n");
  const ProgramRun same = run_program(
      command + " --level 1 --fast-math --disable-pass simplify --disable-pass contract");
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(run_program(command).code, 0);

  const std::string plain = next_folder();
  ASSERT_EQ(run_program("train --max-steps 1 --out " + plain + kShort).code, 0);
  EXPECT_EQ(run_program("train --fast-math --resume " + plain).err,
            start + "no --fast-math; --fast-math cannot be changed\n");
  EXPECT_EQ(run_program("train --disable-pass contract --resume " + plain).err,
            start + "no --disable-pass; --disable-pass cannot be changed\n");
}

// It matters, too: which passes a resumed run leaves out is what it was told first.
TEST_F(Train, AResumedRunIsCompiledAsBefore) {
  const std::string folder = next_folder();
  ASSERT_EQ(run_program("train --max-steps 1 --level 0 --out " + folder + kShort).code, 0);
  const std::string path = folder + "/run.json";
  std::string text = read_text(path);
  const std::string level = "\"level\": 0";
  ASSERT_THAT(text, HasSubstr(level));
  std::ofstream(path) << text.replace(text.find(level), level.size(), "\"level\": 7");
  EXPECT_THAT(run_program("train --resume " + folder).err,
              HasSubstr("there is no optimisation level 7"));
}

TEST_F(Train, GoesOnWithRunsOfThePast) {
  const std::string folder = next_folder();
  ASSERT_EQ(run_program("train --max-steps 2 --out " + folder + kShort).code, 0);
  nlohmann::json past = nlohmann::json::parse(read_text(folder + "/run.json"));
  for (const char* later : {"level", "disabled_passes", "fast_math", "memory_budget"}) {
    EXPECT_EQ(past.erase(later), 1U) << later;
  }
  past["settings"]["precision"] = "f32";
  std::ofstream(folder + "/run.json") << past.dump();
  const ProgramRun run = run_program("--json train --resume " + folder);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.last_line().at("steps"), 2);
  EXPECT_EQ(run.last_line().at("settings").at("precision"), "fp32");
}

TEST_F(Train, TheDeviceThatGoesOnIsKept) {
  const std::string folder = next_folder();
  ASSERT_EQ(run_program("train --max-steps 2 --out " + folder + kShort).code, 0);
  nlohmann::json elsewhere = nlohmann::json::parse(read_text(folder + "/run.json"));
  elsewhere["device"] = "cuda:99";
  std::ofstream(folder + "/run.json") << elsewhere.dump();
  EXPECT_THAT(run_program("train --resume " + folder).err,
              HasSubstr("device 'cuda:99' is not available"));
  EXPECT_EQ(run_program("train --max-steps 3 --device cpu --resume " + folder).code, 0);
  EXPECT_EQ(nlohmann::json::parse(read_text(folder + "/run.json")).at("device"), "cpu");
  EXPECT_EQ(run_program("train --resume " + folder).code, 0);
}

TEST_F(Train, PrecisionIsKeptWithTheRunAndMayDifferInEvaluation) {
  const std::string folder = next_folder();
  const ProgramRun run = run_program("train --precision fp16 --out " + folder + kShort);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(read_text(folder + "/run.json"), HasSubstr("\"precision\": \"fp16\""));
  const auto loss = [&](const std::string& more) {
    return run_program("--json eval " + folder + more).last_line().at("test_loss").get<double>();
  };
  EXPECT_EQ(loss(""), loss(" --precision fp16"));
  EXPECT_NE(loss(""), loss(" --precision fp32"));
  EXPECT_EQ(loss(" --precision tf32"), loss(" --precision fp32"));  // the CPU has no tf32
  EXPECT_THAT(run_program("train --precision f16").err,
              HasSubstr("option 'precision' must be one of fp32, tf32, bf16, fp16, got 'f16'"));
}

TEST_F(Train, EvalFindsWhatTrainingFound) {
  const std::string folder = next_folder();
  const nlohmann::json trained = run_program("--json train --out " + folder + kShort).last_line();
  const ProgramRun run = run_program("--json eval " + folder);
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* field : {"recipe", "engine", "device", "seed", "test_accuracy", "test_loss",
                            "train_loss", "parameters", "steps", "epochs"}) {
    EXPECT_EQ(run.last_line().at(field), trained.at(field)) << field;
  }
  EXPECT_GT(run.last_line().at("samples_per_second"), 0);
  EXPECT_THAT(run_program("eval " + folder).out, ContainsRegex("test accuracy +[0-9]"));
  EXPECT_THAT(run_program("eval --part validation " + folder).err,
              HasSubstr("recipe 'spirals' has no validation data"));
}

TEST_F(Train, LogsWhatItIsAskedFor) {
  const ProgramRun quiet = train(std::string("--log-level silent") + kShort);
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
}

}  // namespace antichain::train_test
