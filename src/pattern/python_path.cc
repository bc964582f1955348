#include "pattern/python_path.h"

#include <algorithm>
#include <array>
#include <vector>

#include "pattern/text.h"

namespace eroica {
namespace {

using Parts = std::vector<std::string_view>;

constexpr size_t kProjectParts = 3;

/// Top-level modules and packages of the standard library. `code`, `profile`, `test` and `trace` are left out: users
/// call their own scripts so, and nothing breaks when these are shadowed. Sorted.
constexpr auto kStandardLibrary = std::to_array<std::string_view>({
    "__future__",
    "_aix_support",
    "_ast_unparse",
    "_bootsubprocess",
    "_collections_abc",
    "_compat_pickle",
    "_compression",
    "_distutils_hack",
    "_markupbase",
    "_osx_support",
    "_py_abc",
    "_py_warnings",
    "_pydatetime",
    "_pydecimal",
    "_pyio",
    "_pylong",
    "_sitebuiltins",
    "_strptime",
    "_threading_local",
    "_weakrefset",
    "abc",
    "aifc",
    "annotationlib",
    "antigravity",
    "argparse",
    "ast",
    "asynchat",
    "asyncio",
    "asyncore",
    "base64",
    "bdb",
    "binhex",
    "bisect",
    "bz2",
    "cProfile",
    "calendar",
    "cgi",
    "cgitb",
    "chunk",
    "cmd",
    "codecs",
    "codeop",
    "collections",
    "colorsys",
    "compileall",
    "compression",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "crypt",
    "csv",
    "ctypes",
    "curses",
    "dataclasses",
    "datetime",
    "dbm",
    "decimal",
    "difflib",
    "dis",
    "distutils",
    "doctest",
    "email",
    "encodings",
    "ensurepip",
    "enum",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "graphlib",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "idlelib",
    "imaplib",
    "imghdr",
    "imp",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "json",
    "keyword",
    "lib2to3",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "mailbox",
    "mailcap",
    "mimetypes",
    "modulefinder",
    "multiprocessing",
    "netrc",
    "nntplib",
    "ntpath",
    "nturl2path",
    "numbers",
    "opcode",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pickletools",
    "pipes",
    "pkgutil",
    "platform",
    "plistlib",
    "poplib",
    "posixpath",
    "pprint",
    "pstats",
    "pty",
    "py_compile",
    "pyclbr",
    "pydoc",
    "queue",
    "quopri",
    "random",
    "re",
    "reprlib",
    "rlcompleter",
    "runpy",
    "sched",
    "secrets",
    "selectors",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "site",
    "smtpd",
    "smtplib",
    "sndhdr",
    "socket",
    "socketserver",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "stringprep",
    "struct",
    "subprocess",
    "sunau",
    "symtable",
    "sysconfig",
    "tabnanny",
    "tarfile",
    "telnetlib",
    "tempfile",
    "textwrap",
    "this",
    "threading",
    "timeit",
    "tkinter",
    "token",
    "tokenize",
    "tomllib",
    "traceback",
    "tracemalloc",
    "tty",
    "turtle",
    "types",
    "typing",
    "typing_extensions",
    "unittest",
    "urllib",
    "uu",
    "uuid",
    "venv",
    "warnings",
    "wave",
    "weakref",
    "webbrowser",
    "wsgiref",
    "xdrlib",
    "xml",
    "xmlrpc",
    "zipapp",
    "zipfile",
    "zipimport",
    "zoneinfo",
});

constexpr auto kFrameworkPackages = std::to_array<std::string_view>(
    {"eroica_probe", "functorch", "numpy", "nvtx", "torch", "torchgen", "torchrun", "triton"});

/// Folders that say where a machine keeps things, not what they are. Sorted.
constexpr auto kRootParts =
    std::to_array<std::string_view>({"app", "code", "data", "home", "job", "jobs", "mnt", "opt", "private", "root",
                                     "scratch", "shared", "srv", "tmp", "usr", "users", "var", "workspace"});

template <size_t N>
bool listed(const std::array<std::string_view, N>& sorted, std::string_view word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

bool is_frozen_or_generated(std::string_view raw) { return raw.starts_with('<'); }

/// Eight or more hexadecimal digits with letters and digits mixed, a UUID, or a long run of base-32 letters and digits.
bool is_hash(std::string_view part) {
  const auto count = [&](auto predicate) {
    return static_cast<size_t>(std::count_if(part.begin(), part.end(), predicate));
  };
  const size_t digits = count(is_digit);
  const size_t hex = count(is_hex_digit);
  const size_t dashes = count([](char c) { return c == '-'; });
  const size_t lower = count([](char c) { return c >= 'a' && c <= 'z'; });
  if (digits == 0 || part.size() < 8) {
    return false;
  }
  const bool hexadecimal = hex + dashes == part.size() && hex >= 8 && digits < hex;
  const bool base32 = part.size() >= 32 && digits + lower == part.size();
  return hexadecimal || base32;
}

/// tmpab12cd, tmp.Xa81bc, pip-install-…: names that tempfile, mktemp and launchers make up.
bool is_temporary(std::string_view part) {
  const bool random_name = part.starts_with("tmp") && (part.size() == 9 || part.size() == 11) &&
                           std::all_of(part.begin(), part.end(), is_word_char);
  return random_name || part.starts_with("tmp.") || part.starts_with("pip-");
}

bool is_transient(std::string_view part) {
  return all_digits(part) || is_hash(part) || is_temporary(part) || part.ends_with(".egg");
}

Parts split(std::string_view path) {
  Parts parts;
  while (!path.empty()) {
    const size_t slash = std::min(path.find_first_of("/\\"), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != "." && part != "..") {
      parts.push_back(part);
    }
  }
  return parts;
}

std::string join(const Parts& parts) {
  std::string text;
  for (std::string_view part : parts) {
    if (!text.empty()) {
      text += '/';
    }
    text += part;
  }
  return text;
}

/// python3.11, python3, python311.zip
bool is_library_folder(std::string_view part) {
  if (!part.starts_with("python") || part.size() < 7) {
    return false;
  }
  part.remove_prefix(6);
  if (part.ends_with(".zip")) {
    part.remove_suffix(4);
  }
  return is_digit(part.front()) && std::all_of(part.begin(), part.end(), [](char c) {
           return is_digit(c) || c == '.' || c == 't';  // 3.13t: free-threaded
         });
}

/// Generated code: what made it; empty = not generated.
std::string_view generator(const Parts& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].starts_with("torchinductor")) {
      return "<torchinductor>";
    }
    if (parts[i] == ".triton" && i + 1 < parts.size() && parts[i + 1] == "cache") {
      return "<triton>";
    }
    if (parts[i].starts_with("ipykernel_")) {
      return "<ipython-input>";
    }
  }
  return {};
}

