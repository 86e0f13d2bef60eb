#include "app/certificates/certificate_expiry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::app {
namespace certificate_expiry_test {

constexpr std::int64_t day = 24 * 3600;
constexpr std::int64_t end_s = 1'700'000'000;  // 2023-11-14 22:13:20 UTC

CertificateInUse certificate(std::int64_t days, const std::string& fingerprint = "AA") {
  return {.file = "/a.crt",
          .names = {"a.example"},
          .begin_s = end_s - days * day,
          .end_s = end_s,
          .fingerprint = fingerprint};
}

// The days before the end, in quarters, on which it warns if it is asked at each of them.
std::vector<double> warns_at(const CertificateInUse& one, double from_days) {
  CertificateExpiry expiry;
  std::vector<double> found;
  expiry.set({one}, end_s - static_cast<std::int64_t>(from_days * day));
  for (double days = from_days; days >= -40; days -= 0.25) {
    const auto lines = expiry.due(end_s - static_cast<std::int64_t>(days * day));
    EXPECT_LE(lines.size(), 1U);
    if (!lines.empty()) found.push_back(days);
  }
  return found;
}

TEST(CertificateExpiryTest, WarnsOncePerStep) {
  EXPECT_EQ(warns_at(certificate(90), 60), (std::vector<double>{30, 7, 1, 0}));
  EXPECT_EQ(warns_at(certificate(90), 20), (std::vector<double>{20, 7, 1, 0}));
  EXPECT_EQ(warns_at(certificate(90), 3), (std::vector<double>{3, 1, 0}));
  EXPECT_EQ(warns_at(certificate(90), 0.5), (std::vector<double>{0.5, 0}));
  EXPECT_EQ(warns_at(certificate(90), -1), std::vector<double>()) << "it is said at the start";
}

TEST(CertificateExpiryTest, LeavesOutStepsOfShortCertificates) {
  EXPECT_EQ(warns_at(certificate(60), 60), (std::vector<double>{30, 7, 1, 0}));
  EXPECT_EQ(warns_at(certificate(47), 47), (std::vector<double>{7, 1, 0}));
  EXPECT_EQ(warns_at(certificate(6), 6), (std::vector<double>{1, 0}));
  EXPECT_EQ(warns_at(certificate(1), 1), (std::vector<double>{0}));
}

TEST(CertificateExpiryTest, LeavesRenewalAMonthAheadToTheProgram) {
  CertificateInUse own = certificate(90);
  own.renews_itself = true;
  EXPECT_EQ(warns_at(own, 60), (std::vector<double>{7, 1, 0}));
}

TEST(CertificateExpiryTest, SaysWhatAndWhen) {
  struct Row {
    std::int64_t left_s;
    base::Severity severity;
    std::string text;
  };
  const std::vector<Row> rows = {
      {30 * day, base::Severity::warning, "expires in 30 days, on 2023-11-14: renew it"},
      {7 * day - 1, base::Severity::warning, "expires in 6 days, on 2023-11-14: renew it"},
      {day, base::Severity::error, "expires in 24 hours, on 2023-11-14: renew it"},
      {3600, base::Severity::error, "expires in 1 hour, on 2023-11-14: renew it"},
      {1, base::Severity::error, "expires in less than an hour, on 2023-11-14: renew it"},
  };
  for (const Row& row : rows) {
    CertificateExpiry expiry;
    expiry.set({certificate(90)}, end_s - row.left_s);
    const auto lines = expiry.due(end_s - row.left_s);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].severity, row.severity);
    EXPECT_EQ(lines[0].text, "the certificate /a.crt of a.example " + row.text);
  }
  CertificateExpiry expiry;
  CertificateInUse several = certificate(90);
  several.names.push_back("b.example");
  expiry.set({several}, end_s - 1);
  const auto lines = expiry.due(end_s);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].severity, base::Severity::error);
  EXPECT_EQ(lines[0].text, "the certificate /a.crt of a.example and others expired on 2023-11-14: "
                           "clients do not accept it");
}

TEST(CertificateExpiryTest, AReloadDoesNotWarnAnew) {
  CertificateExpiry expiry;
  const std::int64_t now_s = end_s - 5 * day;
  expiry.set({certificate(90)}, now_s);
  EXPECT_EQ(expiry.due(now_s).size(), 1U);
  expiry.set({certificate(90)}, now_s);
  EXPECT_TRUE(expiry.due(now_s).empty());
  expiry.set({certificate(90, "BB")}, now_s);
  EXPECT_EQ(expiry.due(now_s).size(), 1U) << "another certificate that ends as soon";
  expiry.set({}, now_s);
  EXPECT_TRUE(expiry.due(end_s).empty());
}

}  // namespace certificate_expiry_test
}  // namespace h2server::app
