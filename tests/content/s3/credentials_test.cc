#include "content/s3/credentials.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "content/support.h"

namespace h2server::content::s3 {
namespace credentials_test {

TEST(S3Credentials, OfProfiles) {
  struct Row {
    std::string text;
    std::string profile;
    std::string found;  // "ID SECRET TOKEN", or "-"
  };
  const std::string two =
      "[default]\naws_access_key_id = A\naws_secret_access_key=b/c+d=\n"
      "[ other ]\r\naws_access_key_id=E\r\naws_secret_access_key=f\r\naws_session_token= g==\r\n";
  const std::vector<Row> rows = {
      {two, "default", "A b/c+d= "},
      {two, "other", "E f g=="},
      {two, "third", "-"},
      {"# x\n; y\n\n[default]\n#aws_access_key_id=X\nregion = x\naws_access_key_id=A\n"
       "aws_secret_access_key=b",
       "default", "A b "},
      {"aws_access_key_id=A\naws_secret_access_key=b\n", "default", "-"},  // in no profile
      {"[default]\naws_access_key_id=A\n", "default", "-"},
      {"[default]\naws_secret_access_key=hidden\n", "default", "-"},
      {"[default]\nrole_arn=x\n", "default", "-"},
      {"[default]\naws_access_key_id=A B\naws_secret_access_key=hidden\n", "default", "-"},
      {"[default]\naws_access_key_id=A:B\naws_secret_access_key=hidden\n", "default", "-"},
      {"[default]\naws_access_key_id=A/B\naws_secret_access_key=hidden\n", "default", "-"},
      {"[default]\naws_access_key_id=A\naws_secret_access_key=hid den\n", "default", "-"},
      {"[default]\naws_access_key_id=A\naws_secret_access_key=hidden\naws_session_token=\x01\n",
       "default", "-"},
      {"[default]", "default", "-"},
      {"", "default", "-"},
  };
  for (const Row& row : rows) {
    const Result<Credentials, std::string> found = parse_profile(row.text, row.profile);
    const std::string text =
        found ? found->key_id + " " + found->secret + " " + found->session_token : "-";
    EXPECT_EQ(text, row.found) << row.text;
    if (!found) {
      EXPECT_EQ(found.error().find("hid"), std::string::npos) << found.error();
      EXPECT_FALSE(found.error().empty());
    }
  }
}

// Sets variables of the environment for its lifetime; of those of AWS only these are set.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, std::string>> variables)
      : Environment(std::vector(variables)) {}
  explicit Environment(const std::vector<std::pair<const char*, std::string>>& variables) {
    for (const char* const name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
          "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ROLE_ARN",
          "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_SESSION_NAME", "HOME"}) {
      const char* const value = std::getenv(name);
      before_.emplace_back(name,
                           value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
    for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name, value->c_str(), 1);
      } else {
        ::unsetenv(name);
      }
    }
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

TEST(S3Credentials, OfTheEnvironment) {
  {
    const Environment none{};
    EXPECT_FALSE(credentials_options_of_environment());
  }
  {
    const Environment keys{{"AWS_ACCESS_KEY_ID", "A"},
                           {"AWS_SECRET_ACCESS_KEY", "b"},
                           {"AWS_SESSION_TOKEN", "c"},
                           {"AWS_SHARED_CREDENTIALS_FILE", "/x"}};
    const auto options = credentials_options_of_environment();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->given, (Credentials{"A", "b", "c"}));
    EXPECT_EQ(options->file, "");
  }
  {
    const Environment file{{"AWS_SHARED_CREDENTIALS_FILE", "/x"}, {"AWS_PROFILE", "p"}};
    const auto options = credentials_options_of_environment();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->given, Credentials());
    EXPECT_EQ(options->file, "/x");
    EXPECT_EQ(options->profile, "p");
  }
  {
    const Environment home{{"HOME", "/h"}};
    const auto options = credentials_options_of_environment();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->file, "/h/.aws/credentials");
    EXPECT_EQ(options->profile, "default");
  }
  for (const char* const half : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
    const Environment one{{half, "hidden"}, {"HOME", "/h"}};
    const auto options = credentials_options_of_environment();
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().find("hidden"), std::string::npos);
  }
}

