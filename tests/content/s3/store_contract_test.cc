// S3Store keeps the contract, with a store that the environment names:
// tests/system/test_store_contract.py starts some. Each run has its own prefix in the bucket.
#include <cstdlib>
#include <memory>
#include <string>

#include "base/random.h"
#include "content/s3/location.h"
#include "content/s3/s3_store.h"
#include "content/store_contract.h"

namespace h2server::content::s3 {
namespace store_contract_test {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::shared_ptr<Store> open_store(const std::string& endpoint) {
  const auto location =
      make_location({.place = "s3://bucket/contract", .endpoint = endpoint, .region = "us-east-1"});
  if (!location) {
    ADD_FAILURE() << location.error();
    std::abort();
  }
  return std::make_shared<S3Store>(
      S3StoreOptions{.location = *location,
                     .credentials = {.given = {.key_id = environment("AWS_ACCESS_KEY_ID"),
                                               .secret = environment("AWS_SECRET_ACCESS_KEY")}}});
}

class S3StoreContract : public testing::TestWithParam<tests::StoreCheck> {};

TEST_P(S3StoreContract, Check) {
  const std::string endpoint = environment("H2SERVER_TEST_S3_ENDPOINT");
  if (endpoint.empty()) GTEST_SKIP() << "H2SERVER_TEST_S3_ENDPOINT names no store";
  tests::StoreUnderTest under_test{.open = [endpoint] { return open_store(endpoint); }};
  under_test.prefix = std::to_string(base::random_number()) + "/";
  tests::run_check(GetParam(), under_test);
}

std::string name_of(const testing::TestParamInfo<tests::StoreCheck>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, S3StoreContract, testing::ValuesIn(tests::store_checks()), name_of);

}  // namespace store_contract_test
}  // namespace h2server::content::s3
