// Whole machines, as files that stand in trees/NAME.tree, and what is sampled of them: trees/NAME.golden. With
// EROICA_WRITE_GOLDEN set the latter are written anew.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "sample/host_sampler.h"

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'790'000'000 * kSecond;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A tree, laid out below a folder of its own. A section is "== PATH", for the second reading "== PATH @1", or for a
/// link "== PATH -> TARGET".
class MachineTree {
 public:
  explicit MachineTree(const std::string& text) {
    root_ = ::testing::TempDir() + "eroica-tree-XXXXXX";
    if (mkdtemp(root_.data()) == nullptr) root_.clear();
    std::istringstream lines(text);
    std::string* into = nullptr;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("== ")) {
        into = begin(line.substr(3));
      } else if (into != nullptr) {
        *into += line + "\n";
      }
    }
    write(first_);
  }
  MachineTree(const MachineTree&) = delete;
  MachineTree& operator=(const MachineTree&) = delete;
  ~MachineTree() {
    if (!root_.empty()) fs::remove_all(root_);
  }

  void go_on() const { write(second_); }
  [[nodiscard]] SystemFiles files() const { return SystemFiles(root_); }
  /// Takes a file away before anything is read.
  void remove(const std::string& path) const { fs::remove(root_ + path); }
  [[nodiscard]] std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& [path, text] : first_) all.push_back(path);
    return all;
  }
  void put(const std::string& path, const std::string& text) const { write({{path, text}}); }

 private:
  std::string* begin(const std::string& title) {
    if (const size_t arrow = title.find(" -> "); arrow != std::string::npos) {
      const fs::path path = root_ + title.substr(0, arrow);
      fs::create_directories(path.parent_path());
      fs::create_symlink(title.substr(arrow + 4), path);
      return nullptr;
    }
    const size_t mark = title.find(" @1");
    return mark == std::string::npos ? &first_[title] : &second_[title.substr(0, mark)];
  }
  void write(const std::map<std::string, std::string>& files) const {
    for (const auto& [path, text] : files) {
      fs::create_directories(fs::path(root_ + path).parent_path());
      std::ofstream(root_ + path, std::ios::binary) << text;
    }
  }

  std::string root_;
  std::map<std::string, std::string> first_;
  std::map<std::string, std::string> second_;
};

const SampledJob kJob{"node", {{0, 100, "node"}, {1, 200, "node"}}, 10};

/// A second of it.
std::string sampled(const MachineTree& tree) {
  HostSampler sampler(tree.files(), kJob, [] { return int64_t{0}; });
  sampler.sample(kBegin);
  tree.go_on();
  sampler.finish(kBegin + kSecond);
  std::set<std::string> lines;
  for (const SampleSeries& series : sampler.samples().series) {
    std::string line = fmt::format("{} | {} | {} |", series.entity, series.metric, series.unit);
    for (const Sample& sample : series.samples) line += fmt::format(" {:.6g}", sample.value);
    lines.insert(line);
  }
  for (const std::string& missing : sampler.findings().missing) lines.insert("~ missing: " + missing);
  for (const HostSampler::ForeignUse& use : sampler.foreign(3, 0.1)) {
    lines.insert(fmt::format("~ foreign: {} ({}) {:.2f}", use.name, use.pid, use.cores));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class MachineTrees : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string path(const char* ending) {
    return fmt::format("{}/tests/sample/trees/{}.{}", EROICA_SOURCE_DIR, GetParam(), ending);
  }
};

TEST_P(MachineTrees, AreReadAsTheirGoldenSamplesSay) {
  const std::string text = text_of(path("tree"));
  ASSERT_NE(text, "");
  const std::string found = sampled(MachineTree(text));
  if (std::getenv("EROICA_WRITE_GOLDEN") != nullptr) std::ofstream(path("golden")) << found;
  EXPECT_EQ(found, text_of(path("golden")));
}

// Of whatever files: they cost their own signals at most.
TEST_P(MachineTrees, AMissingEmptyOrOddFileIsAMissingSignal) {
  const std::string text = text_of(path("tree"));
  const std::set<std::string> all = [&] {
    std::istringstream lines(sampled(MachineTree(text)));
    std::set<std::string> names;
    for (std::string line; std::getline(lines, line);) names.insert(line.substr(0, line.rfind('|')));
    return names;
  }();
  const std::vector<std::string> paths = MachineTree(text).paths();
  constexpr std::array<const char*, 4> kInstead = {nullptr, "", "-1\n", "\xff\xfe 18446744073709551616 ((((\n\n"};
  constexpr size_t kRounds = 8;  // in each every eighth file
  for (size_t round = 0; round < kRounds; ++round) {
    const MachineTree tree(text);
    for (size_t i = round; i < paths.size(); i += kRounds) {
      const char* instead = kInstead.at((i / kRounds + round) % kInstead.size());
      if (instead == nullptr) tree.remove(paths[i]);
      if (instead != nullptr) tree.put(paths[i], instead);
    }
    std::istringstream lines(sampled(tree));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("~")) continue;
      EXPECT_TRUE(all.contains(line.substr(0, line.rfind('|')))) << line << " in round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, MachineTrees, ::testing::Values("cgroup-v1", "cgroup-v2", "bare-metal", "container"),
                         [](const auto& tree) {
                           std::string name = tree.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace eroica::testing
