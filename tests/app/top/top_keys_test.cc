#include "app/top/top_keys.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace h2server::app {
namespace top_keys_test {

TEST(TopKeys, Sequences) {
  struct Row {
    std::string_view bytes;
    std::vector<Key> keys;
  };
  const std::vector<Row> rows = {
      {"", {}},
      {"q", {Key::quit}},
      {"sS", {Key::sort, Key::sort}},
      {"x1\t", {}},
      {"\x1b[A", {Key::up}},
      {"\x1bOA", {Key::up}},
      {"\x1b[Bj", {Key::down, Key::down}},
      {"\x1b[5~\x1b[6~ ", {Key::page_up, Key::page_down, Key::page_down}},
      {"\x1b[H\x1b[1~\x1b[7~", {Key::home, Key::home, Key::home}},
      {"\x1b[F\x1b[4~\x1b[8~", {Key::end, Key::end, Key::end}},
      {"\x1b[1;5A", {Key::up}},     // with Control
      {"\x1b[200~q", {Key::quit}},  // unknown ones are skipped whole
      {"\x1b[3~\x1b[Z", {}},
      {"\x1b", {}},
      {"\x1b[", {}},
      {"\x1b[5", {}},
      {"\x1bq", {Key::quit}},  // Escape, then q
  };
  for (const Row& row : rows) EXPECT_EQ(parse_keys(row.bytes), row.keys) << row.bytes;
}

}  // namespace top_keys_test
}  // namespace h2server::app
