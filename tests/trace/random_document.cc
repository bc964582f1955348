#include "random_document.h"

#include <fmt/format.h>

#include <algorithm>

namespace eroica::testkit {

std::string RandomDocument::space() {
  if (!pretty_) return chance(0.2) ? " " : "";
  return one_of<std::string>({"", " ", "\n", "\n    ", "\t", "\r\n  "});
}

std::string RandomDocument::string() {
  static const std::vector<std::string> kPieces{"aten::add",
                                                "void k<float>(int)",
                                                "{lambda()#1}",
                                                "}, {",
                                                "}],",
                                                "\\\"",
                                                "\\\\",
                                                "\\u00e9",
                                                "\\ud83d\\ude00",
                                                "é",
                                                "😀",
                                                "\\n",
                                                "[[[",
                                                "ncclDevKernel_AllReduce",
                                                "train.py(9): f",
                                                ": ",
                                                ",",
                                                "}, {\\\"ph\\\": ",
                                                "]}",
                                                "\\/",
                                                "x"};
  std::string text = "\"";
  for (size_t i = below(4); i > 0; --i) text += one_of(kPieces);
  if (chance(0.02)) text += std::string(5000, 'y');
  return text + "\"";
}

std::string RandomDocument::number() {
  switch (below(7)) {
    case 0:
      return std::to_string(below(1000000));
    case 1:
      return fmt::format("{}.{:03}", 5101734511733 + below(1000), below(1000));
    case 2:
      return fmt::format("\"{}.5\"", below(1000));
    case 3:
      return fmt::format("{}e3", below(1000));
    case 4:
      return fmt::format("{}.{}", below(100), below(1000000000));
    default:
      return fmt::format("{}.{:03}", below(5000), below(1000));
  }
}

std::string RandomDocument::id() {
  return one_of<std::string>({"0", "1", "7", "\"7\"", "\"stream 7\"", "-1", "\"Spans\"", "\"\"", "4294967296"});
}

std::string RandomDocument::value(size_t depth) {
  switch (below(depth == 0 ? 4 : 7)) {
    case 0:
      return string();
    case 1:
      return number();
    case 2:
      return one_of<std::string>({"null", "true", "false", "-0", "[]", "{}"});
    case 3:
      return fmt::format("[{},{}{}]", below(100), space(), below(100));
    case 4:
      return fmt::format("[{},{}{}]", value(depth - 1), space(), value(depth - 1));
    case 5:
      return fmt::format("{{\"name\":{}{},{}\"id\": {}}}", space(), value(depth - 1), space(), value(depth - 1));
    default:
      return fmt::format("[{{\"name\": {}}}{},{}{{\"id\": {}}}]", value(depth - 1), space(), space(), value(depth - 1));
  }
}

std::string RandomDocument::args(const std::string& category) {
  std::vector<std::string> members;
  const auto add = [&](const std::string& key, const std::string& text) {
    if (chance(0.7)) members.push_back(fmt::format("\"{}\":{}{}", key, space(), text));
  };
  if (category == "kernel" || category == "cuda_runtime") {
    add("correlation", std::to_string(below(50)));
    add("External id", chance(0.1) ? "18446744073709551615" : std::to_string(below(50)));
    add("stream", chance(0.1) ? "\"0x0\"" : "7");
    add("grid", "[8, 1, 1]");
    add("block", "[128, 1,\n 1]");
    if (chance(0.2)) add("graph node id", std::to_string(below(9)));
  } else if (category == "python_function") {
    add("Python id", std::to_string(below(100)));
    add("Python parent id", chance(0.2) ? "null" : std::to_string(below(100)));
  } else if (category == "gpu_memcpy") {
    add("bytes", std::to_string(below(9) * 512));
  } else {
    add("External id", std::to_string(below(100)));
    add("Input Dims", one_of<std::string>({"[[2, 3], []]", "[]", "[[985728]]"}));
    add("Sequence number", std::to_string(below(9)));
    if (chance(0.1)) add("Call stack", "\"a.py(1): f;b.py(2): g\"");
  }
  if (chance(0.15)) {
    add("Collective name", "\"allreduce\"");
    add("Process Group Ranks", "\"[0, 1, ...]\"");
    add("In msg nelems", std::to_string(below(1000)));
  }
  if (chance(0.1)) add("finished", "false");
  if (chance(0.15)) add("odd", value(3));
  std::string out = "{" + space();
  for (size_t i = 0; i < members.size(); ++i) out += (i > 0 ? "," + space() : "") + members[i];
  return out + space() + "}";
}

std::string RandomDocument::event(bool unordered) {
  const std::string category = one_of<std::string>({"cpu_op", "kernel", "cuda_runtime", "python_function",
                                                    "user_annotation", "gpu_memcpy", "Operator", "brand_new"});
  const std::string phase =
      chance(0.7) ? "X"
                  : one_of<std::string>(unordered ? std::vector<std::string>{"C", "M", "X"}
                                                  : std::vector<std::string>{"B", "E", "C", "M", "s", "f", "i", "N"});
  std::vector<std::string> members;
  const auto add = [&](const std::string& key, const std::string& text) {
    if (chance(0.97)) members.push_back(fmt::format("\"{}\"{}:{}{}", key, chance(0.05) ? " " : "", space(), text));
  };
  add("ph", '"' + phase + '"');
  if (phase == "M") {
    add("name", one_of<std::string>({"\"process_name\"", "\"thread_name\"", "\"process_sort_index\""}));
    add("args", fmt::format("{{\"name\": {}}}", string()));
  } else if (phase == "C") {
    add("name", one_of<std::string>({"\"cpu.run\"", "\"sm__cycles\""}));
    add("args", fmt::format("{{\"{}\": {}}}", one_of<std::string>({"", "cores"}), below(100)));
  } else {
    add("cat", '"' + category + '"');
    add("name", string());
    if (chance(0.9)) add("args", args(category));
  }
  add("pid", id());
  add("tid", id());
  add("ts", number());
  if (phase == "X") add("dur", chance(0.03) ? "-3" : number());
  if (chance(0.3)) std::shuffle(members.begin() + (members.empty() ? 0 : 1), members.end(), random_);
  std::string out = "{" + space();
  for (size_t i = 0; i < members.size(); ++i) out += (i > 0 ? "," + space() : "") + members[i] + space();
  return out + "}";
}

std::vector<std::string> RandomDocument::events(size_t count) {
  pretty_ = chance(0.5);
  std::vector<std::string> events;
  for (size_t i = 0; i < count; ++i) {
    events.push_back(chance(0.02)
                         ? one_of<std::string>({"null", "7", "[1, [2]]", "\"}, {\"", "{}", "[{}, {\"ts\": 1}]"})
                         : event(false));
  }
  return events;
}

std::vector<std::string> RandomDocument::unordered_events(size_t count) {
  pretty_ = chance(0.5);
  std::vector<std::string> events;
  for (size_t i = 0; i < count; ++i) events.push_back(event(true));
  return events;
}

std::string RandomDocument::document(const std::vector<std::string>& events) {
  std::string array = "[" + space();
  for (size_t i = 0; i < events.size(); ++i) array += (i > 0 ? space() + "," + space() : "") + events[i];
  array += space() + "]";
  if (chance(0.2)) return array + (chance(0.5) ? "\n" : "");
  std::vector<std::string> members{
      "\"schemaVersion\": 1",
      R"("deviceProperties": [{"id": 0, "name": "GPU A"}, {"id": 1, "name": "GPU B"}])",
      R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}, {"pg_name": "1", "ranks": []}]})",
      "\"baseTimeNanoseconds\": 1790857026000000000",
      "\"host_name\": \"n1\"",
      "\"traceName\": \"/tmp/}]} x.json\""};
  std::erase_if(members, [&](const std::string&) { return chance(0.3); });
  std::shuffle(members.begin(), members.end(), random_);
  members.insert(members.begin() + static_cast<std::ptrdiff_t>(below(members.size() + 1)), "\"traceEvents\": " + array);
  std::string out = space() + "{" + space();
  for (size_t i = 0; i < members.size(); ++i) out += (i > 0 ? "," + space() : "") + members[i] + space();
  return out + "}" + space();
}

std::string RandomDocument::damage(std::string document) {
  for (size_t i = 1 + below(4); i > 0 && !document.empty(); --i) {
    const size_t at = below(document.size());
    switch (below(8)) {
      case 0:
        document[at] = static_cast<char>(below(256));
        break;
      case 1:
        document.erase(at, 1 + below(60));
        break;
      case 2:
        document.insert(at, one_of<std::string>({"\"", "\"\"", "\n", "\\", "{", "}", "[", "]", ",", "nan"}));
        break;
      case 3:
        document.insert(at, document.substr(below(document.size()), below(100)));
        break;
      case 4:
        document.insert(std::min(document.find('"', at), document.size()), "\"");
        break;
      case 5:
        if (chance(0.3)) document.resize(at);
        break;
      case 6:
        if (const size_t number = document.find("\"dur\":", at); number != std::string::npos) {
          document.replace(number, 6, "\"dur\": nan, \"was\":");
        }
        break;
      default:
        if (const size_t quote = document.find('"', at); quote != std::string::npos) document.erase(quote, 1);
    }
  }
  return document;
}

}  // namespace eroica::testkit
