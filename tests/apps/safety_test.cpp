// Files that a run meets may be anything: nothing is lost, nothing is believed without a look.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"

namespace antichain::safety_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kShort = " --epochs 2 --batch 500 --set hidden=5 ";

class Safety : public testing::Test {
 protected:
  // Trains for one step into a folder of this name and returns the folder.
  std::string trained(const std::string& name, const std::string& arguments = kShort) {
    const std::string folder = folder_ / name;
    EXPECT_EQ(run_program("train --max-steps 1 --out " + folder + arguments).code, 0);
    return folder;
  }
  static std::string checkpoint_of(const std::string& folder) {
    return fs::directory_iterator(folder + "/checkpoints")->path();
  }
  // Turns a run into one that goes on.
  static void reopen(const std::string& folder) {
    const std::string path = checkpoint_of(folder) + "/state.json";
    std::string text = read_text(path);
    const auto replace = [&text](const std::string& what, const std::string& by) {
      ASSERT_NE(text.find(what), std::string::npos) << text;
      text.replace(text.find(what), what.size(), by);
    };
    replace("\"finished\": true", "\"finished\": false");
    replace("\"epoch\": 2", "\"epoch\": 1");
    replace("\"batch\": 0", "\"batch\": 1");
    std::ofstream(path) << text;
  }

  TemporaryFolder folder_;
};

// What a step reads and writes lies where its graph says, whatever a checkpoint holds.
TEST_F(Safety, ACheckpointOfAnotherModelIsOneSentence) {
  const std::string five = trained("five");
  const std::string six = trained("six", " --epochs 2 --batch 500 --set hidden=600 ");
  fs::copy(checkpoint_of(six) + "/model.safetensors", checkpoint_of(five) + "/model.safetensors",
           fs::copy_options::overwrite_existing);
  const std::string sentence = "antichain: the checkpoint in '" + five;
  for (const std::string& command : {"eval " + five, "train --resume " + five}) {
    const ProgramRun run = run_program(command);
    EXPECT_EQ(run.code, 2) << command;
    EXPECT_THAT(run.err, testing::StartsWith(sentence));
    EXPECT_THAT(run.err, HasSubstr("' does not fit this model and these data: state 'mlp.0."));
    EXPECT_THAT(run.err, HasSubstr("in the graphs of this session, the value is f32["));
  }
  reopen(five);
  EXPECT_EQ(run_program("train --resume " + five).code, 2);
}

// Another vocabulary is another table of words: ids of one are not those of the other.
TEST_F(Safety, GoingOnWithOtherDataIsOneSentence) {
  const auto with_words = [&](const std::string& name, const std::string& words) {
    const std::string text = fmt::format("1,{0}\n2,{0}\n3,{0}\n4,{0}\n", words);
    folder_.write(name + "/ag_news/train.csv", text);
    folder_.write(name + "/ag_news/test.csv", text);
    return (folder_ / name).string();
  };
  const std::string few = with_words("few", "wall street up");
  const std::string many = with_words("many", "wall street up and chips down as rates rise again");
  const std::string small =
      " agnews-rnn --epochs 2 --batch 2 --set embedding=3 --set hidden=2 --set length=4 --data ";
  for (const auto& [first, second] : {std::pair(few, many), std::pair(many, few)}) {
    const std::string run = trained("of-" + fs::path(first).filename().string(), small + first);
    reopen(run);
    const ProgramRun resumed = run_program("train --resume " + run + " --data " + second);
    EXPECT_EQ(resumed.code, 2);
    EXPECT_THAT(resumed.err, testing::StartsWith("antichain: the checkpoint in '" + run +
                                                 "' does not fit this model and these data: state "
                                                 "'embedding."));
    EXPECT_EQ(std::ranges::count(resumed.err, '\n'), 1) << resumed.err;
    EXPECT_EQ(run_program("train --resume " + run + " --data " + first).code, 0);
  }
}

TEST_F(Safety, ACheckpointFromBehindTheEndOfARunIsOneSentence) {
  const std::string run = trained("run");
  const std::string path = checkpoint_of(run) + "/state.json";
  std::string text = read_text(path);
  for (const auto& [what, by] :
       {std::pair("\"finished\": true", "\"finished\": false"), {"\"epoch\": 2", "\"epoch\": 3"}}) {
    ASSERT_NE(text.find(what), std::string::npos) << text;
    text.replace(text.find(what), std::string(what).size(), by);
  }
  std::ofstream(path) << text;
  for (const std::string& command : {"eval " + run, "train --resume " + run}) {
    EXPECT_EQ(run_program(command).code, 2) << command;
    EXPECT_THAT(run_program(command).err,
                HasSubstr("does not fit this model and these data: it is in epoch 3, of 2"));
  }
}

