#include "content/xml/xml.h"

#include <expat.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

#include "base/text/utf8.h"
#include "content/names/markup.h"

namespace h2server::content {

namespace {

// Stands between a namespace and a name in what expat reports. No name can hold it.
constexpr char separator = '\n';
static_assert(sizeof(XML_Char) == 1);

// The memory of a parser, on this thread. Before it reports an element, expat writes out the
// namespace of each attribute: 127 MiB for a document of 60 KiB, as measured with expat 2.5.
class ParserMemory {
  struct alignas(std::max_align_t) Block {
    std::size_t bytes = 0;  // that follow
  };
  static Block* block_of(void* piece) noexcept { return static_cast<Block*>(piece) - 1; }
  // As realloc(3). What is freed counts on: the sum of all is bounded.
  static void* resize(void* piece, std::size_t bytes) noexcept {
    Block* const before = piece != nullptr ? block_of(piece) : nullptr;
    const std::size_t had = before != nullptr ? before->bytes : 0;
    const std::size_t more = bytes - std::min(bytes, had);
    if (more > left_) return nullptr;
    auto* const block = static_cast<Block*>(std::realloc(before, sizeof(Block) + bytes));
    if (block == nullptr) return nullptr;
    left_ -= more;
    block->bytes = bytes;
    return block + 1;
  }
  static void* take(std::size_t bytes) noexcept { return resize(nullptr, bytes); }
  static void give_back(void* piece) noexcept {
    if (piece != nullptr) std::free(block_of(piece));
  }

  static thread_local std::size_t left_;

 public:
  explicit ParserMemory(std::size_t bytes_max) noexcept { left_ = bytes_max; }
  ParserMemory(const ParserMemory&) = delete;
  ParserMemory& operator=(const ParserMemory&) = delete;

  static constexpr XML_Memory_Handling_Suite functions{&take, &resize, &give_back};
};

thread_local std::size_t ParserMemory::left_ = 0;

struct FreeParser {
  void operator()(XML_Parser parser) const noexcept { XML_ParserFree(parser); }
};

XmlName split_name(std::string_view name) {
  const std::size_t at = name.rfind(separator);
  if (at == std::string_view::npos) return {.space = {}, .local = std::string(name)};
  return {.space = std::string(name.substr(0, at)), .local = std::string(name.substr(at + 1))};
}

// Builds the tree. expat calls the functions, through which no exception may pass.
class TreeBuilder {
 public:
  TreeBuilder(XML_Parser parser, const XmlLimits& limits) : parser_(parser), limits_(limits) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, &on_begin, &on_end);
    XML_SetCharacterDataHandler(parser, &on_text);
    XML_SetStartDoctypeDeclHandler(parser, &on_doctype);
  }
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;

  [[nodiscard]] std::string_view problem() const noexcept { return problem_; }
  [[nodiscard]] XmlNode& root() noexcept { return root_; }
  // Rethrows what a function has thrown.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static void on_begin(void* self, const XML_Char* name, const XML_Char** attributes) {
    static_cast<TreeBuilder*>(self)->guard([&](TreeBuilder& own) { own.begin(name, attributes); });
  }
  static void on_end(void* self, const XML_Char*) {
    static_cast<TreeBuilder*>(self)->guard([](TreeBuilder& own) { own.open_.pop_back(); });
  }
  static void on_text(void* self, const XML_Char* text, int size) {
    const std::string_view piece(text, static_cast<std::size_t>(size));
    static_cast<TreeBuilder*>(self)->guard([piece](TreeBuilder& own) { own.add_text(piece); });
  }
  static void on_doctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    static_cast<TreeBuilder*>(self)->refuse("the document has a document type");
  }

  template <class Use>
  void guard(Use use) noexcept {
    if (!problem_.empty() || failure_) return;
    try {
      use(*this);
    } catch (...) {
      failure_ = std::current_exception();
      XML_StopParser(parser_, XML_FALSE);
    }
  }
  void refuse(std::string_view problem) noexcept {
    if (problem_.empty()) problem_ = problem;
    XML_StopParser(parser_, XML_FALSE);
  }
  // Returns false if the document is refused.
  bool admit(std::string_view name);
  void begin(const XML_Char* name, const XML_Char** attributes);
  void add_text(std::string_view piece);

  const XML_Parser parser_;
  const XmlLimits limits_;
  XmlNode root_;
  std::vector<XmlNode*> open_;  // each is the last child of the one before
  std::size_t nodes_ = 0;
  std::size_t names_bytes_ = 0;
  std::string_view problem_;
  std::exception_ptr failure_;
};

bool TreeBuilder::admit(std::string_view name) {
  names_bytes_ += name.size();
  if (++nodes_ > limits_.nodes_max) {
    refuse("there are too many elements");
  } else if (names_bytes_ > limits_.names_bytes_max) {
    refuse("the names, each with its namespace, are too long");
  }
  return problem_.empty();
}

