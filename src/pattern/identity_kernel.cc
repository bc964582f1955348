#include <algorithm>
#include <charconv>
#include <vector>

#include "pattern/identity.h"
#include "pattern/identity_text.h"
#include "pattern/text.h"

namespace eroica {
namespace {

constexpr int kDeepestTemplate = 6;  // what is nested deeper is not shown

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Walks over a demangled name and knows how deep in brackets it is. '<' and '>' inside parentheses that were opened
/// after the last '<' are operators; so are those of "operator<" and "->".
class Brackets {
 public:
  explicit Brackets(std::string_view text) : text_(text) {}
  /// Takes the character at i (in order, from 0); returns the depth after it.
  size_t step(size_t i) {
    const char c = text_[i];
    if (c == '(' || c == '{' || c == '[') {
      open_.push_back(c);
    } else if (c == '<') {
      if (!is_operator(i)) {
        open_.push_back(c);
      }
    } else if (c == '>') {
      if (!is_operator(i) && !open_.empty() && open_.back() == '<') {
        open_.pop_back();
      }
    } else if (c == ')' || c == '}' || c == ']') {
      const char opener = c == ')' ? '(' : c == '}' ? '{' : '[';
      while (!open_.empty() && open_.back() == '<') {
        open_.pop_back();  // a '<' that was an operator after all
      }
      if (!open_.empty() && open_.back() == opener) {
        open_.pop_back();
      }
    }
    return open_.size();
  }

 private:
  [[nodiscard]] bool is_operator(size_t i) const {
    std::string_view before = text_.substr(0, i);
    for (int more = 0; more < 2 && (before.ends_with('<') || before.ends_with('>')); ++more) {
      before.remove_suffix(1);
    }
    return before.ends_with("operator") || (text_[i] == '>' && before.ends_with('-'));
  }