TEST_F(Safety, ACheckpointWithoutStatesIsOneSentence) {
  const std::string run = trained("run");
  std::ofstream(checkpoint_of(run) + "/model.safetensors", std::ios::binary)
      << std::string("\2\0\0\0\0\0\0\0{}", 10);
  for (const std::string& command : {"eval " + run, "train --resume " + run}) {
    EXPECT_EQ(run_program(command).code, 2) << command;
    EXPECT_THAT(run_program(command).err, HasSubstr("there is no value for the state '"));
  }
}

TEST_F(Safety, ACheckpointWithOtherStatesBesidesIsOneSentence) {
  const std::string run = trained("run", std::string(kShort) + "--set momentum=0 ");
  const std::string more = trained("more");
  EXPECT_EQ(run_program("eval " + run).code, 0);
  fs::copy(checkpoint_of(more) + "/model.safetensors", checkpoint_of(run) + "/model.safetensors",
           fs::copy_options::overwrite_existing);
  for (const std::string& command : {"eval " + run, "train --resume " + run}) {
    EXPECT_EQ(run_program(command).code, 2) << command;
    EXPECT_THAT(run_program(command).err,
                HasSubstr("there is a value for 'mlp.0.bias.momentum', which is no state"));
  }
}

TEST_F(Safety, WhatIsWrittenToMayBeALinkAPipeOrADevice) {
  fs::create_symlink("/dev/null", folder_ / "null");
  folder_.write("target", "old");
  fs::create_symlink("target", folder_ / "link");
  const std::string at = folder_.path().string();
  const ProgramRun run = run_line("cd " + at +
                                  "; mkfifo pipe; cat pipe > read & $antichain explain "
                                  "spirals --dot null --text link --memory-svg pipe; wait");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(fs::is_symlink(folder_ / "null") && fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_THAT(read_text(folder_ / "target"), HasSubstr("state_read"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
  EXPECT_THAT(read_text(folder_ / "read"), HasSubstr("<svg"));
  EXPECT_THAT(run_program("explain spirals --dot -").out, testing::StartsWith("digraph"));
  EXPECT_FALSE(fs::exists("-"));
}

TEST_F(Safety, StandardOutputMayBeNamedAsAFile) {
  const std::string at = folder_.path().string();
  const ProgramRun piped = run_line(
      "$antichain explain spirals --dot /dev/stdout | cat; echo "
      "${PIPESTATUS[0]}");
  EXPECT_THAT(piped.out, testing::StartsWith("digraph"));
  EXPECT_THAT(piped.out, testing::EndsWith("\n0\n")) << piped.err;
  EXPECT_THAT(run_line("$antichain explain spirals --text >(cat) | cat").out,
              HasSubstr("state_read"));
  EXPECT_EQ(run_line("$antichain explain spirals --dot /dev/stdout > " + at + "/both").code, 0);
  const std::string both = read_text(folder_ / "both");  // the graph, and behind it the tables
  EXPECT_THAT(both, testing::StartsWith("digraph"));
  EXPECT_THAT(both, testing::ContainsRegex("\ngraph +/dev/stdout\n"));
}

// Nobody reads it, so a run that waited for a reader would never end.
TEST_F(Safety, PipesInTheFolderOfARunAreNotWaitedFor) {
  const std::string run = trained("run"), report = run + "/report.html";
  fs::remove(report);
  ASSERT_EQ(::mkfifo(report.c_str(), 0600), 0);
  const ProgramRun again =
      run_line("timeout -k 5 60 $antichain train --resume " + run + " > /dev/null");
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.err, "antichain: cannot write '" + report + "': there is a pipe in its place\n");
}

TEST_F(Safety, AFolderOfCodeThatOthersMayEnterIsNotUsed) {
  fs::create_directories(folder_ / "cache/code");
  fs::permissions(folder_ / "cache/code", fs::perms(0777));
  const std::string cache = (folder_ / "cache").string();
  const ProgramRun run = run_line("ANTICHAIN_CACHE=" + cache + " $antichain train --out " +
                                  (folder_ / "a").string() + kShort);
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "antichain warning: compiled code is not remembered: '" + cache +
                         "/code' is not used: others may enter it (chmod 700 '" + cache +
                         "/code' makes it private)\n");
  EXPECT_TRUE(fs::is_empty(folder_ / "cache/code"));
  fs::permissions(folder_ / "cache/code", fs::perms(0700));
  EXPECT_EQ(run_line("ANTICHAIN_CACHE=" + cache + " $antichain train --out " +
                     (folder_ / "b").string() + kShort)
                .err,
            "");
}

TEST_F(Safety, ADivergedRunIsReadAndSaysSo) {
  const std::string run = folder_ / "run";
  const ProgramRun trained = run_program("--json train --max-steps 1 --set lr=1e38 --out " + run);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.last_line().at("diverged"), true);
  EXPECT_TRUE(trained.last_line().at("test_loss").is_null());
  for (const std::string& command : {"eval " + run, "train --resume " + run}) {
    const ProgramRun again = run_program(command);
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("\nDiverged: a loss is no finite number"));
  }
  EXPECT_EQ(run_program("--json eval " + run).last_line().at("diverged"), true);
}

