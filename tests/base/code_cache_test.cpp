// Code from a cache is run, so nobody else may have written it.
#include "antichain/base/code_cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "antichain/base/private_folder.h"
#include "tests/base/cache_folder.h"
#include "tests/base/temporary_folder.h"

namespace antichain::code_cache_test {

namespace fs = std::filesystem;

constexpr const char* kSomebody = "65534";  // the user nobody, here and nearly everywhere

bool can_change_owners() { return ::geteuid() == 0; }

TEST(CodeCache, IsForItsUserAlone) {
  const TemporaryFolder folder;
  const CodeCache cache(folder / "code");
  cache.store("ab", "bytes");
  EXPECT_EQ(cache.load("ab"), "bytes");
  EXPECT_EQ(fs::status(folder / "code").permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(folder / "code/ab.o").permissions(), fs::perms(0600));
}

TEST(CodeCache, UsesNoFolderThatOthersMayEnter) {
  const TemporaryFolder folder;
  CodeCache(folder / "code").store("ab", "bytes");
  for (const int mode : {0777, 0755, 0701}) {
    fs::permissions(folder / "code", fs::perms(mode));
    const CodeCache cache(folder / "code");
    EXPECT_EQ(cache.load("ab"), std::nullopt);
    cache.store("cd", "more");
    EXPECT_FALSE(fs::exists(folder / "code/cd.o"));
    EXPECT_THAT(PrivateFolder(folder / "code").refusal(),
                testing::HasSubstr("is not used: others may enter it"));
  }
}

TEST(CodeCache, UsesNoFolderAndNoFileOfSomebodyElse) {
  if (!can_change_owners()) {
    GTEST_SKIP() << "only root can give files away";
  }
  const TemporaryFolder folder;
  const CodeCache cache(folder / "code");
  cache.store("ab", "bytes");
  const uid_t somebody = static_cast<uid_t>(std::stoul(kSomebody));
  ASSERT_EQ(::chown((folder / "code/ab.o").c_str(), somebody, somebody), 0);
  EXPECT_EQ(cache.load("ab"), std::nullopt);
  ASSERT_EQ(::chown((folder / "code").c_str(), somebody, somebody), 0);
  EXPECT_THAT(PrivateFolder(folder / "code").refusal(),
              testing::HasSubstr("is not used: it belongs to somebody else"));
  const CodeCache later(folder / "code");
  later.store("cd", "bytes");
  EXPECT_EQ(later.load("cd"), std::nullopt);
}

TEST(CodeCache, FollowsNoLinks) {
  const TemporaryFolder folder;
  CodeCache(folder / "code").store("ab", "bytes");
  fs::create_directory_symlink(folder / "code", folder / "link");
  EXPECT_EQ(CodeCache(folder / "link").load("ab"), std::nullopt);
  const CodeCache cache(folder / "code");
  fs::rename(folder / "code/ab.o", folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", folder / "code/ab.o");
  EXPECT_EQ(cache.load("ab"), std::nullopt);
}

TEST(CodeCache, FilesUnderOtherNamesAreNotTaken) {
  const TemporaryFolder folder;
  const CodeCache cache(folder / "code");
  cache.store("ab", "one");
  cache.store("cd", "two");
  fs::rename(folder / "code/ab.o", folder / "code/x");
  fs::rename(folder / "code/cd.o", folder / "code/ab.o");
  fs::rename(folder / "code/x", folder / "code/cd.o");
  EXPECT_EQ(cache.load("ab"), std::nullopt);
  EXPECT_EQ(cache.load("cd"), std::nullopt);
  EXPECT_FALSE(fs::exists(folder / "code/ab.o"));  // taken away, so that it is made anew
}

TEST(CodeCache, PipesAndFoldersInItEndNothing) {
  const TemporaryFolder folder;
  const CodeCache cache(folder / "code", 1000);
  cache.store("ab", "bytes");
  ASSERT_EQ(::mkfifo((folder / "code/cd.o").c_str(), 0600), 0);
  fs::create_directories(folder / "code/ef.o/inside");
  EXPECT_EQ(cache.load("cd"), std::nullopt);
  EXPECT_EQ(cache.load("ef"), std::nullopt);
  cache.store("ef", std::string(900, 'x'));
  EXPECT_EQ(cache.load("ef"), std::nullopt);
  cache.store("cd", std::string(900, 'x'));  // takes the place of the pipe
  EXPECT_TRUE(cache.load("cd"));
}

TEST(CodeCache, RemovesOnlyWhatACacheWrote) {
  const TemporaryFolder folder;
  const CodeCache cache(folder / "code", 5000);
  cache.store("ab", std::string(1000, 'x'));
  for (const char* other : {"thesis.tar", "notes.o.txt", "0a.o.bak", "UPPER.o"}) {
    folder.write(std::string("code/") + other, std::string(4000, 'y'));
    fs::last_write_time(folder / ("code/" + std::string(other)),
                        fs::file_time_type::clock::now() - std::chrono::hours(99));
  }
  folder.write("code/0a.o.123.4.tmp", std::string(4000, 'z'));  // of a process that was killed
  fs::last_write_time(folder / "code/0a.o.123.4.tmp",
                      fs::file_time_type::clock::now() - std::chrono::hours(99));
  for (int i = 0; i < 8; ++i) {
    cache.store("c" + std::to_string(i), std::string(1000, 'x'));
  }
  for (const char* other : {"thesis.tar", "notes.o.txt", "0a.o.bak", "UPPER.o"}) {
    EXPECT_TRUE(fs::exists(folder / ("code/" + std::string(other)))) << other;
  }
  EXPECT_FALSE(fs::exists(folder / "code/0a.o.123.4.tmp"));
  EXPECT_FALSE(fs::exists(folder / "code/ab.o"));
}

TEST(CodeCache, HasASubfolderOfItsOwn) {
  const TemporaryFolder folder;
  const CacheFolder chosen(folder.path());
  EXPECT_EQ(default_code_folder(), folder.path() / "code");
  EXPECT_EQ(code_cache_refusal(), "");  // none there
  EXPECT_FALSE(fs::exists(folder / "code"));
  fs::create_directory(folder / "code");
  fs::permissions(folder / "code", fs::perms(0777));
  EXPECT_THAT(code_cache_refusal(), testing::HasSubstr("chmod 700"));
  const CacheFolder none("");
  EXPECT_EQ(default_code_folder(), "");
  EXPECT_EQ(code_cache_refusal(), "");
}

TEST(CodeCache, ManyProcessesAtOnce) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "code";
  const std::string bytes(100'000, 'x');
  std::vector<pid_t> children;
  for (int n = 0; n < 4; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      const CodeCache cache(folder);
      for (int round = 0; round < 20; ++round) {
        cache.store("abc", bytes);
        if (const auto found = cache.load("abc"); !found || *found != bytes) {
          _exit(1);
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

// Small files, of which there may be many, are not looked at whenever one is stored; that there are
// not too many of them holds all the same, but for some.
TEST(CodeCache, StaysNearItsSize) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "code";
  const CodeCache cache(folder, 100'000);
  for (int i = 0; i < 2000; ++i) {
    cache.store(fmt::format("{:064x}", i * 7919), std::string(200, 'x'));
  }
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    bytes += entry.file_size();
  }
  EXPECT_GT(bytes, 50'000);
  EXPECT_LT(bytes, 250'000);  // 2000 files are more than twice as much
}

TEST(CodeCache, ForgetsWhatWasUsedLongestAgo) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "code";
  const CodeCache cache(folder, 2500);
  for (const char* key : {"a", "b", "c"}) {
    cache.store(key, std::string(1000, 'x'));
    const auto then = fs::file_time_type::clock::now() - std::chrono::hours(*key == 'a' ? 1 : 9);
    fs::last_write_time(folder / (std::string(key) + ".o"), then);
  }
  cache.store("d", std::string(1000, 'x'));
  EXPECT_TRUE(cache.load("a"));
  EXPECT_TRUE(cache.load("d"));
  EXPECT_FALSE(cache.load("b") && cache.load("c"));
}

}  // namespace antichain::code_cache_test
