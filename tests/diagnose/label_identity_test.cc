#include "diagnose/label_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eroica {
namespace {

/// A job whose ranks have these values of a label, host by host; an empty value: the rank lacks the label.
Job labelled(const std::vector<std::vector<std::string>>& hosts, const std::string& key) {
  Job job;
  for (size_t host = 0; host < hosts.size(); ++host) {
    job.words.push_back("node" + std::to_string(host));
    for (const std::string& value : hosts[host]) {
      RankFacts rank;
      rank.rank = static_cast<int32_t>(job.ranks.size());
      rank.host = static_cast<uint32_t>(job.words.size() - 1);
      rank.labels = static_cast<uint32_t>(job.label_sets.size());
      job.label_sets.emplace_back();
      if (!value.empty()) job.label_sets.back()[key] = value;
      job.ranks.push_back(rank);
    }
  }
  return job;
}

bool identity(const std::vector<std::vector<std::string>>& hosts, const std::string& key = "env.SITE") {
  return is_identity(labelled(hosts, key), key);
}

TEST(LabelIdentity, NamesThatAreKnown) {
  EXPECT_TRUE(identity({{"0", "0"}, {"1", "1"}}, "env.CUDA_VISIBLE_DEVICES"));
  EXPECT_TRUE(identity({{"a", "a"}, {"a", "b"}}, "env.LOCAL_RANK"));
  EXPECT_FALSE(identity({{"a", "a"}, {"a", "b"}}, "env.NCCL_IGNORE_CPU_AFFINITY"));
}

TEST(LabelIdentity, TheHostsName) {
  EXPECT_TRUE(identity({{"node0", "node0"}, {"node1", "node1"}}));
  EXPECT_FALSE(identity({{"ring", "ring"}, {"tree", "tree"}}));
}

TEST(LabelIdentity, AValueOfItsOwnOnEachOfSeveralHosts) {
  EXPECT_TRUE(identity({{"a", "a"}, {"b", "b"}, {"c", "c"}}));
  EXPECT_FALSE(identity({{"a", "a"}, {"b", "b"}, {"a", "a"}}));
}

TEST(LabelIdentity, ThePlaceOnTheHost) {
  EXPECT_TRUE(identity({{"0", "1", "2", "3"}, {"0", "1", "2", "3"}}));
  EXPECT_TRUE(identity({{"x", "x", "y", "y"}, {"x", "x", "y", "y"}}));
  EXPECT_TRUE(identity({{"a", "b", "c"}}));
  EXPECT_FALSE(identity({{"x", "x", "x", "y"}, {"x", "x", "x", "x"}}));
  EXPECT_FALSE(identity({{"", "", "", ""}, {"1", "1", "1", "1"}}));
}

}  // namespace
}  // namespace eroica
