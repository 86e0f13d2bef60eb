#include "content/files/folder_events.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "content/support.h"
#include "h2server/server.h"
#include "h2server/test_client.h"
#include "http/file_head.h"

namespace h2server::content {
namespace folder_events_test {

using namespace std::chrono_literals;

class FolderEventsTest : public testing::Test {
 protected:
  void serve(const FolderEventsLimits& limits) {
    folder_ = *file::Folder::open(directory_.path(), {.make_file = http::make_file});
    events_ = std::make_shared<FolderEvents>(folder_, limits);
    server_.get("/{path...}", Handler([events = events_](Request& request) {
                  return FolderEvents::subscribe(events, request,
                                                 std::string(request.param("path")));
                }));
    client_.emplace(server_);
  }
  TestExchange open(const std::string& target = "/") { return client_->open({.target = target}); }
  static std::string change(int number) {
    return "event: change\ndata: " + std::to_string(number) + "\n\n";
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<const file::Folder> folder_;
  std::shared_ptr<FolderEvents> events_;
  Server server_;
  std::optional<TestClient> client_;
};

// Each row is one change, and is followed by the event of that change alone.
TEST_F(FolderEventsTest, ChangesOfNamesAndContent) {
  const tests::TemporaryDirectory elsewhere;
  elsewhere.write("file", "x");
  serve({.look_every = 5ms});
  TestExchange stream = open();
  EXPECT_EQ(stream.head().status, 200);
  EXPECT_EQ(stream.head().field("content-type"), "text/event-stream");
  EXPECT_EQ(stream.head().field("cache-control"), "no-store");
  const std::vector<std::function<void()>> changes = {
      [&] { std::filesystem::create_directory(directory_.path_of("sub")); },
      [&] { std::filesystem::rename(directory_.path_of("sub"), elsewhere.path_of("sub")); },
      [&] { std::filesystem::rename(elsewhere.path_of("file"), directory_.path_of("file")); },
      [&] { std::ofstream(directory_.path_of("file"), std::ios::app); },
      [&] { std::filesystem::create_symlink("x", directory_.path_of("link")); },
      [&] { std::filesystem::remove(directory_.path_of("link")); },
  };
  int number = 0;
  for (const auto& make : changes) {
    make();
    EXPECT_EQ(stream.read(), change(++number));
  }
}

TEST_F(FolderEventsTest, TemporaryFilesOfUploadsDoNotCount) {
  serve({.look_every = 5ms});
  TestExchange stream = open();
  EXPECT_EQ(stream.head().status, 200);
  directory_.write("h2_tmp_1", "half");
  std::filesystem::remove(directory_.path_of("h2_tmp_1"));
  std::filesystem::create_directory(directory_.path_of("seen"));
  EXPECT_EQ(stream.read(), change(1));
  std::filesystem::create_directory(directory_.path_of("h2_tmp_2"));
  std::filesystem::remove(directory_.path_of("h2_tmp_2"));
  std::filesystem::remove(directory_.path_of("seen"));
  EXPECT_EQ(stream.read(), change(2)) << "a second event, but no third";
}

TEST_F(FolderEventsTest, StreamsShareWhatOneOfThemSees) {
  serve({.look_every = 5ms});
  TestExchange first = open();
  TestExchange second = open();
  EXPECT_EQ(first.head().status, 200);
  EXPECT_EQ(second.head().status, 200);
  EXPECT_EQ(events_->streams(), 2U);
  std::filesystem::create_directory(directory_.path_of("sub"));
  EXPECT_EQ(first.read(), change(1));
  EXPECT_EQ(second.read(), change(1));
}

TEST_F(FolderEventsTest, FoldersAreWatchedByThemselves) {
  directory_.write("sub/x", "");
  serve({.look_every = 5ms});
  TestExchange top = open();
  TestExchange below = open("/sub/");
  EXPECT_EQ(top.head().status, 200);
  EXPECT_EQ(below.head().status, 200);
  std::filesystem::remove(directory_.path_of("sub/x"));
  EXPECT_EQ(below.read(), change(1));
  std::filesystem::remove(directory_.path_of("sub"));
  EXPECT_EQ(top.read(), change(1)) << "the file below is none of its business";
  EXPECT_EQ(below.read(), change(2));
  EXPECT_EQ(below.read(), "") << "the folder is gone";
}

TEST_F(FolderEventsTest, WhatIsNoFolder) {
  directory_.write("file", "");
  std::filesystem::create_symlink("/", directory_.path_of("out"));
  serve({});
  for (const char* const target : {"/none/", "/file", "/out/"}) {
    EXPECT_EQ(client_->get(target).status, 404) << target;
  }
  EXPECT_EQ(events_->streams(), 0U);
}

TEST_F(FolderEventsTest, TooManyStreams) {
  serve({.streams_max = 1, .look_every = 5ms});
  {
    TestExchange first = open();
    EXPECT_EQ(first.head().status, 200);
    const TestResponse second = client_->get("/");
    EXPECT_EQ(second.status, 503);
    EXPECT_EQ(second.field("retry-after"), "10");
  }
  EXPECT_EQ(events_->streams(), 0U);
  TestExchange third = open();
  EXPECT_EQ(third.head().status, 200);
}

// Descriptors are opened with the first stream, and watches are given up with the last.
TEST_F(FolderEventsTest, WatchesEndWithTheirStreams) {
  serve({.look_every = 5ms});
  for (int round = 0; round < 3; ++round) {
    TestExchange stream = open();
    EXPECT_EQ(stream.head().status, 200);
    std::filesystem::create_directory(directory_.path_of("sub"));
    EXPECT_EQ(stream.read(), change(1)) << "counted anew";
    std::filesystem::remove(directory_.path_of("sub"));
  }
  EXPECT_EQ(events_->streams(), 0U);
}

TEST_F(FolderEventsTest, KeepAlive) {
  serve({.look_every = 5ms, .keep_alive = 20ms});
  TestExchange stream = open();
  EXPECT_EQ(stream.head().status, 200);
  EXPECT_EQ(stream.read(), ":\n\n");
}

TEST_F(FolderEventsTest, NoDescriptor) {
  serve({});
  TestExchange warm = open();  // the loop's own descriptors
  EXPECT_EQ(warm.head().status, 200);
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  EXPECT_EQ(client_->get("/").status, 503);
}

}  // namespace folder_events_test
}  // namespace h2server::content
