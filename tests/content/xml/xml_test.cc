#include "content/xml/xml.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace h2server::content {
namespace xml_test {

// Returns the document as append_node() writes it, or "-".
std::string rewritten(std::string_view text) {
  const Result<XmlNode, std::string_view> root = parse_xml(text);
  if (!root) return "-";
  std::string out;
  append_node(out, *root);
  return out;
}

TEST(Xml, ReadsAndWrites) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"<a/>", "<a xmlns=\"\"/>"},
      {"<?xml version='1.0'?><a xmlns='u:x'>b</a>", "<a xmlns=\"u:x\">b</a>"},
      {"<p:a xmlns:p='u:x'><b/>&lt;&#65;</p:a>", "<a xmlns=\"u:x\"><b xmlns=\"\"/>&lt;A</a>"},
      {"<a b='1&#10;2' xmlns:p='u:y' p:c='\"'/>",
       "<a xmlns=\"\" b=\"1&#10;2\" xmlns:a1=\"u:y\" a1:c=\"&quot;\"/>"},
      {"<a xml:lang='de'>\xc3\xa4</a>", "<a xmlns=\"\" xml:lang=\"de\">\xc3\xa4</a>"},
      {"<a><![CDATA[<x>]]><!-- c --><?pi?></a>", "<a xmlns=\"\">&lt;x&gt;</a>"},
      {"<a>x\r\ny&#13;</a>", "<a xmlns=\"\">x&#10;y&#13;</a>"},
      {"<a>\xf0\x90\x80\x80</a>", "<a xmlns=\"\">\xf0\x90\x80\x80</a>"},
      {"<?xml version='1.0' encoding='iso-8859-1'?><a>\xe4</a>", "<a xmlns=\"\">\xc3\xa4</a>"},
      {"", "-"},
      {"<a>", "-"},
      {"<a></b>", "-"},
      {"<a/><b/>", "-"},
      {"x", "-"},
      {"<a>&other;</a>", "-"},
      {"<a>\xff</a>", "-"},
      {"<a>&#0;</a>", "-"},
      {"<p:a/>", "-"},           // a prefix without a namespace
      {"<a xmlns:p=''/>", "-"},  // XML names 1.0, 2.2
      {"<a b='1' b='2'/>", "-"},
  };
  for (const auto& [text, out] : rows) {
    EXPECT_EQ(rewritten(text), out) << text;
    if (out != "-") {
      EXPECT_EQ(rewritten(out), out);  // it means the same
    }
  }
}

TEST(Xml, RefusesDocumentTypes) {
  for (const std::string_view text :
       {"<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>"}) {
    const Result<XmlNode, std::string_view> root = parse_xml(text);
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error(), "the document has a document type");
  }
}

std::string nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += "<a>";
  for (std::size_t i = 0; i < depth; ++i) text += "</a>";
  return text;
}

std::string in_a_row(std::size_t count) {
  std::string text = "<r>";
  for (std::size_t i = 0; i < count; ++i) text += "<a/>";
  return text + "</r>";
}

// A namespace stands once in the document, and with each name in what is read of it.
TEST(Xml, NamesWithTheirNamespacesAreBounded) {
  const std::size_t bytes_max = XmlLimits().names_bytes_max;
  const std::string space(20'000, 'x');
  const auto elements = [&](std::size_t count) {
    std::string text = "<r xmlns:b='" + space + "'>";
    for (std::size_t i = 0; i < count; ++i) text += "<b:a/>";
    return text + "</r>";
  };
  const std::size_t most = (bytes_max - 1) / (space.size() + 2);
  EXPECT_TRUE(parse_xml(elements(most)));
  const auto refused = parse_xml(elements(most + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "the names, each with its namespace, are too long");
}

// Before an element is reported, expat has written out all names of its attributes: 127 MiB here.
TEST(Xml, TheParsersMemoryIsBounded) {
  std::string text = "<r xmlns:b='" + std::string(30'000, 'x') + "'";
  for (int i = 0; i < 3000; ++i) text += " b:a" + std::to_string(i) + "=''";
  text += "/>";
  ASSERT_LE(text.size(), XmlLimits().bytes_max);
  const auto refused = parse_xml(text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "the document takes too much memory");
  EXPECT_TRUE(parse_xml("<a/>")) << "the next document has its own";
}

TEST(Xml, AttributesCountAsNodes) {
  const auto attributes = [](std::size_t count) {
    std::string text = "<r";
    for (std::size_t i = 0; i < count; ++i) text += " a" + std::to_string(i) + "=''";
    return text + "/>";
  };
  EXPECT_TRUE(parse_xml(attributes(XmlLimits().nodes_max - 1)));
  EXPECT_FALSE(parse_xml(attributes(XmlLimits().nodes_max)));
}

TEST(Xml, IsBounded) {
  EXPECT_TRUE(parse_xml(nested(XmlLimits().depth_max)));
  EXPECT_FALSE(parse_xml(nested(XmlLimits().depth_max + 1)));
  EXPECT_TRUE(parse_xml(in_a_row(XmlLimits().nodes_max - 1)));
  EXPECT_FALSE(parse_xml(in_a_row(XmlLimits().nodes_max)));
  const std::string empty = "<a></a>";
  const std::string spaces(XmlLimits().bytes_max - empty.size(), ' ');
  EXPECT_TRUE(parse_xml(empty + spaces));
  EXPECT_FALSE(parse_xml(empty + spaces + " "));
}

TEST(Xml, HasTheBoundsOfItsCaller) {
  const XmlLimits limits{.bytes_max = 20, .depth_max = 2, .nodes_max = 3};
  EXPECT_TRUE(parse_xml("<a><b/><b/></a>     ", limits));
  EXPECT_FALSE(parse_xml("<a><b/><b/></a>      ", limits));
  EXPECT_FALSE(parse_xml("<a><b><c/></b></a>", limits));
  EXPECT_FALSE(parse_xml("<a><b/>x<b/></a>", limits));
}

TEST(Xml, WritesOnlyCharactersOfXml) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"},
      {"\x01\x1f\x7f", "\xef\xbf\xbd\xef\xbf\xbd\x7f"},
      {"\xff.\xc3", "\xef\xbf\xbd.\xef\xbf\xbd"},
      {"\xef\xbf\xbe", "\xef\xbf\xbd"},
      {"\t\r\n", "&#9;&#13;&#10;"},
  };
  for (const auto& [text, out] : rows) {
    std::string written;
    append_xml(written, text);
    EXPECT_EQ(written, out);
  }
}

TEST(Xml, WritesNames) {
  std::string out;
  append_empty_element(out, {"DAV:", "href"});
  append_empty_element(out, {"u:<x>", "a"});
  append_empty_element(out, {"", "b"});
  EXPECT_EQ(out, "<D:href/><a xmlns=\"u:&lt;x&gt;\"/><b xmlns=\"\"/>");
}

}  // namespace xml_test
}  // namespace h2server::content