TEST(S3Credentials, OfAWebIdentity) {
  const tests::TemporaryDirectory directory;
  const std::string file = directory.path_of("credentials");
  directory.write("credentials", "[default]\nrole_arn=R\nweb_identity_token_file=/t\n"
                                 "[keys]\naws_access_key_id=A\naws_secret_access_key=b\n");
  directory.write("config", "[profile two]\nrole_arn=S\nweb_identity_token_file=/u\n"
                            "role_session_name=me\n");
  const std::string config = directory.path_of("config");
  struct Row {
    std::vector<std::pair<const char*, std::string>> variables;
    std::string found;  // "ROLE FILE NAME", or "-"; "keys": others come first
  };
  const std::pair<const char*, std::string> role{"AWS_ROLE_ARN", "Q"};
  const std::pair<const char*, std::string> token{"AWS_WEB_IDENTITY_TOKEN_FILE", "/s"};
  const std::vector<Row> rows = {
      {{role, token}, "Q /s h2server"},
      {{role, token, {"AWS_ROLE_SESSION_NAME", "n"}}, "Q /s n"},
      {{role, token, {"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "b"}}, "keys"},
      {{token}, "-"},
      {{role}, "-"},
      {{role, {"AWS_SHARED_CREDENTIALS_FILE", file}, {"AWS_PROFILE", "keys"}}, "keys"},
      {{{"AWS_SHARED_CREDENTIALS_FILE", file}}, "R /t h2server"},
      {{role, {"AWS_SHARED_CREDENTIALS_FILE", file}}, "Q /t h2server"},
      {{{"AWS_CONFIG_FILE", config}, {"AWS_PROFILE", "two"}}, "S /u me"},
  };
  for (const Row& row : rows) {
    const Environment environment(row.variables);
    const auto options = credentials_options_of_environment();
    std::string found = "-";
    if (options) {
      const WebIdentity& identity = options->identity;
      found = identity.role + " " + identity.token_file + " " + identity.session_name;
      if (identity.role.empty()) found = "keys";
    }
    EXPECT_EQ(found, row.found);
  }
}

TEST(S3Credentials, AsksWhoHasThem) {
  int asked = 0;
  CredentialsSource source({.ask = [&asked]() -> Result<CredentialsRef, std::string> {
    if (++asked == 2) return std::unexpected("they have expired");
    return std::make_shared<const Credentials>(Credentials{"A", "b", "c"});
  }});
  EXPECT_EQ(*source.current(0).value(), (Credentials{"A", "b", "c"}));
  EXPECT_EQ(source.current(0).error(), "they have expired");
}

TEST(S3Credentials, FilesAreReadAgain) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory.path_of("credentials");
  CredentialsSource source({.file = path});
  const auto key_at = [&source](std::int64_t now_s) {
    const Result<CredentialsRef, std::string> found = source.current(now_s);
    return found ? (*found)->key_id : found.error();
  };
  EXPECT_EQ(key_at(100), "no credentials: AWS_ACCESS_KEY_ID is not set, and " + path +
                             ": No such file or directory");
  const auto write = [&directory](const std::string& key) {
    directory.write("credentials",
                    "[default]\naws_access_key_id=" + key + "\naws_secret_access_key=b\n");
  };
  write("FIRST");
  EXPECT_EQ(key_at(100), "FIRST");  // without credentials, each call looks
  write("SECOND");
  EXPECT_EQ(key_at(159), "FIRST");
  EXPECT_EQ(key_at(160), "SECOND");
  directory.write("credentials", "");
  EXPECT_EQ(key_at(220), "SECOND");  // better than none
  std::filesystem::remove(path);
  EXPECT_EQ(key_at(280), "SECOND");
  write("THIRD");
  EXPECT_EQ(key_at(340), "THIRD");
}

}  // namespace credentials_test
}  // namespace h2server::content::s3
