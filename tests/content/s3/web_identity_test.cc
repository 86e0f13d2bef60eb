#include "content/s3/web_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content::s3 {
namespace web_identity_test {

struct TextRow {
  std::string text;
  std::string result;  // "-": refused
};

TEST(WebIdentity, TokensOfFiles) {
  const std::vector<TextRow> rows = {
      {"a.b.c", "a.b.c"}, {" a.b.c\r\n", "a.b.c"}, {"", "-"},     {"\n \n", "-"},
      {"a b", "-"},       {"a\nb", "-"},           {"\xff", "-"},
  };
  for (const TextRow& row : rows) {
    EXPECT_EQ(web_identity_token(row.text).value_or("-"), row.result) << row.text;
  }
}

TEST(WebIdentity, AddressesOfAws) {
  EXPECT_EQ(sts_of_aws(""), "https://sts.us-east-1.amazonaws.com");
  EXPECT_EQ(sts_of_aws("eu-1"), "https://sts.eu-1.amazonaws.com");
  EXPECT_EQ(sts_of_aws("cn-north-1"), "https://sts.cn-north-1.amazonaws.com.cn");
}

TEST(WebIdentity, Form) {
  const WebIdentity identity{.role = "arn:aws:iam::1:role/a+b", .session_name = "me@home"};
  EXPECT_EQ(assume_role_form(identity, "x.y-z_=&"),
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
            "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%2Bb&RoleSessionName=me%40home"
            "&WebIdentityToken=x.y-z_%3D%26");
}

std::string answer(const std::string& credentials) {
  return "<?xml version=\"1.0\"?>\n<AssumeRoleWithWebIdentityResponse "
         "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
         "<AssumeRoleWithWebIdentityResult><Audience>x</Audience>" +
         credentials + "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>\n";
}

TEST(WebIdentity, Answers) {
  const std::string id = "<AccessKeyId>ID</AccessKeyId>";
  const std::string secret = "<SecretAccessKey>se/cret+=</SecretAccessKey>";
  const std::string token = "<SessionToken>to/ken=</SessionToken>";
  const std::string end = "<Expiration>2026-01-02T03:04:05Z</Expiration>";
  const auto all = [](const std::string& inner) {
    return answer("<Credentials>" + inner + "</Credentials>");
  };
  const std::vector<TextRow> rows = {
      {all(id + secret + token + end), "ID se/cret+= to/ken= 1767323045"},
      {all(end + token + secret + id), "ID se/cret+= to/ken= 1767323045"},
      {all(id + secret + "<Expiration>2026-01-02T03:04:05.123Z</Expiration>"),
       "ID se/cret+=  1767323045"},
      {all(id + secret + token), "-"},
      {all(secret + token + end), "-"},
      {all(id + token + end), "-"},
      {all(id + "<SecretAccessKey>hid den</SecretAccessKey>" + token + end), "-"},
      {all(id + secret + token + "<Expiration>tomorrow</Expiration>"), "-"},
      {answer(id + secret + token + end), "-"},
      {"<Credentials>" + id + secret + token + end + "</Credentials>", "-"},
      {"", "-"},
      {"<", "-"},
  };
  for (const TextRow& row : rows) {
    const Result<AssumedRole, std::string> role = assumed_role(row.text);
    const std::string found = role ? role->credentials.key_id + " " + role->credentials.secret +
                                         " " + role->credentials.session_token + " " +
                                         std::to_string(role->expires_s)
                                   : "-";
    EXPECT_EQ(found, row.result) << row.text;
    if (!role) {
      EXPECT_EQ(role.error().find("hid"), std::string::npos) << role.error();
      EXPECT_FALSE(role.error().empty());
    }
  }
}

TEST(WebIdentity, Refusals) {
  const std::string token = "headerofit.payloadofit.x";
  const auto error = [](const std::string& inner) {
    return "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error>" + inner +
           "</Error><RequestId>1</RequestId></ErrorResponse>";
  };
  const std::vector<TextRow> rows = {
      {error("<Type>Sender</Type><Code>AccessDenied</Code><Message>no\nway</Message>"),
       "status 403, AccessDenied: no way"},
      {error("<Code>InvalidIdentityToken</Code><Message>bad payloadofit</Message>"),
       "status 403, InvalidIdentityToken"},
      {error("<Code>X</Code><Message>" + token + "</Message>"), "status 403, X"},
      {error("<Code>X</Code><Message>x is short</Message>"), "status 403, X: x is short"},
      {error(""), "status 403"},
      {"<html>", "status 403"},
      {"", "status 403"},
  };
  for (const TextRow& row : rows) {
    EXPECT_EQ(assume_role_refusal(403, row.text, token), row.result) << row.text;
  }
}

}  // namespace web_identity_test
}  // namespace h2server::content::s3
