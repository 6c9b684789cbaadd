#include "common/object_store/xml_element.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr int kMostDepth = 16;

// UTF-8 of a character's number.
void AppendCharacter(uint32_t number, std::string& out) {
  const auto put = [&out](uint32_t byte) {
    out.push_back(static_cast<char>(byte));
  };
  if (number < 0x80) {
    put(number);
  } else if (number < 0x800) {
    put(0xC0 | number >> 6);
    put(0x80 | (number & 0x3F));
  } else if (number < 0x10000) {
    put(0xE0 | number >> 12);
    put(0x80 | (number >> 6 & 0x3F));
    put(0x80 | (number & 0x3F));
  } else {
    put(0xF0 | number >> 18);
    put(0x80 | (number >> 12 & 0x3F));
    put(0x80 | (number >> 6 & 0x3F));
    put(0x80 | (number & 0x3F));
  }
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text), all_(text.size()) {}

  absl::StatusOr<XmlElement> Document() {
    PACELINE_RETURN_IF_ERROR(SkipAround());
    PACELINE_ASSIGN_OR_RETURN(XmlElement element, Element(0));
    PACELINE_RETURN_IF_ERROR(SkipAround());
    if (!rest_.empty()) return Broken("more after the end");
    return element;
  }

 private:
  absl::Status Broken(absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat("the store's answer is no XML: ", what, " at byte ",
                     all_ - rest_.size()));
  }

  absl::Status SkipBehind(absl::string_view end) {
    const size_t at = rest_.find(end);
    if (at == absl::string_view::npos) return Broken("it is cut off");
    rest_.remove_prefix(at + end.size());
    return absl::OkStatus();
  }

  // A comment or an instruction, if one is next.
  absl::StatusOr<bool> SkipNote() {
    if (absl::StartsWith(rest_, "<?")) {
      PACELINE_RETURN_IF_ERROR(SkipBehind("?>"));
      return true;
    }
    if (absl::StartsWith(rest_, "<!--")) {
      PACELINE_RETURN_IF_ERROR(SkipBehind("-->"));
      return true;
    }
    return false;
  }

  // What may stand before and behind the one element.
  absl::Status SkipAround() {
    absl::ConsumePrefix(&rest_, "\xEF\xBB\xBF");
    while (true) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      PACELINE_ASSIGN_OR_RETURN(const bool skipped, SkipNote());
      if (!skipped) return absl::OkStatus();
    }
  }

  // What stands between < and >, which is the name and what follows it.
  absl::StatusOr<absl::string_view> Tag() {
    char quote = 0;
    for (size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        const absl::string_view tag = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return tag;
      }
    }
    return Broken("it is cut off");
  }

  static std::string NameOf(absl::string_view tag) {
    const auto blank = std::find_if(tag.begin(), tag.end(), [](char c) {
      return absl::ascii_isspace(static_cast<unsigned char>(c));
    });
    const absl::string_view name =
        tag.substr(0, static_cast<size_t>(blank - tag.begin()));
    const size_t colon = name.find(':');
    return std::string(
        colon == absl::string_view::npos ? name : name.substr(colon + 1));
  }

  absl::StatusOr<XmlElement> Element(int depth) {
    if (depth > kMostDepth) return Broken("too many elements in each other");
    if (!absl::ConsumePrefix(&rest_, "<")) return Broken("no element");
    PACELINE_ASSIGN_OR_RETURN(absl::string_view tag, Tag());
    const bool empty = absl::ConsumeSuffix(&tag, "/");
    XmlElement element;
    element.name = NameOf(tag);
    if (element.name.empty() || element.name.front() == '!' ||
        element.name.front() == '/') {
      return Broken("no name of an element");
    }
    if (!empty) PACELINE_RETURN_IF_ERROR(Content(depth, element));
    return element;
  }

  // Up to and with the end of `element`.
  absl::Status Content(int depth, XmlElement& element) {
    while (true) {
      const size_t next = rest_.find('<');
      if (next == absl::string_view::npos) return Broken("it is cut off");
      PACELINE_RETURN_IF_ERROR(Text(rest_.substr(0, next), element.text));
      rest_.remove_prefix(next);
      PACELINE_ASSIGN_OR_RETURN(const bool skipped, SkipNote());
      if (skipped) continue;
      if (absl::ConsumePrefix(&rest_, "</")) {
        PACELINE_ASSIGN_OR_RETURN(const absl::string_view tag, Tag());
        if (NameOf(tag) == element.name) return absl::OkStatus();
        return Broken("the end of another element");
      }
      PACELINE_ASSIGN_OR_RETURN(XmlElement child, Element(depth + 1));
      element.children.push_back(std::move(child));
    }
  }

  absl::Status Text(absl::string_view raw, std::string& out) const {
    while (true) {
      const size_t at = raw.find('&');
      out.append(raw.data(), std::min(at, raw.size()));
      if (at == absl::string_view::npos) return absl::OkStatus();
      raw.remove_prefix(at + 1);
      const size_t end = raw.find(';');
      if (end == absl::string_view::npos) return Broken("an & without ;");
      PACELINE_RETURN_IF_ERROR(Entity(raw.substr(0, end), out));
      raw.remove_prefix(end + 1);
    }
  }

  absl::Status Entity(absl::string_view name, std::string& out) const {
    static constexpr std::pair<absl::string_view, char> kNamed[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [known, character] : kNamed) {
      if (name != known) continue;
      out.push_back(character);
      return absl::OkStatus();
    }
    uint32_t number = 0;
    const bool is_number = absl::StartsWithIgnoreCase(name, "#x")
                               ? absl::SimpleHexAtoi(name.substr(2), &number)
                               : absl::StartsWith(name, "#") &&
                                     absl::SimpleAtoi(name.substr(1), &number);
    if (!is_number || number == 0 || number > 0x10FFFF) {
      return Broken("an & that means nothing");
    }
    AppendCharacter(number, out);
    return absl::OkStatus();
  }

  absl::string_view rest_;
  const size_t all_;
};

}  // namespace

const XmlElement* XmlElement::Child(absl::string_view child) const {
  const auto found =
      std::find_if(children.begin(), children.end(),
                   [child](const XmlElement& it) { return it.name == child; });
  return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::TextOf(absl::string_view child) const {
  const XmlElement* const found = Child(child);
  return found == nullptr ? "" : found->text;
}

absl::StatusOr<XmlElement> ParseXml(absl::string_view text) {
  return Parser(text).Document();
}

std::string EscapeXml(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace paceline