void TreeBuilder::begin(const XML_Char* name, const XML_Char** attributes) {
  if (open_.size() == limits_.depth_max) return refuse("the elements are nested too deeply");
  if (!admit(name)) return;
  XmlNode node{.name = split_name(name)};
  for (; *attributes != nullptr; attributes += 2) {
    if (!admit(attributes[0])) return;
    node.attributes.push_back({split_name(attributes[0]), attributes[1]});
  }
  if (open_.empty()) {
    root_ = std::move(node);
    open_.push_back(&root_);
    return;
  }
  std::vector<XmlNode>& siblings = open_.back()->children;
  siblings.push_back(std::move(node));
  open_.push_back(&siblings.back());
}

void TreeBuilder::add_text(std::string_view piece) {
  std::vector<XmlNode>& siblings = open_.back()->children;
  if (siblings.empty() || !siblings.back().is_text()) {
    if (++nodes_ > limits_.nodes_max) return refuse("there are too many elements");
    siblings.emplace_back();
  }
  siblings.back().text.append(piece);
}

void append_xml_attributes(std::string& out, const XmlNode& node) {
  std::size_t prefixes = 0;
  for (const XmlAttribute& attribute : node.attributes) {
    out += ' ';
    if (attribute.name.space == xml_namespace) {
      out += "xml:";
    } else if (!attribute.name.space.empty()) {
      std::string prefix = "a";
      append_number(prefix, ++prefixes);
      out.append("xmlns:").append(prefix).append("=\"");
      append_xml(out, attribute.name.space);
      out.append("\" ").append(prefix) += ':';
    }
    out.append(attribute.name.local).append("=\"");
    append_xml(out, attribute.value);
    out += '"';
  }
}

// XML 1.0, 2.2: of the characters of UTF-8, not most controls, nor U+FFFE and U+FFFF.
bool is_allowed(std::string_view unit) noexcept {
  if (unit.size() == 1) {
    const auto byte = static_cast<unsigned char>(unit[0]);
    return byte >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r';
  }
  return unit != "\xef\xbf\xbe" && unit != "\xef\xbf\xbf";
}

// Returns how a character is written that can't stand for itself; empty: it can. Line ends and
// tabs in attributes would be read as spaces, and CR as a line end.
std::string_view xml_reference(char c) noexcept {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\r':
      return "&#13;";
    case '\n':
      return "&#10;";
    case '\t':
      return "&#9;";
    default:
      return {};
  }
}

}  // namespace

const XmlNode* XmlNode::find(std::string_view local) const noexcept {
  const auto found =
      std::ranges::find_if(children, [&](const auto& node) { return node.is(local); });
  return found != children.end() ? &*found : nullptr;
}

Result<XmlNode, std::string_view> parse_xml(std::string_view text, const XmlLimits& limits) {
  if (text.size() > limits.bytes_max) return std::unexpected("the document is too large");
  constexpr std::size_t own_bytes = 1024 * 1024;
  const ParserMemory memory(own_bytes + 8 * text.size());
  const std::unique_ptr<XML_ParserStruct, FreeParser> parser(
      XML_ParserCreate_MM(nullptr, &ParserMemory::functions, &separator));
  if (parser == nullptr) return std::unexpected("there is no memory for a parser");
  TreeBuilder tree(parser.get(), limits);
  const XML_Status status =
      XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  tree.rethrow();
  if (!tree.problem().empty()) return std::unexpected(tree.problem());
  if (XML_GetErrorCode(parser.get()) == XML_ERROR_NO_MEMORY) {
    return std::unexpected("the document takes too much memory");
  }
  if (status != XML_STATUS_OK) return std::unexpected("the document is not well-formed");
  return std::move(tree.root());
}

void append_xml(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const base::Utf8Unit unit = base::first_utf8_unit(text);
    const std::string_view character = text.substr(0, unit.size);
    const std::string_view escaped = xml_reference(character.front());
    if (!unit.valid || !is_allowed(character)) {
      out += "\xef\xbf\xbd";
    } else {
      out += escaped.empty() ? character : escaped;
    }
    text.remove_prefix(unit.size);
  }
}

void append_node(std::string& out, const XmlNode& node) {
  if (node.is_text()) return append_xml(out, node.text);
  out.append("<").append(node.name.local).append(" xmlns=\"");
  append_xml(out, node.name.space);
  out += '"';
  append_xml_attributes(out, node);
  if (node.children.empty()) {
    out += "/>";
    return;
  }
  out += '>';
  for (const XmlNode& child : node.children) append_node(out, child);
  out.append("</").append(node.name.local) += '>';
}

void append_empty_element(std::string& out, const XmlName& name) {
  if (name.space == dav_namespace) {
    out.append("<D:").append(name.local).append("/>");
    return;
  }
  out.append("<").append(name.local).append(" xmlns=\"");
  append_xml(out, name.space);
  out += "\"/>";
}

}  // namespace h2server::content
