// `antichain data`.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"
#include "tests/data/http_server.h"

namespace antichain::data_test {

using testing::HasSubstr;

TEST(Data, ListsWhatIsHere) {
  const TemporaryFolder folder;
  folder.write("mnist/train-images-idx3-ubyte.gz", "");
  folder.write("mnist/t10k-images-idx3-ubyte.gz", "");
  const ProgramRun run = run_program("--json data list --data " + folder.path().string());
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json sets = run.last_line().at("sets");
  EXPECT_GE(sets.size(), 9U);
  for (const nlohmann::json& set : sets) {
    if (set.at("name") == "mnist") {
      EXPECT_EQ(set.at("folder"), (folder / "mnist").string());
      EXPECT_EQ(set.at("can_be_fetched"), true);
    }
    if (set.at("name") == "cora") {
      EXPECT_TRUE(set.at("folder").is_null());
    }
  }
  EXPECT_THAT(run_program("data list --data " + folder.path().string()).out,
              HasSubstr("`antichain data fetch ag_news`"));
}

TEST(Data, SaysWhatCouldNotBeFetched) {
  const TemporaryFolder folder;
  const data::HttpServer server(
      [](const data::Request&) { return data::http_answer("404 Not Found", "no"); });
  const ProgramRun run = run_program("data fetch mnist --mirror " + server.url() + " --data " +
                                     folder.path().string());
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("antichain: "));
  EXPECT_EQ(run_program("data fetch mnits").err,
            "antichain: there is no data set 'mnits'; did you mean 'mnist'?\n");
  EXPECT_EQ(run_program("data fetch cora --data " + folder.path().string()).code, 2);
}

TEST(Data, TheLowestSpeedIsANumber) {
  const TemporaryFolder folder;
  std::atomic<int> asked = 0;
  const data::HttpServer server([&asked](const data::Request&) {
    ++asked;
    return data::http_answer("404 Not Found", "no");
  });
  const auto fetch = [&](const std::string& speed) {
    return run_program("data fetch mnist --lowest-speed " + speed + " --mirror " + server.url() +
                       " --data " + folder.path().string());
  };
  for (const char* wrong : {"-1", "fast"}) {
    const ProgramRun run = fetch(wrong);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("--lowest-speed"));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  }
  EXPECT_EQ(asked, 0);
  for (const char* right : {"0", "1000000000"}) {  // which is looked at after a minute
    EXPECT_THAT(fetch(right).err, HasSubstr("the server answers with status 404"));
  }
  EXPECT_GT(asked, 0);
}

TEST(Data, ARecipeWithoutItsDataSaysWhatToDo) {
  const TemporaryFolder folder;
  const ProgramRun run = run_program("train mnist-mlp --data " + folder.path().string() +
                                     " --out " + (folder / "run").string());
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("antichain data fetch mnist"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

}  // namespace antichain::data_test
