#include "config/environment.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace h2server::config {
namespace environment_test {

std::optional<std::string> fake(const std::string& name) {
  if (name == "NAME") return "value";
  if (name == "NESTED") return "${NAME}";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

TEST(Environment, ReplacesVariables) {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"${NAME}", "value"},
      {"a${NAME}b${NAME}c", "avaluebvaluec"},
      {"${NAME:-other}", "value"},
      {"${ABSENT:-other}", "other"},
      {"${ABSENT:-}", ""},
      {"${ABSENT:-a:-b $1 {c}", "a:-b $1 {c"},
      {"${EMPTY}", ""},
      {"${EMPTY:-other}", "other"},
      {"${NESTED}", "${NAME}"},
      {"$${NAME}", "${NAME}"},
      {"$$${NAME}", "$${NAME}"},
      {"/$1/$2 $$ $", "/$1/$2 $$ $"},
      {"$NAME {NAME}", "$NAME {NAME}"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(expand(text, fake), expected) << text;
}

TEST(Environment, ExplainsErrors) {
  EXPECT_EQ(expand("a ${ABSENT}", fake).error(),
            "the environment has no variable ABSENT; set it, or write ${ABSENT:-DEFAULT}");
  EXPECT_EQ(expand("${NAME", fake).error(),
            "\"${\" without \"}\"; write $${ for a text with \"${\"");
  for (const char* const text : {"${}", "${1}", "${A B}", "${:-a}", "${A-b}"}) {
    EXPECT_NE(expand(text, fake).error().find("names no variable"), std::string::npos) << text;
  }
}

TEST(Environment, EscapesWhatItReplaces) {
  for (const std::string text : {"", "${NAME}", "$${NAME}", "$$${", "$1 $", "a${b${c"}) {
    EXPECT_EQ(expand(escape_variables(text), fake), text) << escape_variables(text);
  }
}

}  // namespace environment_test
}  // namespace h2server::config
