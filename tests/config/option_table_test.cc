#include "config/option_table.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "config/reference.h"

namespace h2server::config {
namespace option_table_test {

TEST(OptionTable, HasEachKeyOncePerSection) {
  for (const Section section :
       {Section::command_line, Section::top, Section::site, Section::listener}) {
    std::set<std::string_view> keys;
    std::set<char> letters;
    for (const Option& option : options()) {
      if (!may_stand_in(option, section)) continue;
      EXPECT_TRUE(keys.insert(option.key).second) << option.key;
      if (!option.opposite.empty()) {
        EXPECT_TRUE(keys.insert(option.opposite).second) << option.key;
      }
      if (option.letter != '\0') {
        EXPECT_TRUE(letters.insert(option.letter).second) << option.key;
      }
      EXPECT_EQ(find_option(option.key, section), &option) << option.key;
    }
  }
}

TEST(OptionTable, SaysAllOfEachOption) {
  for (const Option& option : options()) {
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_FALSE(option.help.ends_with('.')) << option.key;
    EXPECT_FALSE(option.group.empty()) << option.key;
    EXPECT_EQ(option.value.empty(), option.type == ValueType::flag) << option.key;
    EXPECT_EQ(option.choices.empty(),
              option.type != ValueType::choice && option.type != ValueType::toggle)
        << option.key;
    EXPECT_TRUE(option.set && option.get) << option.key;
    EXPECT_TRUE(option.on_command_line || option.in_file) << option.key;
    EXPECT_TRUE(option.opposite.empty() || option.opposite == option.key.substr(3)) << option.key;
  }
}

// What a getter writes, its setter reads.
TEST(OptionTable, ReadsWhatItWrites) {
  Configuration program;
  Site site;
  Listener listener;
  site.upload_directory = "up";
  for (const Option& option : options()) {
    for (const std::string& value : option.get({program, site, listener})) {
      EXPECT_TRUE(option.set({program, site, listener}, value)) << option.key << " " << value;
    }
  }
}

TEST(OptionTable, RefusesWhatIsNoChoice) {
  Configuration program;
  Site site;
  Listener listener;
  for (const Option& option : options()) {
    if (option.type == ValueType::file || option.type == ValueType::directory) continue;
    if (option.key == "host" || option.key == "cors" || option.secret) continue;  // any text
    if (option.key == "upload-hook") continue;  // looked for at the start
    EXPECT_FALSE(option.set({program, site, listener}, "wrong/=")) << option.key;
    EXPECT_FALSE(option.set({program, site, listener}, "")) << option.key;
  }
}

}  // namespace option_table_test
}  // namespace h2server::config
