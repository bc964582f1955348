#include "trace/document_kind.h"

#include <cstddef>

namespace eroica {
namespace {

/// Steps through JSON text that may be cut or damaged. Every call moves forward or fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    skip_space();
  }

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }

  bool take(char c) {
    if (peek() != c || at_end()) return false;
    ++at_;
    skip_space();
    return true;
  }

  /// The text between quotes, escapes left as they are.
  std::optional<std::string_view> string() {
    if (peek() != '"') return std::nullopt;
    const size_t begin = ++at_;
    while (!at_end() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_end()) return std::nullopt;
    const std::string_view found = text_.substr(begin, at_ - begin);
    ++at_;
    skip_space();
    return found;
  }

  /// Passes over one value of any kind; false when it does not end here.
  bool value() {
    size_t depth = 0;
    do {
      if (at_end()) return false;
      const char c = peek();
      if (c == '"') {
        if (!string()) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
        take(c);
      } else if (c == '}' || c == ']') {
        if (depth == 0) return false;
        --depth;
        take(c);
      } else if (depth > 0 && (c == ',' || c == ':')) {
        take(c);
      } else {
        if (!word()) return false;
      }
    } while (depth > 0);
    return true;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  void skip_space() {
    while (!at_end() && is_space(text_[at_])) ++at_;
  }

  /// A number, true, null, nan …
  bool word() {
    const size_t begin = at_;
    constexpr std::string_view kStops = "{}[],:\" \n\r\t";
    while (!at_end() && kStops.find(text_[at_]) == std::string_view::npos) ++at_;
    const bool moved = at_ > begin;
    skip_space();
    return moved && !at_end();
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// What an element of traceEvents shows of itself.
enum class Element { kSample, kMetadata, kTraceEvent, kNoEvent, kCut };

Element element_kind(Scanner& scan) {
  if (scan.at_end()) return Element::kCut;
  if (!scan.take('{')) return Element::kNoEvent;
  std::string_view phase;
  std::string_view category;
  std::string_view pid;
  while (!scan.take('}')) {
    const auto key = scan.string();
    if (!key || !scan.take(':')) return scan.at_end() ? Element::kCut : Element::kNoEvent;
    std::string_view* const kept = *key == "ph" ? &phase : *key == "cat" ? &category : *key == "pid" ? &pid : nullptr;
    if (kept != nullptr && scan.peek() == '"') {
      const auto text = scan.string();
      if (!text) return Element::kCut;
      *kept = *text;
    } else if (!scan.value()) {
      return scan.at_end() ? Element::kCut : Element::kNoEvent;
    }
    scan.take(',');
  }
  if (phase == "M") return Element::kMetadata;
  if (phase.empty()) return Element::kNoEvent;
  // Kineto's own counters stand in traces, under "GPU N Counters".
  const bool sample = phase == "C" && category == "hardware_counters" && !pid.starts_with("GPU ");
  return sample ? Element::kSample : Element::kTraceEvent;
}

struct Events {
  size_t samples = 0;
  size_t metadata = 0;
  bool others = false;   ///< the last element looked at is one that only traces hold
  bool foreign = false;  ///< the last element looked at is no event, or a damaged one
};

Events look_at_events(Scanner& scan) {
  Events events;
  while (!scan.at_end() && scan.peek() != ']') {
    switch (element_kind(scan)) {
      case Element::kSample:
        ++events.samples;
        break;
      case Element::kMetadata:
        ++events.metadata;
        break;
      case Element::kTraceEvent:
        events.others = true;
        return events;
      case Element::kNoEvent:
        events.foreign = true;
        return events;
      case Element::kCut:
        return events;
    }
    if (!scan.take(',')) break;
  }
  return events;
}

std::optional<DocumentKind> array_kind(Scanner& scan, std::string_view head, bool whole) {
  const Events events = look_at_events(scan);
  if (events.others) return DocumentKind::kTrace;
  if (events.samples > 0) return DocumentKind::kSamples;
  if (events.metadata > 0) return DocumentKind::kTrace;
  if (events.foreign) {
    const bool shows_events = head.find("\"ph\"") != std::string_view::npos;
    return shows_events ? DocumentKind::kTrace : DocumentKind::kOther;
  }
  if (scan.peek() == ']') return DocumentKind::kOther;
  return whole ? std::optional(DocumentKind::kCut) : std::nullopt;
}

std::optional<DocumentKind> object_kind(Scanner& scan, std::string_view head, bool whole) {
  bool kineto = false;
  while (!scan.at_end() && scan.peek() != '}') {
    const auto key = scan.string();
    if (!key || !scan.take(':')) break;
    if (*key == "traceEvents") {
      if (scan.at_end()) return DocumentKind::kTrace;
      if (!scan.take('[')) return DocumentKind::kOther;
      const Events events = look_at_events(scan);
      const bool samples = events.samples > 0 && !events.others && !kineto;
      return samples ? DocumentKind::kSamples : DocumentKind::kTrace;
    }
    kineto = kineto || *key == "deviceProperties" || *key == "distributedInfo";
    if (!scan.value()) break;
    scan.take(',');
  }
  const bool complete = scan.peek() == '}';
  if (kineto && !complete) return DocumentKind::kTrace;
  if (!complete && head.find("\"traceEvents\"") != std::string_view::npos) {
    return DocumentKind::kTrace;
  }
  if (complete || !scan.at_end()) return DocumentKind::kOther;
  return whole ? std::optional(DocumentKind::kCut) : std::nullopt;
}

}  // namespace

std::optional<DocumentKind> document_kind(std::string_view head, bool whole) {
  Scanner scan(head);
  if (scan.at_end()) return whole ? std::optional(DocumentKind::kEmpty) : std::nullopt;
  if (scan.take('{')) return object_kind(scan, head, whole);
  if (scan.take('[')) return array_kind(scan, head, whole);
  return DocumentKind::kNotJson;
}

}  // namespace eroica
