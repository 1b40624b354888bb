// Downloads from a server of the test's own that behaves, and from some that do not.
#include "antichain/data/fetch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/sha256.h"
#include "antichain/data/download.h"
#include "tests/build_paths.h"
#include "tests/data/http_server.h"
#include "tests/data/test_files.h"
#include "tests/tensor/expect_error.h"

namespace antichain::data::fetch_test {

std::string digest(std::string_view text) {
  Sha256 sha;
  sha.add(std::as_bytes(std::span(text)));
  return sha.finish();
}

TEST(KnownSets, AreDescribed) {
  for (const KnownSet& set : known_sets()) {
    SCOPED_TRACE(set.name);
    EXPECT_FALSE(set.summary.empty());
    EXPECT_FALSE(set.markers.empty());
    EXPECT_NE(set.files.empty(), set.by_hand.empty());
    EXPECT_EQ(&find_set(set.name), &set);
    for (const PublishedFile& file : set.files) {
      EXPECT_EQ(file.sha256.size(), 64U);
      EXPECT_GT(file.bytes, 0);
    }
  }
  expect_error<InvalidArgument>("there is no data set 'mnits'; did you mean 'mnist'?",
                                [] { find_set("mnits"); });
}

TEST(KnownSets, AreLocated) {
  const TemporaryFolder folder;
  EXPECT_EQ(locate(find_set("cora"), folder.path()), std::nullopt);
  folder.write("cora/features.txt.gz", "");
  EXPECT_EQ(locate(find_set("cora"), folder.path()), folder.path() / "cora");
}

TEST(Fetch, SaysWhereToGetWhatItCannot) {
  const TemporaryFolder folder;
  expect_error<NotSupported>(
      "uci_har cannot be fetched; get it from archive.ics.uci.edu, 'Human Activity Recognition "
      "Using Smartphones', the folders train and test, into " +
          (folder.path() / "uci_har").string(),
      [&] { fetch("uci_har", folder.path()); });
  EXPECT_THROW(fetch("nist", folder.path()), InvalidArgument);
  const auto file = folder.write("file", "");
  EXPECT_THROW(fetch("mnist", file), DataError);  // its folder cannot be made
}

#ifdef ANTICHAIN_HAS_CURL

class Downloads : public testing::Test {
 protected:
  Download wanted(const HttpServer& server) {
    return {.url = server.url() + "/file",
            .target = target,
            .bytes = static_cast<std::int64_t>(content.size()),
            .sha256 = digest(content),
            .progress = [this](std::int64_t received) { seen.push_back(received); }};
  }
  // Downloads and returns what went wrong.
  std::string error_of(const HttpServer& server) {
    try {
      download(wanted(server));
    } catch (const DataError& error) {
      EXPECT_FALSE(std::filesystem::exists(target));
      return error.what();
    }
    return "";
  }
  // A server that knows ranges.
  std::string serve(const Request& request) const {
    if (request.first) {
      return http_answer("206 Partial Content", content.substr(*request.first));
    }
    return http_answer("200 OK", content);
  }

