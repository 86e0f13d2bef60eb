#include "content/uploads/access/signed_links.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content {
namespace signed_links_test {

using enum LinkVerdict;

LinkSigner::Key key_of(unsigned char byte) {
  LinkSigner::Key key;
  key.fill(byte);
  return key;
}

constexpr std::int64_t expires_s = 1'800'000'000;
const LinkSigner signer(key_of(1));

TEST(SignedLinks, Form) {
  const std::string query = signer.query_for("/files/a", LinkUse::download, expires_s);
  EXPECT_TRUE(query.starts_with("expires=1800000000&signature=")) << query;
  EXPECT_EQ(query.size(), std::string("expires=1800000000&signature=").size() + 43);
  EXPECT_EQ(query.find_first_of("+/%"), std::string::npos) << "a query would need escapes";
}

// Links for "/files/a" and, for uploads, "/files/in".
TEST(SignedLinks, Paths) {
  struct Row {
    LinkUse use;
    std::string path;
    LinkVerdict verdict;
  };
  const std::vector<Row> rows = {
      {LinkUse::download, "/files/a", good},
      {LinkUse::download, "/files/a/", good},
      {LinkUse::download, "/files/b", altered},
      {LinkUse::download, "/files/a/b", altered},
      {LinkUse::download, "/files", altered},
      {LinkUse::download, "/files/A", altered},
      {LinkUse::upload, "/files/in", good},
      {LinkUse::upload, "/files/in/", good},
      {LinkUse::upload, "/files/in/a", good},
      {LinkUse::upload, "/files/in/x/y/z", good},
      {LinkUse::upload, "/files/inner", altered},
      {LinkUse::upload, "/files", altered},
      {LinkUse::upload, "/files/a", altered},
      {LinkUse::upload, "/", altered},
      {LinkUse::upload, "", altered},
  };
  for (const Row& row : rows) {
    const std::string query = signer.query_for(
        row.use == LinkUse::upload ? "/files/in/" : "/files/a", row.use, expires_s);
    EXPECT_EQ(signer.check(row.path, query, row.use, expires_s - 1), row.verdict) << row.path;
  }
}

TEST(SignedLinks, ALinkToTheRootReachesAllFolders) {
  const std::string query = signer.query_for("/", LinkUse::upload, expires_s);
  EXPECT_EQ(signer.check("/a/b", query, LinkUse::upload, 0), good);
  EXPECT_EQ(signer.check("/", query, LinkUse::upload, 0), good);
}

TEST(SignedLinks, Queries) {
  const std::string query = signer.query_for("/a", LinkUse::download, expires_s);
  const std::string signature = query.substr(query.find("signature="));
  std::string last_changed = query;
  last_changed.back() = last_changed.back() == 'A' ? 'E' : 'A';
  struct Row {
    std::string query;
    LinkVerdict verdict;
  };
  const std::vector<Row> rows = {
      {"", absent},
      {"expires=1800000000", absent},
      {"nosignature=1", absent},
      {query, good},
      {"sort=name&" + query + "&x", good},
      {signature + "&expires=1800000000", good},
      {signature, altered},
      {signature + "&expires=1800000001", altered},
      {signature + "&expires=", altered},
      {signature + "&expires=-1", altered},
      {signature + "&expires=1800000000x", altered},
      {signature + "&expires=99999999999999999999", altered},
      {signature + "&expires=18446744073709551615", altered},
      {"expires=1800000001&" + query, altered},  // the first one counts
      {"expires=1800000000&signature=", altered},
      {last_changed, altered},
      {query + "A", altered},
      {query.substr(0, query.size() - 1), altered},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(signer.check("/a", row.query, LinkUse::download, 0), row.verdict) << row.query;
  }
}

TEST(SignedLinks, Time) {
  const std::string query = signer.query_for("/a", LinkUse::download, expires_s);
  EXPECT_EQ(signer.check("/a", query, LinkUse::download, expires_s - 1), good);
  EXPECT_EQ(signer.check("/a", query, LinkUse::download, expires_s), expired);
  EXPECT_EQ(signer.check("/b", query, LinkUse::download, expires_s), altered);
}

TEST(SignedLinks, UsesAndKeysDiffer) {
  const std::string query = signer.query_for("/a", LinkUse::download, expires_s);
  EXPECT_EQ(signer.check("/a", query, LinkUse::upload, 0), altered);
  EXPECT_EQ(LinkSigner(key_of(2)).check("/a", query, LinkUse::download, 0), altered);
  EXPECT_EQ(LinkSigner(key_of(1)).check("/a", query, LinkUse::download, 0), good);
}

TEST(SignedLinks, AreForOneHost) {
  const std::string anywhere = signer.query_for("/a", LinkUse::download, expires_s);
  const std::string here = signer.query_for("/a", LinkUse::download, expires_s, "a.test");
  EXPECT_EQ(signer.check("/a", here, LinkUse::download, 0, "a.test"), good);
  EXPECT_EQ(signer.check("/a", here, LinkUse::download, 0, "b.test"), altered);
  EXPECT_EQ(signer.check("/a", here, LinkUse::download, 0), altered);
  EXPECT_EQ(signer.check("/a", anywhere, LinkUse::download, 0, "a.test"), altered);
}

}  // namespace signed_links_test
}  // namespace h2server::content
