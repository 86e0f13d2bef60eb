#include "h2server/password_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "base/text/base64.h"
#include "content/support.h"
#include "h2server/authentication.h"
#include "h2server/test_client.h"

namespace h2server {
namespace password_file_test {

const std::string engine = "$2b$04$abcdefghijklmnopqrstuuCiRMDOSPunoGZ1DCFvc2WqLWXwAsJFG";
const std::string difference = "$2y$04$abcdefghijklmnopqrstuuYoTZ7KvCLFMLqI0/cIQIZxTcs0CvJya";

std::string client_field(const Request& request) {
  return std::string(request.field("x-client").value_or("first"));
}

// A server whose clients name themselves.
class Passwords : public testing::Test {
 protected:
  Passwords() { files_.write("users", "ada:" + engine + "\ncharles:" + difference + "\n"); }

  void start(PasswordFileOptions options = {}) {
    options.client = client_field;
    const PasswordFile file(files_.path_of("users"), std::move(options));
    server_.with(basic_authentication("engines", file)).get("/", [](Request& request) {
      return Response::text(request.attached<AuthenticatedUser>()->name);
    });
    // Another place with the same users.
    server_.with(basic_authentication("others", file)).get("/other", [](Request&) {
      return Response(204);
    });
    client_.emplace(server_);
  }

  static TestRequest request(const std::string& credentials, const std::string& client = "first",
                             const std::string& target = "/") {
    return {.target = target,
            .fields = {{"Authorization", "Basic " + base::encode_base64(credentials)},
                       {"X-Client", client}}};
  }
  TestResponse ask(const std::string& credentials, const std::string& client = "first",
                   const std::string& target = "/") {
    return client_->send(request(credentials, client, target));
  }

