#include "content/files/client_places.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace h2server::content {
namespace client_places_test {

using Places = std::vector<std::unique_ptr<ClientPlaces::Place>>;

// Takes places until one is refused.
Places take_all(const std::shared_ptr<ClientPlaces>& places, const std::string& client) {
  Places taken;
  while (auto place = ClientPlaces::take(places, client)) taken.push_back(std::move(place));
  return taken;
}

TEST(ClientPlaces, NoClientGetsAll) {
  const auto places = std::make_shared<ClientPlaces>(8, 4);
  const Places first = take_all(places, "192.0.2.1");
  EXPECT_EQ(first.size(), 4U);
  const Places second = take_all(places, "192.0.2.2");
  EXPECT_EQ(first.size() + second.size(), 8U);
  EXPECT_EQ(take_all(places, "192.0.2.3").size(), 0U);
}

TEST(ClientPlaces, ClientsWithoutANameShareAll) {
  const auto places = std::make_shared<ClientPlaces>(8, 4);
  const Places one = take_all(places, "192.0.2.1");
  EXPECT_EQ(take_all(places, "").size(), 4U);
  EXPECT_EQ(take_all(std::make_shared<ClientPlaces>(8, 4), "").size(), 8U);
}

TEST(ClientPlaces, AreGivenBack) {
  const auto places = std::make_shared<ClientPlaces>(8, 4);
  Places first = take_all(places, "192.0.2.1");
  const Places second = take_all(places, "192.0.2.2");
  first.pop_back();
  EXPECT_EQ(take_all(places, "192.0.2.2").size(), 0U);
  EXPECT_NE(ClientPlaces::take(places, "192.0.2.3"), nullptr);
  first.clear();
  EXPECT_EQ(take_all(places, "192.0.2.1").size(), 4U);
}

}  // namespace client_places_test
}  // namespace h2server::content
