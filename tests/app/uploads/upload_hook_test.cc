#include "app/uploads/upload_hook.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "app/http_stub.h"
#include "base/no_threads.h"
#include "content/support.h"

namespace h2server::app {
namespace upload_hook_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using tests::HttpStub;

content::UploadEvent event_of(const std::string& name) {
  return {.path = "/up/" + name,
          .name = name,
          .size = 12,
          .sha256 = std::string(64, 'a'),
          .client = "192.0.2.1"};
}

// Nothing is tried again because time has passed, unless a test says so.
UploadHookOptions options_for(std::string target) {
  return {.target = std::move(target),
          .time_max = hours(1),
          .first_retry = milliseconds(0),
          .flush_max = hours(1)};
}

// A folder with scripts, which write what they get to files beside them.
class Scripts {
 public:
  std::string make(const std::string& body) {
    folder_.write("hook", "#!/bin/sh\ncd \"${0%/*}\"\n" + body);
    ::chmod(folder_.path_of("hook").c_str(), 0755);
    return folder_.path_of("hook");
  }
  std::string read(const std::string& name) { return folder_.read(name).value_or("none"); }

 private:
  tests::TemporaryDirectory folder_;
};

// Reports one event, and returns what became of it.
UploadHook::Counts report_one(const UploadHookOptions& options) {
  UploadHook hook(options);
  EXPECT_TRUE(hook.start());
  hook.offer(event_of("a.txt"));
  hook.stop();
  return hook.counts();
}

TEST(UploadHook, AProgramGetsTheEvent) {
  Scripts scripts;
  const std::string hook = scripts.make(
      "printf '%s|' \"$#\" \"$1\" \"$H2SERVER_UPLOAD_NAME\" \"$H2SERVER_UPLOAD_PATH\""
      " \"$H2SERVER_UPLOAD_SIZE\" \"$H2SERVER_UPLOAD_SHA256\" \"$H2SERVER_UPLOAD_CLIENT\" > got\n"
      "test -n \"$PATH\" && cat > input\n");
  EXPECT_EQ(report_one(options_for(hook)).reported, 1u);
  EXPECT_EQ(scripts.read("got"),
            "1|/up/a.txt|a.txt|/up/a.txt|12|" + std::string(64, 'a') + "|192.0.2.1|");
  EXPECT_EQ(scripts.read("input"), "");
}

TEST(UploadHook, NoThread) {
  UploadHook hook(options_for("http://user:secret@127.0.0.1:1/hook?token=secret"));
  const auto started = [&hook] {
    const tests::NoThreads none;
    return hook.start();
  }();
  ASSERT_FALSE(started);
  EXPECT_TRUE(
      started.error().starts_with("upload hook http://127.0.0.1:1/hook: can't start a thread: "))
      << started.error();
  hook.stop();
}

TEST(UploadHook, NoShellReadsNames) {
  Scripts scripts;
  UploadHook hook(options_for(scripts.make("printf '%s\\n' \"$1\" >> got\n")));
  ASSERT_TRUE(hook.start());
  hook.offer(event_of("$(touch made); `touch made` 'a\"\n*"));
  hook.offer(event_of("-x"));
  hook.stop();
  EXPECT_EQ(scripts.read("got"), "/up/$(touch made); `touch made` 'a\"\n*\n/up/-x\n");
  EXPECT_EQ(scripts.read("made"), "none");
}

TEST(UploadHook, AProgramGetsFewDescriptorsAndDefaultSignals) {
  Scripts scripts;
  constexpr int number = 57;
  const base::Fd inherited(::dup2(0, number));  // without CLOEXEC
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto ignored = ::signal(SIGPIPE, SIG_IGN);
  const std::string hook =
      scripts.make("test -e /proc/$$/fd/57 && : > inherited\n"
                   "grep -E '^Sig(Blk|Ign):' /proc/self/status > signals\n"
                   "test \"$(cut -d' ' -f5 /proc/$$/stat)\" = $$ && : > leads\n");
  EXPECT_EQ(report_one(options_for(hook)).reported, 1u);
  ::signal(SIGPIPE, ignored);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(scripts.read("inherited"), "none");
  const std::string signals = scripts.read("signals");
  EXPECT_TRUE(signals.starts_with("SigBlk:\t0000000000000000\nSigIgn:\t")) << signals;
  // The four digits of signals 1 to 16; glibc's own, 32 and 33, may be ignored by who runs the
  // test.
  EXPECT_TRUE(signals.ends_with("0000\n")) << signals;
  EXPECT_EQ(scripts.read("leads"), "");
}

// Each row: a script, and how often it is run.
TEST(UploadHook, ProgramsThatFail) {
  struct Row {
    std::string script;
    std::size_t runs;
    std::uint64_t reported;
  };
  const std::vector<Row> rows = {
      {"exit 0", 1, 1},
      {"exit 3", 4, 0},
      {"kill -9 $$", 4, 0},
      {"test $(cat runs | wc -c) = 3", 3, 1},
  };
  for (const Row& row : rows) {
    Scripts scripts;
    const std::string hook = scripts.make("printf x >> runs\n" + row.script + "\n");
    const UploadHook::Counts counts = report_one(options_for(hook));
    EXPECT_EQ(scripts.read("runs").size(), row.runs) << row.script;
    EXPECT_EQ(counts.reported, row.reported) << row.script;
    EXPECT_EQ(counts.failed, 1 - row.reported) << row.script;
  }
}

TEST(UploadHook, AProgramHasSoMuchTime) {
  Scripts scripts;
  UploadHookOptions options = options_for(scripts.make(": > begun\nexec sleep 1000\n"));
  options.tries = 2;
  // The time may be over before the program begins.
  for (milliseconds time(1); scripts.read("begun") == "none" && time < minutes(1); time *= 2) {
    options.time_max = time;
    EXPECT_EQ(report_one(options).failed, 1u);
  }
  EXPECT_EQ(scripts.read("begun"), "");
}

TEST(UploadHook, StopKillsAProgramWithItsChildrenAndEndsTheQueue) {
  Scripts scripts;
  tests::TemporaryDirectory folder;
  const std::string pipe = folder.path_of("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  UploadHookOptions options =
      options_for(scripts.make("exec 3> " + pipe + "\necho >&3\nsleep 1000 & sleep 1000\n"));
  options.flush_max = milliseconds(0);
  UploadHook hook(options);
  ASSERT_TRUE(hook.start());
  for (int i = 0; i < 3; ++i) hook.offer(event_of("a"));
  const base::Fd reader(::open(pipe.c_str(), O_RDONLY | O_CLOEXEC));  // waits for a writer
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
  hook.stop();
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "waits until no writer is alive";
  EXPECT_EQ(hook.counts().failed, 3u);
  hook.stop();
}

TEST(UploadHook, DropsWhatDoesNotFit) {
  Scripts scripts;
  UploadHookOptions options = options_for(scripts.make("printf '%s ' \"$1\" >> got\n"));
  options.queued_max = 2;
  UploadHook hook(options);
  for (const char* const name : {"a", "b", "c"}) hook.offer(event_of(name));
  EXPECT_EQ(hook.counts().dropped, 1u);
  ASSERT_TRUE(hook.start());
  hook.stop();
  hook.sink()(event_of("d"));
  EXPECT_EQ(hook.counts().reported, 2u);
  EXPECT_EQ(hook.counts().dropped, 2u);
  EXPECT_EQ(scripts.read("got"), "/up/a /up/b ");
}

TEST(UploadHook, AUrlGetsJson) {
  HttpStub stub({"204"});
  UploadHook hook(options_for(stub.url("/hook?key=1")));
  ASSERT_TRUE(hook.start());
  hook.offer(event_of("a\"b.txt"));
  const auto received = stub.wait_for(1);
  hook.stop();
  EXPECT_TRUE(received[0].head.starts_with("POST /hook?key=1 HTTP/1.1\r\n")) << received[0].head;
  EXPECT_NE(received[0].head.find("Content-Type: application/json"), std::string::npos);
  EXPECT_EQ(received[0].body, R"({"path":"/up/a\"b.txt","name":"a\"b.txt","size":12,"sha256":")" +
                                  std::string(64, 'a') + R"(","client":"192.0.2.1"})");
  EXPECT_EQ(hook.counts().reported, 1u);
}

// Each row: what the URL answers, how often it is asked, and what becomes of the event.
TEST(UploadHook, Answers) {
  struct Row {
    std::vector<std::string> answers;
    std::size_t requests;
    std::uint64_t reported;
  };
  const std::vector<Row> rows = {
      {{"200"}, 1, 1},          {{"204"}, 1, 1},
      {{"500", "200"}, 2, 1},   {{"404", "503", "429", "200"}, 4, 1},
      {{"close", "202"}, 2, 1}, {{"301"}, 4, 0},
      {{"close"}, 4, 0},
  };
  for (const Row& row : rows) {
    HttpStub stub(row.answers);
    const UploadHook::Counts counts = report_one(options_for(stub.url("/")));
    EXPECT_EQ(stub.wait_for(row.requests).size(), row.requests) << row.answers[0];
    EXPECT_EQ(counts.reported, row.reported) << row.answers[0];
    EXPECT_EQ(counts.failed, 1 - row.reported) << row.answers[0];
  }
}

TEST(UploadHook, Targets) {
  Scripts scripts;
  struct Row {
    std::string target;
    bool good;
  };
  const std::vector<Row> rows = {
      {"true", true},
      {"/bin/true", true},
      {"/no/such/program", false},
      {"no-such-program", false},
      {"/etc/passwd", false},
      {"/tmp/", false},
      {"", false},
      {"ftp://host/", false},
      {"http://127.0.0.1:1/", true},
  };
  for (const Row& row : rows) {
    UploadHook hook(options_for(row.target));
    EXPECT_EQ(hook.start().has_value(), row.good) << row.target;
  }
}

}  // namespace upload_hook_test
}  // namespace h2server::app
