#include "server/passwords/table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::server {
namespace table_test {

const std::string engine = "$2b$04$abcdefghijklmnopqrstuuCiRMDOSPunoGZ1DCFvc2WqLWXwAsJFG";
const std::string difference = "$2y$04$abcdefghijklmnopqrstuuYoTZ7KvCLFMLqI0/cIQIZxTcs0CvJya";

TEST(PasswordTable, FindsUsers) {
  const std::string text = "# users of the engine\n\nada:" + engine + "\r\ncharles:" + difference +
                           ":Charles Babbage:x\n#ghost:" + engine + "\np\xc3\xa4ul b:" + engine;
  const auto table = PasswordTable::parse(text, "users");
  ASSERT_TRUE(table) << table.error();
  struct Row {
    std::string user;
    std::string password;
    bool right;
  };
  const std::vector<Row> rows = {
      {"ada", "engine", true},
      {"charles", "difference", true},
      {"p\xc3\xa4ul b", "engine", true},
      {"ada", "difference", false},
      {"charles", "engine", false},
      {"ada", "", false},
      {"ada", engine, false},
      {"Ada", "engine", false},
      {"", "engine", false},
      {"#ghost", "engine", false},
      {"ghost", "engine", false},
      {"ada:", "engine", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(table->is_right(row.user, row.password), row.right)
        << row.user << " " << row.password;
  }
}

// A user who does not exist is compared with the hash of one who does, and is refused nevertheless.
TEST(PasswordTable, NobodyElseHasTheirPassword) {
  const auto table = PasswordTable::parse("ada:" + engine, "users");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(table->is_right("nobody" + std::to_string(i), "engine"), false);
  }
}

TEST(PasswordTable, RefusesLines) {
  const std::string good = "ada:" + engine + "\n";
  const std::string better = "; `htpasswd -B` makes a better one";
  struct Row {
    std::string text;
    std::string error;
  };
  const std::vector<Row> rows = {
      {"", "users: no user"},
      {"\n# nobody\n\n", "users: no user"},
      {good + "\ncharles", "users:3: no colon after the user's name"},
      {":" + engine, "users:1: no user's name"},
      {good + good, "users:2: a user who is there already"},
      {"a\tb:" + engine, "users:1: a control character in a user's name"},
      {"a" + std::string(1, '\0') + ":" + engine, "users:1: a control character in a user's name"},
      {good + "bob:", "users:2: a plain text or a hash of DES can be guessed fast" + better},
      {"# x\r\n" + good + "bob:hunter2\n",
       "users:3: a plain text or a hash of DES can be guessed fast" + better},
      {"bob:$apr1$IFT41h0t$KKYW9WEvPScJhHr4sOECg0",
       "users:1: a hash of MD5 can be guessed fast" + better},
      {"bob:{SHA}EfatjsUqKYSrqv18O1FlA3hcIHI=",
       "users:1: a hash of SHA-1 can be guessed fast" + better},
      {"bob:realm:939e7578ed9e3c518a452acee763bce9",  // htdigest's
       "users:1: a plain text or a hash of DES can be guessed fast" + better},
      {"bob: " + engine, "users:1: a plain text or a hash of DES can be guessed fast" + better},
      {"bob:" + engine + " \n", "users:1: a malformed hash of bcrypt" + better},
  };
  for (const Row& row : rows) {
    const auto table = PasswordTable::parse(row.text, "users");
    ASSERT_FALSE(table) << row.text;
    EXPECT_EQ(table.error(), row.error);
  }
}

TEST(PasswordTable, HasABound) {
  std::string text;
  for (std::size_t i = 0; i < PasswordTable::users_max; ++i) {
    text += std::to_string(i) + ":" + engine + "\n";
  }
  const auto table = PasswordTable::parse(text, "users");
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(table->is_right("99999", "engine"), true);
  EXPECT_EQ(table->is_right("100000", "engine"), false);
  const auto larger = PasswordTable::parse(text + "one more:" + engine, "users");
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error(), "users:100001: more than 100000 users");
}

}  // namespace table_test
}  // namespace h2server::server
