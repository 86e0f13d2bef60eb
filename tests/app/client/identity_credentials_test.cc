#include "app/client/identity_credentials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "app/http_stub.h"
#include "base/clock.h"
#include "content/support.h"

namespace h2server::app {
namespace identity_credentials_test {

using tests::HttpStub;

std::string time_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string answer(std::int64_t lifetime_s) {
  return "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
         "<AccessKeyId>ID</AccessKeyId><SecretAccessKey>hidden</SecretAccessKey>"
         "<SessionToken>TOKEN</SessionToken><Expiration>" +
         time_text(base::unix_seconds() + lifetime_s) +
         "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
         "</AssumeRoleWithWebIdentityResponse>";
}

class IdentityCredentialsTest : public testing::Test {
 protected:
  IdentityOptions options(const HttpStub& stub) const {
    return {.identity = {.role = "R", .token_file = folder_.path_of("token"), .session_name = "s"},
            .sts_url = stub.url("/")};
  }
  void write_token(const std::string& text) const { folder_.write("token", text); }

  tests::TemporaryDirectory folder_;
};

TEST_F(IdentityCredentialsTest, AsksOnceForAll) {
  write_token("first\n");
  HttpStub stub({"200"}, answer(3600));
  IdentityCredentials credentials(options(stub));
  for (int i = 0; i < 3; ++i) {
    const auto found = credentials.current();
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(**found, (content::s3::Credentials{"ID", "hidden", "TOKEN"}));
  }
  const auto received = stub.wait_for(1);
  EXPECT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].head.starts_with("POST / HTTP/1.1\r\n")) << received[0].head;
  EXPECT_TRUE(received[0].head.contains("application/x-www-form-urlencoded"));
  EXPECT_TRUE(received[0].body.ends_with("&RoleSessionName=s&WebIdentityToken=first"))
      << received[0].body;
}

// With the token that is in the file by then.
TEST_F(IdentityCredentialsTest, RenewsBeforeTheyExpire) {
  write_token("first");
  HttpStub stub({"200"}, answer(4));
  IdentityCredentials credentials(options(stub));
  ASSERT_TRUE(credentials.current());
  write_token("second");
  const auto received = stub.wait_for(2);
  EXPECT_TRUE(received[1].body.ends_with("WebIdentityToken=second")) << received[1].body;
}

TEST_F(IdentityCredentialsTest, KeepsValidOnesIfRenewingFails) {
  write_token("first");
  HttpStub stub({"200", "503"}, answer(60));
  IdentityOptions impatient = options(stub);
  impatient.renew_at = 0;
  IdentityCredentials credentials(std::move(impatient));
  ASSERT_TRUE(credentials.current());
  static_cast<void>(stub.wait_for(3));
  EXPECT_TRUE(credentials.current());
}

TEST_F(IdentityCredentialsTest, TriesAgainAfterAFailure) {
  write_token("first");
  HttpStub stub({"403", "200"}, answer(3600));
  IdentityCredentials credentials(options(stub));
  const auto refused = credentials.current();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "no credentials for the web identity: status 403");
  static_cast<void>(stub.wait_for(2));
  while (!credentials.current()) {
  }
}

TEST_F(IdentityCredentialsTest, SaysWhatIsWrong) {
  HttpStub stub({"200"}, answer(-1));
  {
    IdentityCredentials without(options(stub));
    const auto found = without.current();
    ASSERT_FALSE(found);
    EXPECT_TRUE(found.error().ends_with("token: No such file or directory")) << found.error();
  }
  write_token("first");
  IdentityCredentials expired(options(stub));
  const auto found = expired.current();
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().contains("expired already")) << found.error();
}

TEST_F(IdentityCredentialsTest, StopsWhileItWaits) {
  write_token("first");
  HttpStub stub({"hang"});
  IdentityCredentials credentials(options(stub));
  std::thread waiting([&credentials] { EXPECT_FALSE(credentials.current()); });
  static_cast<void>(stub.wait_for(1));
  credentials.stop();
  waiting.join();
  EXPECT_FALSE(credentials.current());
}

}  // namespace identity_credentials_test
}  // namespace h2server::app
