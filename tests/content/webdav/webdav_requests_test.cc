#include "content/webdav/webdav_requests.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "content/xml/xml.h"

namespace h2server::content {
namespace webdav_requests_test {

std::string dav(std::string_view text) {
  std::string document(text);
  document.insert(document.find_first_of("/>"), " xmlns='DAV:'");
  return document;
}

std::string text_of(const std::optional<Propfind>& asked) {
  if (!asked) return "-";
  std::string text = asked->kind == Propfind::Kind::all     ? "all"
                     : asked->kind == Propfind::Kind::names ? "names"
                                                            : "some";
  for (const XmlName& name : asked->names) text.append(" ").append(name.space + name.local);
  return text;
}

TEST(WebdavRequests, Propfind) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"<propfind><allprop/></propfind>", "all"},
      {"<propfind><propname/></propfind>", "names"},
      {"<propfind> <prop> <getetag/> <x xmlns='u:'/></prop></propfind>", "some DAV:getetag u:x"},
      {"<propfind><prop/></propfind>", "some"},
      {"<propfind><prop><a/><b/><a/><x:a xmlns:x='u:'/><b/></prop></propfind>",
       "some DAV:a DAV:b u:a"},
      {"<propfind><allprop/><include><a/></include></propfind>", "all DAV:a"},
      {"<propfind><other xmlns='u:'/><propname/></propfind>", "names"},
      {"<propfind/>", "-"},
      {"<propfind><prop/><propname/></propfind>", "-"},
      {"<propfind><allprop/><prop/></propfind>", "-"},
      {"<other/>", "-"},
  };
  for (const auto& [text, asked] : rows) {
    EXPECT_EQ(text_of(read_propfind(*parse_xml(dav(text)))), asked) << text;
  }
  EXPECT_FALSE(read_propfind(*parse_xml("<propfind><allprop/></propfind>")));  // no namespace
}

std::string text_of(const std::optional<std::vector<PropertyUpdate>>& updates) {
  if (!updates) return "-";
  std::string text;
  for (const PropertyUpdate& update : *updates) {
    if (!text.empty()) text += ' ';
    text.append(update.name.local).append("=").append(update.element.value_or("gone"));
  }
  return text;
}

TEST(WebdavRequests, PropertyUpdate) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"<propertyupdate><set><prop><a>1</a></prop></set></propertyupdate>",
       "a=<a xmlns=\"DAV:\">1</a>"},
      {"<propertyupdate><remove><prop><a/></prop></remove><set><prop> <b/> </prop></set>"
       "</propertyupdate>",
       "a=gone b=<b xmlns=\"DAV:\"/>"},
      {"<propertyupdate xml:lang='en'><set><prop xml:lang='de'><a/><b xml:lang='fr'/></prop></set>"
       "</propertyupdate>",
       "a=<a xmlns=\"DAV:\" xml:lang=\"de\"/> b=<b xmlns=\"DAV:\" xml:lang=\"fr\"/>"},
      {"<propertyupdate><other/><set><prop><a/></prop></set></propertyupdate>",
       "a=<a xmlns=\"DAV:\"/>"},
      {"<propertyupdate/>", "-"},
      {"<propertyupdate><set/></propertyupdate>", "-"},
      {"<propertyupdate><set><prop/></set></propertyupdate>", "-"},
      {"<propfind><set><prop><a/></prop></set></propfind>", "-"},
  };
  for (const auto& [text, updates] : rows) {
    EXPECT_EQ(text_of(read_propertyupdate(*parse_xml(dav(text)))), updates) << text;
  }
}

TEST(WebdavRequests, LockInfo) {
  struct Row {
    std::string_view text;
    std::string info;
  };
  const std::vector<Row> rows = {
      {"<lockinfo><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>",
       "exclusive "},
      {"<lockinfo><lockscope><shared/></lockscope><locktype><write/></locktype>"
       "<owner>a <href>b</href></owner></lockinfo>",
       "shared a <href xmlns=\"DAV:\">b</href>"},
      {"<lockinfo><lockscope><other/></lockscope><locktype><write/></locktype></lockinfo>", "-"},
      {"<lockinfo><lockscope><shared/></lockscope><locktype><read/></locktype></lockinfo>", "-"},
      {"<lockinfo><lockscope><shared/></lockscope></lockinfo>", "-"},
      {"<lockinfo/>", "-"},
      {"<other/>", "-"},
  };
  for (const Row& row : rows) {
    const std::optional<LockInfo> info = read_lockinfo(*parse_xml(dav(row.text)));
    const std::string text = !info ? "-" : (info->shared ? "shared " : "exclusive ") + info->owner;
    EXPECT_EQ(text, row.info) << row.text;
  }
}

}  // namespace webdav_requests_test
}  // namespace h2server::content