  std::string_view text_;
  std::string open_;
};

/// Splits at each `separator` outside of brackets.
std::vector<std::string_view> split_outside(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> pieces;
  Brackets brackets(text);
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (brackets.step(i) == 0 && i >= begin && text.substr(i).starts_with(separator)) {
      pieces.push_back(text.substr(begin, i - begin));
      begin = i + separator.size();
    }
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

/// " [clone .kd]", ".kd", ".cold": what compilers append.
std::string_view without_suffixes(std::string_view name) {
  name = trim(name);
  for (size_t clone = name.rfind(" [clone "); clone != std::string_view::npos; clone = name.rfind(" [clone ")) {
    name = trim(name.substr(0, clone));
  }
  for (std::string_view suffix : {".kd", ".cold", ".intern"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
    }
  }
  return name;
}

/// `void a::b<c>(d, e)` → `a::b<c>`: without the arguments and, where there were some, the type returned.
std::string_view without_signature(std::string_view name) {
  Brackets brackets(name);
  size_t depth = 0;
  size_t arguments = std::string_view::npos;  // the last '(' outside of brackets
  size_t end = 0;                             // behind its ')'
  size_t name_begin = 0;                      // behind the last space in front of it
  size_t last_space = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const size_t after = brackets.step(i);
    if (depth == 0 && name[i] == '(' && !name.substr(0, i).ends_with("operator")) {
      arguments = i;
      name_begin = last_space;
    } else if (after == 0 && name[i] == ')') {
      end = i + 1;
    } else if (after == 0 && name[i] == ' ') {
      last_space = i + 1;
    }
    depth = after;
  }
  const bool qualified_only = end == name.size() || name.substr(end) == " const";
  if (arguments == std::string_view::npos || arguments == name_begin || !qualified_only || end < arguments) {
    return name.starts_with("void ") ? name.substr(5) : name;
  }
  return name.substr(name_begin, arguments - name_begin);
}

/// Numbers of lambdas and unnamed types, which change with the compiler and with every edit above them:
/// `{lambda(float)#1}`, `'lambda0'(float)`, `{unnamed type#2}`, `$_3`.
std::string without_lambda_numbers(std::string_view name) {
  std::string kept;
  kept.reserve(name.size());
  for (size_t i = 0; i < name.size(); ++i) {
    kept += name[i];
    const bool counts = name[i] == '#' || kept.ends_with("'lambda") || kept.ends_with("$_");
    if (!counts) {
      continue;
    }
    const size_t end = std::min(name.find_first_not_of("0123456789", i + 1), name.size());
    if (end > i + 1) {
      if (name[i] == '#') {
        kept.pop_back();
      }
      i = end - 1;
    }
  }
  return kept;
}

/// `_kernel_0d1d2de`: arguments that an older triton specialised for.
std::string_view without_triton_signature(std::string_view name) {
  const size_t bar = name.rfind('_');
  if (bar == std::string_view::npos) {
    return name;
  }
  const std::string_view tail = name.substr(bar + 1);
  const auto letters = std::count_if(tail.begin(), tail.end(), [](char c) { return !is_digit(c); });
  const bool specialised = tail.find_first_not_of("0123456789dce") == std::string_view::npos && letters >= 2 &&
                           tail.starts_with('0') && tail.size() >= 4 && tail[1] >= 'c' && tail[1] <= 'e';
  return specialised ? name.substr(0, bar) : name;
}

/// `triton_poi_fused_add_mul_12`: the number counts the kernels of one graph.
std::string_view without_triton_numbering(std::string_view name) {
  if (!name.starts_with("triton_")) {
    return without_triton_signature(name);
  }
  const size_t last = name.find_last_not_of("0123456789");
  const bool numbered = last != std::string_view::npos && name[last] == '_' && last + 1 < name.size();
  return numbered ? name.substr(0, last) : name;
}

/// The nested name at the front of an Itanium-mangled one, up to its first template arguments:
/// `_ZN5aiter4normILi2EEvPf` → `aiter::norm`. Demangling the rest would differ between versions of the C++ library.
std::string mangled_outer_name(std::string_view mangled) {
  std::string_view rest = mangled.substr(2);
  std::string text;
  if (rest.starts_with('N')) {
    rest.remove_prefix(1);
  }
  while (!rest.empty()) {
    std::string_view part;
    if (rest.starts_with("St")) {
      part = "std";
      rest.remove_prefix(2);
    } else {
      size_t length = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
      const auto digits = static_cast<size_t>(end - rest.data());
      if (error != std::errc() || length == 0 || length > rest.size() - digits) {
        break;
      }
      part = rest.substr(digits, length);
      rest.remove_prefix(digits + length);
    }
    if (!text.empty()) {
      text += "::";
    }
    text += part.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : part;
  }
  return text.empty() ? std::string(mangled) : text;
}

std::string short_type(std::string_view type, int depth);

bool is_number(std::string_view argument) {
  if (argument == "true" || argument == "false" || argument.starts_with('(')) {
    return true;  // "(cub::BlockLoadAlgorithm)3"
  }
  return is_digit(argument.empty() ? '0' : argument.front()) || argument.starts_with('-');
}

/// The arguments of the template that begins at the '<' at `open`: up to the '>' that closes it, else to the end.
std::string_view template_arguments(std::string_view text, size_t open) {
  text.remove_prefix(open);
  Brackets brackets(text);
  for (size_t i = 0; i < text.size(); ++i) {
    if (brackets.step(i) == 0) {
      return text.substr(1, i - std::min<size_t>(i, 1));
    }
  }
  return text.substr(1);
}

/// Is it a template over more than numbers, or something local to a function? Such arguments tell kernels apart.
bool is_telling(std::string_view argument) {
  const size_t open = argument.find_first_of("<(");
  if (open == std::string_view::npos || is_number(argument)) {
    return false;
  }
  if (argument[open] == '(') {
    return true;
  }
  const std::vector<std::string_view> inner = split_outside(template_arguments(argument, open), ",");
  return !std::all_of(inner.begin(), inner.end(), [](std::string_view piece) { return is_number(trim(piece)); });
}

/// Of a template's arguments the one that says most: the first that is telling, else the first type.
std::string telling_argument(std::string_view list, int depth) {
  std::string_view chosen;
  for (std::string_view argument : split_outside(list, ",")) {
    argument = trim(argument);
    if (is_telling(argument)) {
      chosen = argument;
      break;
    }
    if (chosen.empty() && !is_number(argument)) {
      chosen = argument;
    }
  }
  return chosen.empty() ? std::string() : "<" + short_type(chosen, depth + 1) + ">";
}

/// `at::native::f<int, 4>::g` → `f<int>`: the first part with arguments, else the last; no namespaces.
std::string short_type(std::string_view type, int depth) {
  if (depth > kDeepestTemplate) {
    return "…";
  }
  std::string_view telling;
  for (std::string_view part : split_outside(type, "::")) {
    telling = part;
    if (part.find_first_of("<(") != std::string_view::npos && !part.starts_with("(anonymous")) {
      break;
    }
  }
  const size_t open = telling.find_first_of("<(");
  if (open == std::string_view::npos || telling[open] == '(') {
    return std::string(trim(telling.substr(0, open)));
  }
  return std::string(telling.substr(0, open)) + telling_argument(template_arguments(telling, open), depth);
}

/// Kernels of Tensile: "Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_…" → up to the tile.
std::string_view up_to_tile(std::string_view name) {
  const size_t tile = name.starts_with("Cijk_") ? name.find("_MT") : std::string_view::npos;
  return tile == std::string_view::npos ? name : name.substr(0, name.find('_', tile + 1));
}

/// For people: no `at::native::` nor unnamed namespaces, one argument of each template.
std::string short_kernel(std::string_view whole) {
  if (whole.starts_with("_Z")) {
    return mangled_outer_name(whole);
  }
  std::string scope;
  const std::vector<std::string_view> parts = split_outside(whole, "::");
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size() || parts[i].find('<') != std::string_view::npos;
    if (last) {
      const bool in_words = parts[i].find(' ') < parts[i].find('<');  // "Memcpy DtoD (Device -> Device)"
      return scope + (in_words ? std::string(parts[i]) : short_type(up_to_tile(parts[i]), 0));
    }
    const bool noise = parts[i] == "native" || parts[i] == "(anonymous namespace)" || (i == 0 && parts[i] == "at");
    if (!noise) {
      scope += std::string(parts[i]) + "::";
    }
  }
  return scope;
}

/// `_GLOBAL__N__1f2e_12_file_cu_5d7a`: the name that nvcc makes up for an unnamed namespace.
std::string without_unit_hashes(std::string_view name) {
  constexpr std::string_view kUnit = "_GLOBAL__N__";
  std::string kept;
  while (!name.empty()) {
    const size_t at = std::min(name.find(kUnit), name.size());
    kept += name.substr(0, at);
    name.remove_prefix(at);
    if (!name.empty()) {
      kept += "_GLOBAL__N_";
      const size_t end = std::find_if_not(name.begin(), name.end(), is_word_char) - name.begin();
      name.remove_prefix(end);
    }
  }
  return kept;
}

}  // namespace

CanonicalName canonical_kernel(std::string_view raw) {
  CanonicalName name;
  const std::string_view bare = without_suffixes(raw.substr(0, kLongestRawBytes));
  std::string whole;
  if (bare.starts_with("_Z")) {
    whole = bare;
  } else {
    whole = without_lambda_numbers(without_triton_numbering(without_signature(bare)));
    whole = without_unit_hashes(without_addresses(whole));
  }
  if (whole.empty()) {
    whole = bare.empty() ? raw.substr(0, kLongestRawBytes) : bare;
  }
  const std::string shown = short_kernel(whole);
  set_text(name, shown.empty() ? whole : shown, whole);
  return name;
}

}  // namespace eroica
