#ifndef PACELINE_COMMON_OBJECT_STORE_XML_ELEMENT_H_
#define PACELINE_COMMON_OBJECT_STORE_XML_ELEMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// An element of what S3 answers: elements in elements with a text in the
// innermost. Attributes and prefixes of names mean nothing there.
struct XmlElement {
  std::string name;  // Without a prefix.
  std::string text;
  std::vector<XmlElement> children;

  // The first child of that name; null if there is none.
  const XmlElement* Child(absl::string_view child) const;
  // Its text, "" if there is none.
  std::string TextOf(absl::string_view child) const;
};

// The document's one element. DATA_LOSS for what is no XML, for a document type
// of its own, and for elements within too many others.
absl::StatusOr<XmlElement> ParseXml(absl::string_view text);

// `text` as it stands in a document.
std::string EscapeXml(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_XML_ELEMENT_H_
