#include "server/passwords/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::server {
namespace hash_test {

const std::string past_72 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

struct Vector {
  std::string password;
  std::string hash;
};

// Those of $2a$ are in the documentation of Openwall's bcrypt, most of SHA-crypt in its
// specification; the others are of htpasswd and of libxcrypt.
const std::vector<Vector> vectors = {
    {"U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"},
    {"U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"},
    {"U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"},
    {past_72 + "chars after 72 are ignored",
     "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"},
    {"engine", "$2b$04$abcdefghijklmnopqrstuuCiRMDOSPunoGZ1DCFvc2WqLWXwAsJFG"},
    {"secret", "$2y$04$mUx8hyEYw1Ut9IUe5NZ9oevsx1sWu.SRCdWYNwOAqrtHYPOWaQWW."},
    {"p\xc3\xa4ss", "$2a$05$abcdefghijklmnopqrstuuQNr.NUko7cjRuTOhPz.WP0eA4f4.Xuq"},
    {"Hello world!", "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/"
                     "O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS"
                     "35inz1"},
    {"Hello world!", "$6$rounds=1000$saltstring$Zu2Vknok2/f53APfN687ADnzeNBLcsEgTwvcBHMD2./"
                     "07rZQAt8vsuKVufD15dyZh.LOLB/uZKf6I3GyON4bp/"},
    {"Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"},
    {"yes", "$y$j75$saltsalt$VOEZpMAm7epRPvWtVjIZTO.l4uc9DVj.pPqYrOK3TD1"},
};

TEST(PasswordHash, AcceptsAndComputes) {
  for (const Vector& vector : vectors) {
    const Result<void, std::string> good = check_password_hash(vector.hash);
    EXPECT_TRUE(good.has_value()) << vector.hash << ": " << good.error();
    EXPECT_TRUE(is_password_of(vector.password, vector.hash).value()) << vector.hash;
    const std::vector<std::string> others = {"", "x", vector.password.substr(1),
                                             "x" + vector.password,
                                             vector.password + std::string(1, '\0')};
    for (const std::string& other : others) {
      EXPECT_FALSE(is_password_of(other, vector.hash).value()) << vector.hash << " " << other;
    }
    std::string changed = vector.hash;
    changed.back() = changed.back() == '.' ? '/' : '.';
    EXPECT_FALSE(is_password_of(vector.password, changed).value()) << changed;
  }
}

TEST(PasswordHash, LongPasswordsAreWrong) {
  const std::string& hash = vectors.front().hash;
  for (const std::size_t size : {511, 512, 100'000}) {
    EXPECT_FALSE(is_password_of(std::string(size, 'x'), hash).value()) << size;
  }
}

TEST(PasswordHash, NoHashIsValidWithoutItsLastOrWithAnotherCharacter) {
  for (const Vector& vector : vectors) {
    for (std::size_t size = 0; size < vector.hash.size(); ++size) {
      EXPECT_FALSE(check_password_hash(vector.hash.substr(0, size))) << vector.hash << " " << size;
    }
    EXPECT_FALSE(check_password_hash(vector.hash + "."));
    for (const char c : std::string("*:!\n\xff\0", 6)) {
      std::string changed = vector.hash;
      changed.back() = c;
      EXPECT_FALSE(check_password_hash(changed)) << changed;
    }
  }
}

TEST(PasswordHash, RefusesKinds) {
  const std::string bcrypt_end = "abcdefghijklmnopqrstuuCiRMDOSPunoGZ1DCFvc2WqLWXwAsJFG";
  const std::string sha512_end = vectors[8].hash.substr(std::string("$6$rounds=1000$").size());
  const std::string yescrypt_end = "saltsalt$VOEZpMAm7epRPvWtVjIZTO.l4uc9DVj.pPqYrOK3TD1";
  struct Row {
    std::string hash;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {"", "a plain text or a hash of DES can be guessed fast"},
      {"secret", "a plain text or a hash of DES can be guessed fast"},
      {"abdDyFpBzVHV2", "a plain text or a hash of DES can be guessed fast"},
      {"{SHA}EfatjsUqKYSrqv18O1FlA3hcIHI=", "a hash of SHA-1 can be guessed fast"},
      {"{SSHA}EfatjsUqKYSrqv18O1FlA3hcIHI=", "a hash of SHA-1 can be guessed fast"},
      {"$apr1$IFT41h0t$KKYW9WEvPScJhHr4sOECg0", "a hash of MD5 can be guessed fast"},
      {"$1$abcdefgh$FKUn78ZwoT6zYetN9GfLm1", "a hash of MD5 can be guessed fast"},
      {"$2x$04$" + bcrypt_end, "a hash of a faulty bcrypt ($2x$)"},
      {"$2$04$" + bcrypt_end, "an unknown kind of hash"},
      {"$argon2id$v=19$m=65536,t=2,p=1$c2FsdA$aGFzaA", "an unknown kind of hash"},
      {"$7$CU..../....2Q9obwLhin8qvQl6sisAO/", "an unknown kind of hash"},
      {"$2b$03$" + bcrypt_end, "a malformed hash of bcrypt"},
      {"$2b$4$" + bcrypt_end, "a malformed hash of bcrypt"},
      {"$2b$+4$" + bcrypt_end, "a malformed hash of bcrypt"},
      {"$2b$18$" + bcrypt_end, "a cost of bcrypt above 17"},
      {"$2b$31$" + bcrypt_end, "a cost of bcrypt above 17"},
      {"$2b$04$abcdefghijklmnopqrstuv" + bcrypt_end.substr(22), "a malformed hash of bcrypt"},
      {"$6$rounds=999$" + sha512_end, "a malformed hash of SHA-crypt"},
      {"$6$rounds=01000$" + sha512_end, "a malformed hash of SHA-crypt"},
      {"$6$rounds=$" + sha512_end, "a malformed hash of SHA-crypt"},
      {"$6$rounds=99999999999999999999$" + sha512_end, "a malformed hash of SHA-crypt"},
      {"$6$rounds=5000001$" + sha512_end, "more than 5000000 rounds of SHA-crypt"},
      {"$6$12345678901234567" + sha512_end.substr(10), "a malformed hash of SHA-crypt"},
      {"$5$" + sha512_end, "a malformed hash of SHA-crypt"},
      {"$y$j75$$" + yescrypt_end.substr(9), "a malformed hash of yescrypt"},
      {"$y$k75$" + yescrypt_end, "a malformed hash of yescrypt"},
      {"$y$j7$" + yescrypt_end, "a malformed hash of yescrypt"},
      {"$y$jCT$" + yescrypt_end, "more than 64 MiB for yescrypt"},
      {"$y$jzz$" + yescrypt_end, "more than 64 MiB for yescrypt"},
  };
  for (const Row& row : rows) {
    const Result<void, std::string> good = check_password_hash(row.hash);
    ASSERT_FALSE(good) << row.hash;
    EXPECT_EQ(good.error(), row.reason) << row.hash;
  }
  EXPECT_TRUE(check_password_hash("$2b$17$" + bcrypt_end));
  EXPECT_TRUE(check_password_hash("$6$rounds=5000000$" + sha512_end));
  EXPECT_TRUE(check_password_hash("$y$jBT$" + yescrypt_end));  // 64 MiB
}

}  // namespace hash_test
}  // namespace h2server::server
