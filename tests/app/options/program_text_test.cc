#include "app/options/program_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/options/options.h"
#include "app/tools/completion.h"
#include "app/tools/man_page.h"

namespace h2server::app {
namespace program_text_test {

OptionText made(OptionText option) {
  option.kind = kind_of(option);
  return option;
}

class ProgramTextTest : public testing::Test {
 protected:
  ProgramText text_{.name = "h2server",
                    .description = "Serves.",
                    .footer = "",
                    .options = {made({.names = {"-p", "--port"},
                                      .value = "NUM",
                                      .range = "0 - 65535",
                                      .usual = "443",
                                      .description = "Port"}),
                                made({.names = {"--mode"},
                                      .value = "NAME",
                                      .choices = {"fast", "slow"},
                                      .description = "It's a [mode]: \\n $HOME `id`"}),
                                made({.names = {"--loud"}, .description = ".dot"})}};
};

const OptionText& option(const ProgramText& text, std::string_view name) {
  const auto found = std::ranges::find_if(text.options, [&](const OptionText& one) {
    return std::ranges::find(one.names, name) != one.names.end();
  });
  EXPECT_NE(found, text.options.end()) << name;
  return *found;
}

TEST(ProgramTextOfTheProgram, DescribesOptions) {
  const ProgramText text = program_text();
  EXPECT_EQ(option(text, "--root").kind, ValueKind::directory);
  EXPECT_EQ(option(text, "--root").names, (std::vector<std::string>{"-r", "--root"}));
  EXPECT_FALSE(option(text, "--root").positional);
  EXPECT_TRUE(option(text, "root").positional);
  EXPECT_EQ(option(text, "-p").kind, ValueKind::other);
  EXPECT_EQ(option(text, "-p").value, "NUM");
  EXPECT_EQ(option(text, "-p").range, "0 - 65535");
  EXPECT_EQ(option(text, "-c").kind, ValueKind::file);
  EXPECT_EQ(option(text, "--queue-size").usual, "128");
  EXPECT_EQ(option(text, "--when-full").kind, ValueKind::choice);
  EXPECT_EQ(option(text, "--when-full").choices, (std::vector<std::string>{"wait", "refuse"}));
  EXPECT_EQ(option(text, "--scheme").choices.back(), "help");
  EXPECT_EQ(option(text, "--compress").choices, (std::vector<std::string>{"on", "off"}));
  EXPECT_EQ(option(text, "--h2c").kind, ValueKind::none);
  EXPECT_EQ(option(text, "--help").kind, ValueKind::none);
  for (const OptionText& one : text.options) {
    EXPECT_NE(one.names.front(), "--include") << "it is for files only";
  }
}

TEST_F(ProgramTextTest, QuotesForShells) {
  EXPECT_NE(completion_script(text_, "zsh")
                ->find(R"('(--mode)--mode=[It'\''s a \[mode\]: \\n $HOME `id`]:NAME:(fast slow)')"),
            std::string::npos);
  EXPECT_NE(completion_script(text_, "fish")
                ->find(R"(-a 'fast slow' -d 'It\'s a [mode]: \\n $HOME `id`')"),
            std::string::npos);
  EXPECT_NE(completion_script(text_, "bash")->find("compgen -W 'fast slow'"), std::string::npos);
  EXPECT_FALSE(completion_script(text_, "csh").has_value());
}

TEST_F(ProgramTextTest, EscapesForRoff) {
  const std::string page = man_page(text_);
  EXPECT_NE(page.find("It's a [mode]: \\en $HOME `id`."), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.dot.\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\\fB\\-p\\fR, \\fB\\-\\-port\\fR \\fINUM\\fR\n"), std::string::npos) << page;
}

}  // namespace program_text_test
}  // namespace h2server::app
