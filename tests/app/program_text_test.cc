#include "app/program_text.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <algorithm>

#include "app/completion.h"
#include "app/man_page.h"

namespace h2server::app {
namespace {

class ProgramTextTest : public testing::Test {
 protected:
  ProgramTextTest() {
    app_.add_option("root,-r,--root", root_, "Directory")->type_name("DIR");
    app_.add_option("-p,--port", port_, "Port")
        ->type_name("NUM")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    app_.add_option("--mode", mode_, "It's a [mode]: \\n $HOME `id`")
        ->type_name("NAME")
        ->check(CLI::IsMember({"fast", "slow"}).description(""));
    app_.add_option("--hidden", mode_, "Not shown")->group("");
    app_.add_flag("--loud", loud_, ".dot");
  }
  const OptionText& option(std::string_view name) {
    if (text_.options.empty()) text_ = describe(app_);
    const auto found = std::ranges::find_if(text_.options, [&](const OptionText& one) {
      return std::ranges::find(one.names, name) != one.names.end();
    });
    EXPECT_NE(found, text_.options.end()) << name;
    return *found;
  }

  CLI::App app_{"Serves.", "h2server"};
  std::string root_;
  std::string mode_;
  int port_ = 443;
  bool loud_ = false;
  ProgramText text_;
};

TEST_F(ProgramTextTest, DescribesOptions) {
  EXPECT_EQ(option("--root").kind, ValueKind::directory);
  EXPECT_TRUE(option("root").positional);
  EXPECT_EQ(option("--root").names, (std::vector<std::string>{"-r", "--root"}));
  EXPECT_EQ(option("-p").kind, ValueKind::other);
  EXPECT_EQ(option("-p").value, "NUM");
  EXPECT_EQ(option("-p").range, "0 - 65535");
  EXPECT_EQ(option("-p").usual, "443");
  EXPECT_EQ(option("--mode").kind, ValueKind::choice);
  EXPECT_EQ(option("--mode").choices, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_EQ(option("--loud").kind, ValueKind::none);
  EXPECT_EQ(option("--help").kind, ValueKind::none);
  for (const OptionText& one : text_.options) EXPECT_NE(one.description, "Not shown");
}

TEST_F(ProgramTextTest, QuotesForShells) {
  const ProgramText text = describe(app_);
  EXPECT_NE(completion_script(text, "zsh")
                ->find(R"('(--mode)--mode=[It'\''s a \[mode\]: \\n $HOME `id`]:NAME:(fast slow)')"),
            std::string::npos);
  EXPECT_NE(completion_script(text, "fish")
                ->find(R"(-a 'fast slow' -d 'It\'s a [mode]: \\n $HOME `id`')"),
            std::string::npos);
  EXPECT_NE(completion_script(text, "bash")->find("compgen -W 'fast slow'"), std::string::npos);
  EXPECT_FALSE(completion_script(text, "csh").has_value());
}

TEST_F(ProgramTextTest, EscapesForRoff) {
  const std::string page = man_page(describe(app_));
  EXPECT_NE(page.find("It's a [mode]: \\en $HOME `id`."), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.dot.\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\\fB\\-p\\fR, \\fB\\-\\-port\\fR \\fINUM\\fR\n"), std::string::npos) << page;
}

TEST(Commands, AreFoundByName) {
  for (const Command& command : commands()) EXPECT_EQ(find_command(command.name), &command);
  EXPECT_EQ(find_command("serve"), nullptr);
  EXPECT_EQ(find_command(""), nullptr);
}

}  // namespace
}  // namespace h2server::app
