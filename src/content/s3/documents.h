// Finds elements in the documents of S3. Stores differ in the namespaces.
#pragma once

#include <string_view>

#include "content/xml.h"

namespace h2server::content::s3 {

// Returns the first child with that name, or null.
const XmlNode* find_child(const XmlNode& node, std::string_view name) noexcept;
// Returns its text, without copying it; empty if there is none.
std::string_view text_of(const XmlNode& node, std::string_view child_name) noexcept;

}  // namespace h2server::content::s3