TEST_F(Safety, MoreStepsThanAskedForAreOneSentence) {
  const std::string run = trained("run");
  reopen(run);
  const std::string sentence =
      "antichain: the checkpoint in '" + run +
      "' does not fit this model and these data: it has done 1 steps already, so it cannot end "
      "after 1 (max_steps)\n";
  EXPECT_EQ(run_program("train --max-steps 1 --resume " + run).err, sentence);
  const ProgramRun seen = run_program_on_terminal("train --max-steps 1 --resume " + run);
  EXPECT_TRUE(seen.code == 127 || seen.code == 2) << seen.out;  // 127: there is no `script` here
  EXPECT_EQ(run_program("train --max-steps 2 --resume " + run).code, 0);
}

TEST_F(Safety, DescriptionsOfRunsMayBeAnything) {
  const std::string run = trained("run");
  const std::string whole = read_text(run + "/run.json"), deep(100'000, '[');
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), deep, "{\"recipe\":" + deep,
        std::string(R"({"recipe": "spirals"})"),
        std::string(R"({"recipe": "spirals", "settings": 3})"),
        std::string(R"({"recipe": "spirals", "settings": {"lr": "fast"}})"),
        std::string(R"({"recipe": "spirals", "recipe": "spirals"})"),
        std::string(R"({"recipe": 7, "settings": {}})"),
        std::string(R"({"recipe": "spirals", "settings": {}, "seed": 1e300})"),
        whole.substr(0, whole.size() / 2), std::string(2 << 20, ' ')}) {
    SCOPED_TRACE(text.substr(0, 60));
    std::ofstream(run + "/run.json") << text;
    for (const char* command : {"eval ", "train --resume "}) {
      const ProgramRun read = run_program(command + run);
      EXPECT_EQ(read.code, 2) << read.err;
      EXPECT_THAT(read.err, testing::StartsWith("antichain: '" + run + "/run.json' "));
    }
  }
  std::ofstream(run + "/run.json") << whole;
  std::string state = read_text(checkpoint_of(run) + "/state.json");
  const std::size_t at = state.find("\"train/loss\": [");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(checkpoint_of(run) + "/state.json")
      << state.replace(at, state.find("\n  ]", at) - at, "\"train/loss\": [");
  EXPECT_EQ(run_program("train --resume " + run).code, 0);
  EXPECT_EQ(run_program("eval " + run).code, 0);
  std::ofstream(checkpoint_of(run) + "/state.json") << deep;
  EXPECT_THAT(run_program("eval " + run).err, HasSubstr("is not the state of a training run"));
}

TEST_F(Safety, PathsNeedNotBeUtf8) {
  const std::string name = folder_.path().string() + "/\xff\xfe";
  fs::create_directory(name);
  const ProgramRun run = run_program("train --data " + name + " --out " + name + "/run" + kShort);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(fs::exists(name + "/run/run.json"));
  EXPECT_EQ(run_program("eval " + name + "/run").code, 0);
  EXPECT_EQ(run_program("--json train --resume " + name + "/run").code, 0);
}

}  // namespace antichain::safety_test
