// How fast a trace is read, and what it then holds in memory: a recorded trace, its events repeated with shifted times
// up to EROICA_BENCH_BYTES (2 GB) of text, plain and as .gz. The files stay in EROICA_BENCH_DIR (/tmp).

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "trace/kineto_reader.h"

namespace {

namespace fs = std::filesystem;

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string text_of(const std::string& path) {
  std::string text;
  auto file = eroica::open_file(path);
  if (!file.ok()) return text;
  const auto source = eroica::decompress(std::move(*file));
  std::vector<char> buffer(size_t{1} << 20);
  for (auto got = source->read(buffer); got.ok() && *got > 0; got = source->read(buffer)) {
    text.append(buffer.data(), *got);
  }
  return text;
}

/// The events' text and where in it the times stand.
struct Template {
  std::string head, events, tail;
  std::vector<std::pair<size_t, size_t>> times;  ///< position and length of whole microseconds
  int64_t period_us = 0;
};

Template make_template(const std::string& text) {
  Template made;
  const size_t begin = text.find('[', text.find("\"traceEvents\"")) + 1;
  const size_t end = text.rfind(']');
  made.head = text.substr(0, begin);
  made.events = text.substr(begin, end - begin);
  made.tail = text.substr(end);
  int64_t first = INT64_MAX;
  int64_t last = 0;
  const std::string key = "\"ts\": ";
  for (size_t at = made.events.find(key); at != std::string::npos; at = made.events.find(key, at)) {
    at += key.size();
    int64_t time = 0;
    const char* from = made.events.data() + at;
    const char* to = std::from_chars(from, made.events.data() + made.events.size(), time).ptr;
    made.times.emplace_back(at, to - from);
    first = std::min(first, time);
    last = std::max(last, time);
  }
  made.period_us = last - first + 1000;
  return made;
}

/// The path of the large plain trace, made if it is not there yet; empty without a recorded one to make it of.
std::string plain_trace() {
  const std::string source = setting("EROICA_SHARED", "../shared") + "/data/traces/cuda-v100-ddp-large/rank1.json.gz";
  const size_t wanted = std::stoull(setting("EROICA_BENCH_BYTES", "2000000000"));
  const fs::path path =
      fs::path(setting("EROICA_BENCH_DIR", "/tmp")) / ("eroica-read-" + std::to_string(wanted) + ".json");
  if (fs::exists(path)) return path;
  const std::string text = text_of(source);
  if (text.empty()) return {};
  const Template made = make_template(text);
  std::ofstream out(path.string() + ".part", std::ios::binary);
  out << made.head;
  size_t written = 0;
  for (int64_t round = 0; written < wanted; ++round) {
    std::string events = made.events;
    for (const auto& [at, length] : made.times) {
      int64_t time = 0;
      std::from_chars(events.data() + at, events.data() + at + length, time);
      std::to_chars(events.data() + at, events.data() + at + length, time + round * made.period_us);
    }
    if (round > 0) out << ',';
    out << events;
    written += events.size();
  }
  out << made.tail;
  out.close();
  fs::rename(path.string() + ".part", path);
  return path;
}

std::string gzip_trace() {
  const std::string plain = plain_trace();
  if (plain.empty() || fs::exists(plain + ".gz")) return plain.empty() ? plain : plain + ".gz";
  const std::string command = "gzip -6 -c '" + plain + "' > '" + plain + ".gz.part'";
  if (std::system(command.c_str()) != 0) return {};  // NOLINT: a benchmark on the developer's own machine
  fs::rename(plain + ".gz.part", plain + ".gz");
  return plain + ".gz";
}

size_t resident_bytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void read(benchmark::State& state, const std::string& path) {
  if (path.empty()) {
    state.SkipWithError("no recorded trace to make a large one of (EROICA_SHARED)");
    return;
  }
  uint64_t bytes = 0;
  uint64_t events = 0;
  for (auto _ : state) {
    const size_t before = resident_bytes();
    auto file = eroica::open_file(path);
    auto trace = file.ok() ? eroica::read_kineto(std::move(*file)) : file.error();
    if (!trace.ok()) {
      state.SkipWithError(trace.error().message.c_str());
      return;
    }
    bytes += trace->text_bytes;
    events += trace->timed_events;
    state.counters["resident_per_event"] =
        static_cast<double>(resident_bytes() - before) / static_cast<double>(trace->timed_events);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["timed_events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

void BM_ReadPlain(benchmark::State& state) { read(state, plain_trace()); }
void BM_ReadGzip(benchmark::State& state) { read(state, gzip_trace()); }

BENCHMARK(BM_ReadPlain)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3);
BENCHMARK(BM_ReadGzip)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3);

}  // namespace