  tests::TemporaryDirectory files_;
  Server server_;
  std::optional<TestClient> client_;
};

TEST_F(Passwords, Table) {
  start({.failures_max = 1000});
  struct Row {
    std::string credentials;
    std::string user;  // empty: refused
  };
  const std::vector<Row> rows = {
      {"ada:engine", "ada"},
      {"charles:difference", "charles"},
      {"ada:engine", "ada"},
      {"ada:difference", ""},
      {"ada:", ""},
      {"ada:engine ", ""},
      {"ada:engine:", ""},
      {":engine", ""},
      {"nobody:engine", ""},
      {"Ada:engine", ""},
      {"ada", ""},
      {"ada:" + engine, ""},
      {"ada:en\ngine", ""},
      {"ada:" + std::string(100'000, 'x'), ""},
      {"charles:difference", "charles"},
  };
  for (const Row& row : rows) {
    const TestResponse response = ask(row.credentials);
    EXPECT_EQ(response.status, row.user.empty() ? 401 : 200) << row.credentials;
    EXPECT_EQ(response.body, row.user) << row.credentials;
    EXPECT_EQ(response.field("WWW-Authenticate").has_value(), row.user.empty());
  }
  EXPECT_EQ(client_->get("/").status, 401);
  EXPECT_EQ(client_->get("/").field("WWW-Authenticate"),
            "Basic realm=\"engines\", charset=\"UTF-8\"");
}

TEST_F(Passwords, FailuresAreLimitedForTheirClient) {
  start({.failures_max = 3});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client_->get("/").status, 401);  // no guess
  EXPECT_EQ(ask("ada:engine", "home").status, 200);
  EXPECT_EQ(ask("ada:a").status, 401);
  EXPECT_EQ(ask("ada:b", "first", "/other").status, 401);
  EXPECT_EQ(ask("nobody:c").status, 401);
  // Right ones, too: a guesser must not learn that they are.
  for (const std::string credentials : {"ada:d", "charles:difference", "nobody:e"}) {
    const TestResponse refused = ask(credentials);
    EXPECT_EQ(refused.status, 429) << credentials;
    EXPECT_FALSE(refused.field("WWW-Authenticate"));
    const int wait_s = std::stoi(std::string(refused.field("Retry-After").value_or("0")));
    EXPECT_GE(wait_s, 1);
    EXPECT_LE(wait_s, 30);
    EXPECT_EQ(ask(credentials, "first", "/other").status, 429);
  }
  EXPECT_EQ(ask("charles:difference", "second").status, 200);
  EXPECT_EQ(client_->get("/").status, 401);
}

TEST_F(Passwords, RightOnesAreRememberedWithoutAnotherCheck) {
  start({.failures_max = 1});
  EXPECT_EQ(ask("ada:engine").status, 200);
  EXPECT_EQ(ask("ada:wrong").status, 401);
  EXPECT_EQ(ask("charles:difference").status, 429);  // each check would be
  EXPECT_EQ(ask("ada:engine").body, "ada");
  EXPECT_EQ(ask("ada:engine", "first", "/other").status, 204);
  EXPECT_EQ(ask("ada:engin").status, 429);
}

TEST_F(Passwords, NothingIsRememberedWithoutALifetime) {
  start({.failures_max = 1, .remembered = std::chrono::seconds(0)});
  EXPECT_EQ(ask("ada:engine").status, 200);
  EXPECT_EQ(ask("ada:engine").status, 200);
  EXPECT_EQ(ask("ada:wrong").status, 401);
  EXPECT_EQ(ask("ada:engine").status, 429);
}

// Other clients use up the failures of a user: those that were right before are not affected.
TEST_F(Passwords, ManyClientsDoNotKeepAUserOut) {
  start({.failures_max = 1, .remembered = std::chrono::seconds(0)});
  EXPECT_EQ(ask("ada:engine", "home").status, 200);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask("ada:x", std::to_string(i)).status, 401) << i;
  EXPECT_EQ(ask("ada:engine", "away").status, 429);
  EXPECT_EQ(ask("ada:engine", "home").status, 200);
  EXPECT_EQ(ask("charles:difference", "away").status, 200);
}

// --- tokens -------------------------------------------------------------------------------------

// The SHA-256 of "abc", "a1-._~+/z==", and 1024 and 1025 times "x".
const std::string tokens =
    "ci:{SHA256}BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
    "ci:{SHA256}2af69429097691bae18ca475d5db5dc0653ab26429de135198e8ff970c531988\n"
    "x:{SHA256}49abd65bbf7f7e40c7055093ed2e3fd75f2f602f2c5fcf955c213e3135eb03f7\n"
    "xx:{SHA256}c6d8e9905300876046729949cc95c2385221270d389176f7234fe7ac00c4e430\n";

class Tokens : public Passwords {
 protected:
  void start_with(const std::string& file, PasswordFileOptions options = {}) {
    files_.write("users", file);
    start(std::move(options));
  }
  TestResponse ask_with(const std::string& field, const std::string& client = "first") {
    return client_->send(
        {.target = "/", .fields = {{"Authorization", field}, {"X-Client", client}}});
  }
  static std::vector<std::string> challenges_of(const TestResponse& response) {
    std::vector<std::string> challenges;
    for (const Response::Line& line : response.fields) {
      if (line.name == "WWW-Authenticate" || line.name == "www-authenticate")
        challenges.push_back(line.value);
    }
    return challenges;
  }
};

using Challenges = std::vector<std::string>;
const std::string basic = "Basic realm=\"engines\", charset=\"UTF-8\"";
const std::string bearer = "Bearer realm=\"engines\"";
const std::string wrong_token = bearer + ", error=\"invalid_token\"";

// RFC 6750, 2.1 and 3; RFC 9110, 11.
TEST_F(Tokens, Table) {
  start_with("ada:" + engine + "\n" + tokens, {.failures_max = 1000});
  struct Row {
    std::string field;
    std::string user;  // empty: refused
    Challenges challenges = {};
  };
  const std::vector<Row> rows = {
      {"Bearer abc", "ci"},
      {"bearer abc", "ci"},
      {"BEARER   abc", "ci"},
      {"Bearer abc ", "ci"},
      {"Bearer a1-._~+/z==", "ci"},
      {"Bearer " + std::string(1024, 'x'), "x"},
      {"Basic " + base::encode_base64("ada:engine"), "ada"},
      {"Bearer " + std::string(1025, 'x'), "", {basic, wrong_token}},
      {"Bearer " + std::string(20'000, 'x'), "", {basic, wrong_token}},
      {"Bearer abd", "", {basic, wrong_token}},
      {"Bearer ABC", "", {basic, wrong_token}},
      {"Bearer abc=", "", {basic, wrong_token}},
      {"Bearer engine", "", {basic, wrong_token}},
      {"Bearer " + tokens.substr(11, 64), "", {basic, wrong_token}},
      // These are no tokens at all.
      {"Bearer", "", {basic, bearer}},
      {"Bearer ", "", {basic, bearer}},
      {"Bearerabc", "", {basic, bearer}},
      {"Bearer\tabc", "", {basic, bearer}},
      {"Bearer abc def", "", {basic, bearer}},
      {"Bearer abc, Bearer abc", "", {basic, bearer}},
      {"Bearer a=bc", "", {basic, bearer}},
      {"Bearer =", "", {basic, bearer}},
      {"Bearer \"abc\"", "", {basic, bearer}},
      {"Bearer a:b", "", {basic, bearer}},
      {"Token abc", "", {basic, bearer}},
      {"abc", "", {basic, bearer}},
      {"Basic " + base::encode_base64("ci:abc"), "", {basic, bearer}},
      {"Basic " + base::encode_base64("ada:abc"), "", {basic, bearer}},
      {"Bearer abc", "ci"},
  };
  for (const Row& row : rows) {
    const TestResponse response = ask_with(row.field);
    EXPECT_EQ(response.status, row.user.empty() ? 401 : 200) << row.field;
    EXPECT_EQ(response.body, row.user) << row.field;
    EXPECT_EQ(challenges_of(response), row.challenges) << row.field;
  }
  EXPECT_EQ(challenges_of(client_->get("/")), (Challenges{basic, bearer}));
  const TestResponse twice =
      client_->send({.target = "/",
                     .fields = {{"Authorization", "Bearer abc"}, {"Authorization", "Bearer abc"}}});
  EXPECT_EQ(twice.status, 401);
}

TEST_F(Tokens, OfferOnlyWhatTheFileHas) {
  start_with(tokens);
  EXPECT_EQ(challenges_of(client_->get("/")), Challenges{bearer});
  EXPECT_EQ(challenges_of(ask_with("Bearer no")), Challenges{wrong_token});
  EXPECT_EQ(challenges_of(ask("ada:engine")), Challenges{bearer});
  EXPECT_EQ(ask_with("Bearer abc").body, "ci");
}

TEST_F(Tokens, AreNothingForAFileWithoutThem) {
  start();
  EXPECT_EQ(challenges_of(ask_with("Bearer abc")), Challenges{basic});
}

TEST_F(Tokens, FailuresAreLimitedForTheirClient) {
  start_with("ada:" + engine + "\n" + tokens, {.failures_max = 2});
  EXPECT_EQ(ask_with("Bearer abc", "home").status, 200);
  for (const std::string client : {"first", "home"}) {
    for (const char* const guess : {"Bearer a", "Bearer b"}) {
      EXPECT_EQ(ask_with(guess, client).status, 401);
    }
    EXPECT_EQ(ask_with("Bearer c", client).status, 429);
    EXPECT_EQ(ask("ada:engine", client).status, 429);  // of both kinds together
  }
  const TestResponse refused = ask_with("Bearer c");
  EXPECT_TRUE(refused.field("Retry-After"));
  EXPECT_EQ(challenges_of(refused), Challenges{});
  EXPECT_EQ(ask_with("Bearer abc", "home").status, 200);  // remembered, whoever sends it
  EXPECT_EQ(ask_with("Bearer abc").status, 200);
  // A right one that is not remembered is refused like a wrong one.
  EXPECT_EQ(ask_with("Bearer " + std::string(1024, 'x')).status, 429);
  EXPECT_EQ(ask_with("Bearer " + std::string(1024, 'x'), "second").status, 200);
}

// Nobody can guess a random token, so other clients' guesses do not count.
TEST_F(Tokens, ManyClientsDoNotKeepOthersOut) {
  start_with(tokens, {.failures_max = 1, .remembered = std::chrono::seconds(0)});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ask_with("Bearer no", std::to_string(i)).status, 401);
    EXPECT_EQ(ask_with("Bearer abc", std::to_string(i)).status, 429);
  }
  EXPECT_EQ(ask_with("Bearer abc", "home").status, 200);
  EXPECT_EQ(ask_with("Bearer abc", "home").status, 200);
}

// --- many requests ------------------------------------------------------------------------------

std::vector<int> statuses_of(std::vector<TestExchange>& exchanges) {
  std::vector<int> statuses;
  for (TestExchange& exchange : exchanges) exchange.finish();
  for (TestExchange& exchange : exchanges) statuses.push_back(exchange.rest().status);
  std::ranges::sort(statuses);
  return statuses;
}

TEST_F(Passwords, ABrowserMaySendManyRequestsAtOnce) {
  for (const std::uint32_t checks_max : {1, 4}) {
    Server server;
    const PasswordFile file(files_.path_of("users"), {.failures_max = 1, .checks_max = checks_max});
    server.with(basic_authentication("engines", file)).get("/", [](Request&) {
      return Response(200);
    });
    TestClient client(server);
    std::vector<TestExchange> exchanges;
    for (int i = 0; i < 100; ++i) exchanges.push_back(client.open(request("ada:engine")));
    EXPECT_EQ(statuses_of(exchanges), std::vector<int>(100, 200));
  }
}

TEST_F(Passwords, RequestsThatWaitedAreNotCheckedAgain) {
  start({.failures_max = 1, .checks_max = 1});
  std::vector<TestExchange> exchanges;
  exchanges.push_back(client_->open(request("ada:engine")));
  exchanges.push_back(client_->open(request("ada:wrong")));
  for (int i = 0; i < 50; ++i) exchanges.push_back(client_->open(request("ada:engine")));
  // After the wrong one, each further check would be refused with 429.
  std::vector<int> expected(51, 200);
  expected.push_back(401);
  EXPECT_EQ(statuses_of(exchanges), expected);
}

// More than may wait are refused at once; of the others no more fail than are checked together.
TEST_F(Passwords, AFloodIsBounded) {
  start({.failures_max = 2, .checks_max = 2});
  std::vector<TestExchange> exchanges;
  for (int i = 0; i < 300; ++i) {
    exchanges.push_back(client_->open(request("ada:" + std::to_string(i))));
  }
  const std::vector<int> statuses = statuses_of(exchanges);
  const auto wrong = std::ranges::count(statuses, 401);
  EXPECT_GE(wrong, 2);
  EXPECT_LE(wrong, 3);
  const auto busy = std::ranges::count(statuses, 503);
  EXPECT_GE(busy, 100);
  EXPECT_EQ(wrong + busy + std::ranges::count(statuses, 429), 300);
  EXPECT_EQ(ask("ada:engine", "second").status, 200);
}

// It does not wait for those who came before it and were never right.
TEST_F(Passwords, AFloodOfStrangersDoesNotHoldUpAKnownClient) {
  std::mutex mutex;
  std::vector<std::string> passed;
  const PasswordFile file(
      files_.path_of("users"),
      {.client = client_field, .remembered = std::chrono::seconds(0), .checks_max = 1});
  server_.with(basic_authentication("engines", file)).get("/", [&](Request& request) {
    const std::lock_guard lock(mutex);
    passed.push_back(client_field(request));
    return Response(204);
  });
  client_.emplace(server_);
  EXPECT_EQ(ask("ada:engine", "known").status, 204);
  std::vector<TestExchange> exchanges;
  for (int i = 0; i < 120; ++i) {
    exchanges.push_back(client_->open(request("ada:engine", std::to_string(i))));
  }
  exchanges.push_back(client_->open(request("ada:engine", "known")));
  EXPECT_EQ(statuses_of(exchanges), std::vector<int>(121, 204));
  EXPECT_NE(passed.back(), "known");
}

TEST_F(Passwords, ClientsThatLeaveLoseNoPlace) {
  start({.failures_max = 1000, .checks_max = 1});
  for (int i = 0; i < 50; ++i) {
    TestExchange checked = client_->open(request("ada:" + std::to_string(i)));
    TestExchange waits = client_->open(request("ada:" + std::to_string(i)));
  }
  EXPECT_EQ(ask("ada:engine").status, 200);
}

TEST_F(Passwords, TellsWhatIsWrongWithTheFile) {
  const auto error_of = [this](const std::string& name) -> std::string {
    try {
      const PasswordFile file(files_.path_of(name));
    } catch (const std::invalid_argument& error) {
      return error.what();
    } catch (const std::system_error& error) {
      return "errno " + std::to_string(error.code().value()) + " " + error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("users"), "");
  EXPECT_TRUE(error_of("none").starts_with("errno " + std::to_string(ENOENT) + " " +
                                           files_.path_of("none")));
  EXPECT_EQ(error_of("."), files_.path_of(".") + ": not a regular file");
  ASSERT_EQ(::mkfifo(files_.path_of("fifo").c_str(), 0600), 0);
  EXPECT_EQ(error_of("fifo"), files_.path_of("fifo") + ": not a regular file");
  files_.write("empty", "");
  EXPECT_EQ(error_of("empty"), files_.path_of("empty") + ": no user");
  files_.write("bad", "ada:" + engine + "\nbob:hunter2\n");
  EXPECT_TRUE(error_of("bad").starts_with(files_.path_of("bad") + ":2: a plain text"));
  EXPECT_EQ(error_of("bad").find("hunter2"), std::string::npos);
  EXPECT_TRUE(error_of("bad").ends_with("`htpasswd -B` makes a better one"));
  std::string large = "ada:" + engine + "\n";
  large.resize((16 << 20) + 1, '\n');
  files_.write("large", large);
  EXPECT_EQ(error_of("large"), files_.path_of("large") + ": more than 16 MiB");
  large.pop_back();
  files_.write("large", large);
  EXPECT_EQ(error_of("large"), "");
}

TEST_F(Passwords, RefusesOptions) {
  const std::string path = files_.path_of("users");
  for (const PasswordFileOptions& options : {
           PasswordFileOptions{.client = nullptr},
           PasswordFileOptions{.failures_max = 0},
           PasswordFileOptions{.failures_max = 1001},
           PasswordFileOptions{.remembered = std::chrono::seconds(-1)},
           PasswordFileOptions{.remembered = std::chrono::hours(25)},
           PasswordFileOptions{.checks_max = 0},
       }) {
    EXPECT_THROW(PasswordFile(path, options), std::invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(basic_authentication("a\nb", PasswordFile(path))),
               std::invalid_argument);
}

}  // namespace password_file_test
}  // namespace h2server
