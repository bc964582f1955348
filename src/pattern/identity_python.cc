#include <charconv>
#include <optional>

#include "pattern/identity.h"
#include "pattern/identity_text.h"
#include "pattern/python_path.h"
#include "pattern/text.h"

namespace eroica {
namespace {

constexpr std::string_view kBuiltInMethod = "<built-in method ";
constexpr std::string_view kBuiltInFunction = "<built-in function ";
constexpr std::string_view kModuleMark = "nn.Module: ";

struct Frame {
  std::string_view file;
  int32_t line = 0;
  std::string_view function;
};

/// `file(line): function`; the last "(digits): " counts, as a file's own name may hold one.
std::optional<Frame> parse_frame(std::string_view raw) {
  constexpr std::string_view kAfterLine = "): ";
  for (size_t end = raw.rfind(kAfterLine); end != std::string_view::npos && end > 0;
       end = raw.rfind(kAfterLine, end - 1)) {
    const size_t open = raw.find_last_not_of("0123456789", end - 1);
    if (open == std::string_view::npos || open == 0 || raw[open] != '(' || open + 1 == end) {
      continue;
    }
    Frame frame{raw.substr(0, open), 0, raw.substr(end + kAfterLine.size())};
    std::from_chars(raw.data() + open + 1, raw.data() + end, frame.line);  // out of range: stays 0
    return frame;
  }
  return std::nullopt;
}

std::string_view without_trailing_number(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  return last != std::string_view::npos && last > 0 && name[last] == '_' && last + 1 < name.size()
             ? name.substr(0, last)
             : name;
}

/// Functions that compilers name after a line, a counter or a content hash.
std::string stable_function(std::string_view name) {
  if (name.starts_with("torch_dynamo_resume_in_")) {
    const size_t at = name.rfind("_at_");
    return std::string(at != std::string_view::npos && all_digits(name.substr(at + 4)) ? name.substr(0, at) : name);
  }
  if (name.starts_with("__compiled_fn_")) {
    return "__compiled_fn";
  }
  if (name.starts_with("triton_")) {
    return std::string(without_trailing_number(name));
  }
  return std::string(name);
}

/// "NAME of TYPE object at 0x7f…" → "TYPE.NAME". Types that only wrap functions, and whose names carry versions of
/// compilers and bindings, say nothing.
std::string built_in_method(std::string_view text) {
  const size_t of = text.find(" of ");
  std::string_view name = text.substr(0, of);
  std::string_view type = of == std::string_view::npos ? std::string_view{} : text.substr(of + 4);
  type = type.substr(0, type.rfind(" object"));
  if (name.empty()) {
    name = "(unnamed)";
  }
  const bool wrapper = type.empty() || type == "PyCapsule" || type == "module" || type == "type" ||
                       type.find("pybind11_detail") != std::string_view::npos ||
                       type.find("nanobind") != std::string_view::npos;
  return wrapper ? std::string(name) : std::string(type) + "." + std::string(name);
}

}  // namespace

CanonicalName canonical_python(std::string_view raw) {
  raw = raw.substr(0, kLongestRawBytes);
  CanonicalName name;
  name.framework = true;
  std::string text;
  if (raw.starts_with(kBuiltInMethod)) {
    raw.remove_prefix(kBuiltInMethod.size());
    raw = raw.substr(0, raw.rfind('>'));
    text = without_addresses(built_in_method(raw));
  } else if (raw.starts_with(kBuiltInFunction)) {
    raw.remove_prefix(kBuiltInFunction.size());
    text = without_addresses(raw.substr(0, raw.rfind('>')));
  } else if (raw.starts_with(kModuleMark)) {
    text = raw;
  } else if (const std::optional<Frame> frame = parse_frame(raw)) {
    PythonPath path = canonical_python_path(frame->file);
    name.file = bounded_identity(without_addresses(path.text));
    name.line = frame->line;
    name.framework = path.framework;
    text = stable_function(frame->function);
  } else {
    name.framework = false;
    text = without_addresses(raw);
  }
  name.function = bounded_identity(text);
  set_text(name, name.function, name.function);
  return name;
}

}  // namespace eroica
