// Files are replaced whole, and what is no file stays what it is.
#include "antichain/base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "antichain/base/file_error.h"
#include "antichain/base/folder_lock.h"
#include "antichain/base/input_file.h"
#include "antichain/base/printable.h"
#include "tests/base/temporary_folder.h"

namespace antichain::output_file_test {

namespace fs = std::filesystem;

std::size_t count_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

template <class E>
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(OutputFile, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a");
    file.write("half");
    EXPECT_FALSE(fs::exists(folder / "a"));
  }
  EXPECT_EQ(count_in(folder.path()), 0U);
  write_file(folder / "a", "one");
  write_file(folder / "a", "two");
  EXPECT_EQ(read_text(folder / "a"), "two");
  EXPECT_EQ(count_in(folder.path()), 1U);
}

TEST(OutputFile, LinksAreFollowed) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "other");
  folder.write("other/target", "old");
  fs::create_symlink("other/target", folder / "link");
  fs::create_symlink(folder / "link", folder / "link_to_link");
  write_file(folder / "link_to_link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link") && fs::is_symlink(folder / "link_to_link"));
  EXPECT_EQ(read_text(folder / "other/target"), "new");
  fs::create_symlink("other/later", folder / "dangling");
  write_file(folder / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
  EXPECT_EQ(read_text(folder / "other/later"), "made");
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_EQ(error_of<DataError>([&] { write_file(folder / "a", "x"); }),
            "cannot write '" + (folder / "a").string() + "': Too many levels of symbolic links");
}

TEST(OutputFile, PermissionsStay) {
  const TemporaryFolder folder;
  folder.write("secret", "old");
  fs::permissions(folder / "secret", fs::perms(0600));
  write_file(folder / "secret", "new");
  EXPECT_EQ(fs::status(folder / "secret").permissions(), fs::perms(0600));
}

TEST(OutputFile, DevicesAndPipesAreWrittenInto) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder / "null");
  write_file(folder / "null", "gone");
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null") && fs::is_symlink(folder / "null"));

  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_text(pipe); });
  write_file(pipe, "through", Pipes::waited_for);
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_EQ(error_of<DataError>([&] { write_file(pipe, "x"); }),
            "cannot write '" + pipe.string() + "': there is a pipe in its place");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

std::string descriptor_path(int file) { return "/dev/fd/" + std::to_string(file); }

// As `> >(program)` and `/dev/stdout` name them.
TEST(OutputFile, OpenFilesOfThisProcessAreWrittenInto) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  write_file(descriptor_path(ends[1]), "through");
  ::close(ends[1]);  // the only one: the reader sees the end
  char read[20];
  ASSERT_EQ(::read(ends[0], read, sizeof(read)), 7);
  EXPECT_EQ(std::string(read, 7), "through");
  EXPECT_EQ(::read(ends[0], read, sizeof(read)), 0);
  ::close(ends[0]);

  const TemporaryFolder folder;
  const int file = ::open((folder / "a").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  fs::create_symlink(descriptor_path(file), folder / "link");
  write_file(folder / "link", "now ");
  ASSERT_EQ(::write(file, "after", 5), 5);
  EXPECT_EQ(read_text(folder / "a"), "before now after");
  EXPECT_EQ(count_in(folder.path()), 2U);
  ::close(file);
  EXPECT_EQ(error_of<DataError>([] { write_file("/dev/fd/1000", "x"); }),
            "cannot write '/dev/fd/1000': Bad file descriptor");
}

TEST(OutputFile, NothingWaitsAside) {  // an aside that somebody has put there is not written into
  const TemporaryFolder folder;
  folder.write("target", "precious");
  fs::create_symlink("target", folder / "a.tmp");
  write_file(folder / "a", "new");
  EXPECT_EQ(read_text(folder / "target"), "precious");
}

TEST(NewFolder, IsNothingThatIsThere) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "there");
  fs::create_directory_symlink("there", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  for (const char* name : {"there", "link", "dangling"}) {
    const std::string path = folder / name;
    EXPECT_EQ(error_of<DataError>([&] { make_new_folder(path); }),
              "cannot make the folder '" + path + "': File exists");
  }
  const fs::path first = make_folder_aside(folder.path(), ".x-");
  const fs::path second = make_folder_aside(folder.path(), ".x-");
  EXPECT_NE(first, second);
  EXPECT_TRUE(fs::is_directory(first) && first.filename().string().starts_with(".x-"));
}

TEST(OutputFile, SaysWhyNot) {
  const TemporaryFolder folder;
  const std::string at = "cannot write '" + folder.path().string();
  EXPECT_EQ(error_of<DataError>([&] { write_file(folder.path(), "x"); }), at + "': Is a directory");
  EXPECT_EQ(error_of<DataError>([&] { write_file(folder / "no/file", "x"); }),
            at + "/no/file': No such file or directory");
  const std::string longest(300, 'x');
  EXPECT_EQ(error_of<DataError>([&] { write_file(folder / longest, "x"); }),
            at + "/" + longest + "': File name too long");
  // A full device is the machine's fault.
  EXPECT_EQ(error_of<MachineError>([] { write_file("/dev/full", "x"); }),
            "cannot write '/dev/full': No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(InputFile, ReadsRegularFilesOnly) {
  const TemporaryFolder folder;
  folder.write("a", "text");
  EXPECT_EQ(read_file(folder / "a", 4), "text");
  const std::string path = (folder / "a").string();
  EXPECT_EQ(error_of<DataError>([&] { read_file(path, 3); }),
            "'" + path + "' has 4 bytes; at most 3 are read");
  EXPECT_THAT(error_of<DataError>([&] { read_file(folder.path(), 3); }),
              testing::EndsWith("': Is a directory"));
  EXPECT_THAT(error_of<DataError>([&] { read_file(folder / "none", 3); }),
              testing::EndsWith("': No such file or directory"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of<DataError>([&] { read_file(folder / "pipe", 3); }),
              testing::EndsWith("it is no regular file"));
}

TEST(InputFile, TrustsOnlyTheUsersOwn) {
  const TemporaryFolder folder;
  folder.write("a", "text");
  EXPECT_EQ(read_own_file(folder / "a", 4), "text");
  EXPECT_EQ(read_own_file(folder / "a", 3), std::nullopt);
  fs::create_symlink("a", folder / "link");
  EXPECT_EQ(read_own_file(folder / "link", 4), std::nullopt);
  fs::permissions(folder / "a", fs::perms(0666));
  EXPECT_EQ(read_own_file(folder / "a", 4), std::nullopt);
}

TEST(FolderLock, IsHeldOnce) {
  const TemporaryFolder folder;
  const std::string sentence =
      "'" + folder.path().string() + "' is in use: another training is running in it";
  {
    const FolderLock lock(folder.path());
    EXPECT_EQ(error_of<DataError>([&] { const FolderLock second(folder.path()); }), sentence);
  }
  const FolderLock again(folder.path());
}

TEST(FolderLock, DiesWithItsProcess) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    static_cast<void>(!::write(ends[1], "x", 1));
    ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  EXPECT_THROW(FolderLock{folder.path()}, DataError);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const FolderLock lock(folder.path());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Printable, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(printable("a\nb\tü – 中 🙂"), "a\nb\tü – 中 🙂");
  EXPECT_EQ(printable("a\nb\tc", Lines::one), "a\\x0ab\tc");
  EXPECT_EQ(printable("\x1b[31m\r\x7f"), "\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // CSI in one character
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");  // no UTF-8
}

}  // namespace antichain::output_file_test