  const WithVariable no_proxy{"no_proxy", "127.0.0.1"};
  const std::string content = std::string(200'000, 'a') + std::string(100'000, 'b') + "end";
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "file";
  const std::filesystem::path part = folder.path() / "file.part";
  std::vector<std::int64_t> seen;
};

TEST_F(Downloads, WriteTheFile) {
  const HttpServer server([&](const Request& request) { return serve(request); });
  download(wanted(server));
  EXPECT_EQ(read_text(target), content);
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_FALSE(server.requests().at(0).first);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), static_cast<std::int64_t>(content.size()));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(Downloads, GoOnWhereTheyBrokeOff) {
  bool broken = true;
  const HttpServer server([&](const Request& request) {
    return broken ? http_answer("200 OK", content.substr(0, 120'000), content.size())
                  : serve(request);
  });
  EXPECT_THAT(error_of(server),
              testing::MatchesRegex("http://127.0.0.1:[0-9]+/file: the download broke off after "
                                    "120000 of 300003 bytes \\(.+\\); run it again to go on from "
                                    "there"));
  EXPECT_EQ(std::filesystem::file_size(part), 120'000U);
  broken = false;
  EXPECT_EQ(error_of(server), "");
  EXPECT_EQ(server.requests().at(1).first, 120'000U);
  EXPECT_EQ(read_text(target), content);
}

TEST_F(Downloads, BeginAgainWhereTheServerKnowsNoRanges) {
  folder.write("file.part", content.substr(0, 1000));
  const HttpServer server([&](const Request&) { return http_answer("200 OK", content); });
  EXPECT_EQ(error_of(server), "");
  EXPECT_EQ(server.requests().at(0).first, 1000U);
  EXPECT_EQ(read_text(target), content);
}

TEST_F(Downloads, UseAPartThatIsComplete) {
  folder.write("file.part", content);
  const HttpServer server([&](const Request& request) { return serve(request); });
  EXPECT_EQ(error_of(server), "");
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(read_text(target), content);
}

TEST_F(Downloads, RefuseOtherBytes) {
  std::string other = content;
  other[5] = 'x';
  const HttpServer server([&](const Request&) { return http_answer("200 OK", other); });
  EXPECT_EQ(error_of(server),
            server.url() + "/file: what came is not the published file, its SHA-256 is " +
                digest(other) + " instead of " + digest(content) + "; it was removed");
  EXPECT_FALSE(std::filesystem::exists(part));
}

TEST_F(Downloads, RefuseARestOfAnotherFile) {
  folder.write("file.part", "xyz");
  const HttpServer server([&](const Request& request) { return serve(request); });
  EXPECT_THAT(error_of(server), testing::HasSubstr("its SHA-256 is"));
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_EQ(error_of(server), "");  // from the start, this time
}

TEST_F(Downloads, RefuseOtherLengths) {
  std::size_t length = 10;
  std::string body = content;
  const HttpServer server([&](const Request&) { return http_answer("200 OK", body, length); });
  EXPECT_EQ(error_of(server),
            server.url() +
                "/file: what came is not the published file, it has 10 bytes instead of "
                "300003; it was removed");
  body += "more";
  length = body.size();
  EXPECT_EQ(error_of(server),
            server.url() +
                "/file: what came is not the published file, it has more than 300003 "
                "bytes; it was removed");
  EXPECT_FALSE(std::filesystem::exists(part));
}

TEST_F(Downloads, RefuseAServerWithoutTheRest) {
  folder.write("file.part", content.substr(0, 1000));
  const HttpServer server(
      [&](const Request&) { return http_answer("416 Range Not Satisfiable", ""); });
  EXPECT_EQ(error_of(server), server.url() +
                                  "/file: what came is not the published file, it ends before byte "
                                  "1000; it was removed");
  EXPECT_FALSE(std::filesystem::exists(part));
}

TEST_F(Downloads, SayWhatTheServerAnswers) {
  const HttpServer server([&](const Request&) { return http_answer("404 Not Found", "no"); });
  EXPECT_EQ(error_of(server), server.url() + "/file: the server answers with status 404");
  EXPECT_FALSE(std::filesystem::exists(part));
  folder.write("file.part", "abc");  // worth keeping: another server may have the rest
  EXPECT_EQ(error_of(server), server.url() + "/file: the server answers with status 404");
  EXPECT_EQ(read_text(part), "abc");
}

TEST_F(Downloads, FollowRedirections) {
  const HttpServer server([&](const Request& request) {
    return request.path == "/file"
               ? std::string(
                     "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n"
                     "Connection: close\r\n\r\n")
               : serve(request);
  });
  EXPECT_EQ(error_of(server), "");
  EXPECT_EQ(server.requests().back().path, "/other");
}

TEST_F(Downloads, SayThatNobodyAnswers) {
  std::optional<Download> from_nobody;
  {
    const HttpServer server([&](const Request& request) { return serve(request); });
    from_nobody = wanted(server);
  }
  EXPECT_THROW(download(*from_nobody), DataError);
  from_nobody->url = "file:///etc/hostname";
  EXPECT_THROW(download(*from_nobody), DataError);
}

TEST_F(Downloads, ThatAreGivenUpCanGoOn) {
  const HttpServer server([&](const Request& request) { return serve(request); });
  Download interrupted = wanted(server);
  interrupted.progress = [](std::int64_t) { throw NotSupported("enough"); };
  expect_error<NotSupported>("enough", [&] { download(interrupted); });
  EXPECT_GT(std::filesystem::file_size(part), 0U);
  EXPECT_EQ(error_of(server), "");
  EXPECT_TRUE(server.requests().at(1).first);
}

TEST_F(Downloads, OfOneFileDoNotRunTwiceAtOnce) {
  const HttpServer server([&](const Request& request) { return serve(request); });
  folder.write("file.part", "");
  const int other = ::open(part.c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_EQ(error_of(server), part.string() + " is being downloaded by another process");
  ::close(other);
  EXPECT_EQ(error_of(server), "");
}

// Four bytes a second are enough to keep a connection alive for years.
class DrippingServer {
 public:
  DrippingServer() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size);
    ::listen(listener_, 1);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~DrippingServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  DrippingServer(const DrippingServer&) = delete;
  DrippingServer& operator=(const DrippingServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/file"; }

 private:
  void serve() const {
    const int client = ::accept(listener_, nullptr, nullptr);
    const std::string header = "HTTP/1.1 200 OK\r\nContent-Length: 300003\r\n\r\n";
    ssize_t sent = ::send(client, header.data(), header.size(), MSG_NOSIGNAL);
    for (int i = 0; i < 1200 && sent > 0;
         ++i) {  // two minutes, or until the other side has enough of it
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      sent = ::send(client, "a", 1, MSG_NOSIGNAL);
    }
    ::close(client);
  }

  int listener_, port_ = 0;
  std::thread thread_;
};

TEST_F(Downloads, ThatAreTooSlowAreGivenUp) {
  const DrippingServer server;
  Download slow{.url = server.url(),
                .target = target,
                .bytes = 300'003,
                .sha256 = digest(content),
                .lowest_speed = 1000,
                .speed_seconds = 2,
                .progress = [](std::int64_t) {}};
  const auto start = std::chrono::steady_clock::now();
  try {
    download(slow);
    ADD_FAILURE() << "it came to an end";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the download broke off after "));
    EXPECT_THAT(error.what(), testing::HasSubstr("run it again to go on from there"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(100));
  EXPECT_GT(std::filesystem::file_size(part), 0U);
}

TEST_F(Downloads, OfASetAreGivenUpByItsOptions) {
  const DrippingServer server;
  try {
    fetch("mnist", folder.path(),
          {.base_url = server.url(), .lowest_speed = 1000, .speed_seconds = 1});
    ADD_FAILURE() << "it came to an end";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the download broke off after "));
  }
}

TEST(Sha256OfAFile, AFailingDiskIsNoMistakeOfTheUser) {
  const TemporaryFolder folder;
  folder.write("abc", "abc");
  EXPECT_EQ(sha256_of(folder / "abc"), digest("abc"));
  expect_error<DataError>("cannot read '" + folder.path().string() + "': Is a directory",
                          [&] { sha256_of(folder.path()); });
  // Reading what is not mapped is an input/output error.
  expect_error<MachineError>("cannot read '/proc/self/mem': Input/output error",
                             [] { sha256_of("/proc/self/mem"); });
}

TEST_F(Downloads, ShowNoPassword) {
  const HttpServer server([&](const Request&) { return http_answer("404 Not Found", "no"); });
  Download wanted = this->wanted(server);
  wanted.url.insert(std::string("http://").size(), "me:secret@");
  expect_error<DataError>(server.url() + "/file: the server answers with status 404",
                          [&] { download(wanted); });
  EXPECT_EQ(shown_url("https://a:b@host/x@y?z=@"), "https://host/x@y?z=@");
  EXPECT_EQ(shown_url("https://a:p@ss@host"), "https://host");
  EXPECT_EQ(shown_url("https://host/x@y"), "https://host/x@y");
  EXPECT_EQ(shown_url("https://host:80/x@y"), "https://host:80/x@y");
  EXPECT_EQ(shown_url("https://me:se/cr@et@host/x"), "https://host/x");  // no good address
}

TEST_F(Downloads, GoIntoNoLinkAndNoFileOfOthers) {
  const HttpServer server([&](const Request& request) { return serve(request); });
  folder.write("precious", "text");
  std::filesystem::create_symlink("precious", part);
  EXPECT_EQ(error_of(server),
            "cannot write '" + part.string() + "': Too many levels of symbolic links");
  EXPECT_EQ(read_text(folder.path() / "precious"), "text");
  std::filesystem::remove(part);
  ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0);
  EXPECT_EQ(error_of(server), "cannot write '" + part.string() +
                                  "': it is there already, and not left by a download of yours");
}

// The real files, if they are here, through the server: names, sizes and checksums are theirs.
TEST_F(Downloads, FetchARealSet) {
  const std::filesystem::path real = shared_data();
  if (!std::filesystem::exists(real / "mnist" / "train-images-idx3-ubyte.gz")) {
    GTEST_SKIP() << "the set is not here";
  }
  const HttpServer server([&](const Request& request) {
    return http_answer("200 OK", read_text(real / request.path.substr(1)));
  });
  std::vector<std::string> files;
  const FetchOptions options{.progress =
                                 [&](const FetchProgress& progress) {
                                   if (progress.received == progress.total) {
                                     files.push_back(progress.file);
                                   }
                                 },
                             .base_url = server.url()};
  EXPECT_EQ(fetch("mnist", folder.path(), options), folder.path() / "mnist");
  EXPECT_THAT(files,
              testing::ElementsAre("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                                   "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"));
  EXPECT_EQ(read_text(folder.path() / "mnist" / "t10k-labels-idx1-ubyte.gz"),
            read_text(real / "mnist" / "t10k-labels-idx1-ubyte.gz"));
  fetch("mnist", folder.path(), options);
  EXPECT_EQ(server.requests().size(), 4U);  // nothing was missing the second time
  folder.write("mnist/t10k-labels-idx1-ubyte.gz", "damaged");
  fetch("mnist", folder.path(), options);
  EXPECT_EQ(server.requests().size(), 5U);
}

#else

TEST(Fetch, SaysThatThisBuildCannot) {
  const TemporaryFolder folder;
  const std::string target = (folder.path() / "file").string();
  expect_error<NotSupported>(
      target +
          " cannot be downloaded: this build is without libcurl; get http://host/file by "
          "other means",
      [&] { download({.url = "http://host/file", .target = target}); });
}

#endif

}  // namespace antichain::data::fetch_test