struct Package {
  size_t first = 0;  ///< the part that the package begins with; 0 = no package root was found
  bool standard = false;
};

/// The innermost folder that packages are installed in.
Package find_package(const Parts& parts) {
  for (size_t i = parts.size(); i-- > 1;) {
    const std::string_view root = parts[i - 1];
    if (root == "site-packages" || root == "dist-packages" || root.ends_with("#link-tree") ||
        root.starts_with("_ray_pkg_") || root == "transformers_modules") {
      return {i, false};
    }
    // A source checkout: pytorch/torch/…, triton/python/triton/…; our own probe, wherever it lies.
    if (parts[i] == "eroica_probe" || (root.starts_with("pytorch") && parts[i] == "torch") ||
        (root == "python" && parts[i] == "triton")) {
      return {i, false};
    }
    if (i >= 2 && parts[i - 2].ends_with(".runfiles")) {
      return {i, false};
    }
    const bool below_lib = i >= 2 && (parts[i - 2] == "lib" || parts[i - 2] == "lib64");
    if (is_library_folder(root) && (below_lib || root.ends_with(".zip"))) {
      return {i, true};
    }
  }
  return {};
}

bool is_framework(const Parts& parts, bool relative) {
  if (parts.empty()) {
    return false;
  }
  std::string_view top = parts.front();
  if (parts.size() == 1 && top.ends_with(".py")) {
    top.remove_suffix(3);
  }
  return listed(kFrameworkPackages, top) || (relative && listed(kStandardLibrary, top));
}

/// "<frozen a.b>", "<string>", "<eval_with_key>.12", "<ipython-input-3-0af…>" …
PythonPath pseudo_file(std::string_view raw) {
  constexpr std::string_view kFrozen = "<frozen ";
  if (raw.starts_with(kFrozen) && raw.ends_with('>')) {
    std::string file(raw.substr(kFrozen.size(), raw.size() - kFrozen.size() - 1));
    std::replace(file.begin(), file.end(), '.', '/');
    return {file + ".py", true};
  }
  for (std::string_view numbered : {"<ipython-input", "<decorator-gen", "<eval_with_key>"}) {
    if (raw.starts_with(numbered)) {
      return {numbered.ends_with('>') ? std::string(numbered) : std::string(numbered) + ">",
              numbered == "<eval_with_key>"};
    }
  }
  if (raw == "<__array_function__ internals>") {
    return {std::string(raw), true};
  }
  constexpr std::string_view kTorchPackage = "<torch_package_";
  if (raw.starts_with(kTorchPackage)) {
    const size_t end = std::min(raw.find('>'), raw.size());
    return {"<torch_package" + std::string(raw.substr(end)), false};
  }
  return {std::string(raw), false};
}

}  // namespace

PythonPath canonical_python_path(std::string_view raw) {
  if (is_frozen_or_generated(raw)) {
    return pseudo_file(raw);
  }
  const bool absolute = raw.starts_with('/') || raw.starts_with('\\') || (raw.size() > 2 && raw[1] == ':');
  Parts parts = split(raw);
  if (const std::string_view made_by = generator(parts); !made_by.empty()) {
    return {std::string(made_by), true};
  }
  const Package package = find_package(parts);
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(package.first));
  const std::string_view file = parts.empty() ? raw : parts.back();
  if (package.first == 0 && absolute) {
    // Home folders carry their user's name behind them.
    const bool home = parts.size() > 2 && (parts[0] == "home" || parts[0] == "Users");
    size_t first = home ? 2 : 0;
    while (first + 1 < parts.size() && (listed(kRootParts, parts[first]) || is_transient(parts[first]))) {
      ++first;
    }
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(first));
  }
  parts.erase(std::remove_if(parts.begin(), parts.end(), is_transient), parts.end());
  if (parts.empty()) {
    parts.push_back(file);  // a file whose very name looks made up still needs a name
  }
  if (package.first == 0 && absolute && parts.size() > kProjectParts) {
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(kProjectParts));
  }
  const bool relative = !absolute || package.first != 0;
  return {join(parts), package.standard || is_framework(parts, relative)};
}

}  // namespace eroica
