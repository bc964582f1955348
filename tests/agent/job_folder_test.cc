#include "agent/job_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "agent/datagram_socket.h"
#include "agent/own_file.h"

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;

class JobFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/eroica-t-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    base_ = path;
  }
  void TearDown() override { fs::remove_all(base_); }

  [[nodiscard]] JobNote note(const std::string& job) const { return {job, true, mark_of(getpid())}; }
  /// As if it had been made long ago, as far as times can be set.
  static void age(const std::string& path, time_t seconds) {
    const time_t then = std::time(nullptr) - seconds;
    const timeval times[2] = {{then, 0}, {then, 0}};
    ASSERT_EQ(utimes(path.c_str(), times), 0);
  }
  static void leave_socket(const std::string& path) {
    Result<DatagramSocket> socket = DatagramSocket::bind(path, 100);
    ASSERT_TRUE(socket.ok());
  }

  std::string base_;
};

TEST_F(JobFolders, OfARunGoWithIt) {
  std::string sockets;
  std::string traces;
  {
    Result<JobFolder> folder = JobFolder::make({base_}, note("run-1"), "A=1\n");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    sockets = folder->sockets();
    traces = folder->traces();
    EXPECT_EQ(read_own_file(folder->kineto_config(), 0, 100), "A=1\n");
    const std::vector<FoundFolder> found = find_job_folders({base_}, std::nullopt);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].note.job, "run-1");
    EXPECT_EQ(found[0].owner, geteuid());
    EXPECT_FALSE(found[0].waits_for_agent);
  }
  EXPECT_FALSE(fs::exists(sockets));
  EXPECT_FALSE(fs::exists(traces));
}

TEST_F(JobFolders, OfAnAttachedJobStay) {
  const Result<std::string> path = open_job_folder(base_, note("job7"), "A=1\n");
  ASSERT_TRUE(path.ok()) << path.error().message;
  struct stat found {};
  ASSERT_EQ(stat(path->c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  {
    Result<JobFolder> folder = JobFolder::adopt(*path);
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    EXPECT_EQ(folder->note().job, "job7");
    EXPECT_EQ(JobFolder::adopt(*path).error().kind, Error::Kind::kAmbiguous);  // one watcher at a time
  }
  EXPECT_TRUE(fs::exists(*path));
  EXPECT_TRUE(JobFolder::adopt(*path).ok());
}

TEST_F(JobFolders, TheSameJobHasTheSameFolder) {
  const std::string first = open_job_folder(base_, note("job7"), "").value();
  EXPECT_EQ(open_job_folder(base_, note("job7"), "").value(), first);
  EXPECT_NE(open_job_folder(base_, note("job8"), "").value(), first);
}

TEST_F(JobFolders, WhatIsRemovedUnderAWatcherIsMadeAgain) {
  const std::string path = open_job_folder(base_, note("job7"), "A=1\n").value();
  Result<JobFolder> folder = JobFolder::adopt(path);
  ASSERT_TRUE(folder.ok());
  fs::remove_all(path);
  ASSERT_TRUE(folder->repair().ok());
  EXPECT_EQ(read_own_file(folder->kineto_config(), 0, 100), "A=1\n");
  EXPECT_TRUE(fs::is_directory(folder->traces()));
  EXPECT_EQ(JobFolder::adopt(path).error().kind, Error::Kind::kAmbiguous);  // still ours
  // Somebody may put another thing there.
  fs::remove_all(path);
  fs::create_directory(base_ + "/elsewhere");
  fs::create_directory_symlink(base_ + "/elsewhere", path);
  EXPECT_FALSE(folder->repair().ok());
  EXPECT_TRUE(fs::is_empty(base_ + "/elsewhere"));
}

TEST_F(JobFolders, StrangeOnesAreNoJobs) {
  const std::string good = open_job_folder(base_, note("job7"), "").value();
  fs::create_directory(base_ + "/eroica-job-empty0");
  fs::create_directory_symlink(good, base_ + "/eroica-job-link00");
  const std::string open = open_job_folder(base_, note("open"), "").value();
  ASSERT_EQ(chmod(open.c_str(), 0755), 0);
  const std::string linked = open_job_folder(base_, note("linked"), "").value();
  fs::rename(linked + "/job.json", base_ + "/note");
  fs::create_symlink(base_ + "/note", linked + "/job.json");
  const std::string large = open_job_folder(base_, note("large"), "").value();
  std::ofstream(large + "/job.json", std::ios::app) << std::string(100'000, ' ');
  const std::string pipe = open_job_folder(base_, note("pipe"), "").value();
  fs::remove(pipe + "/job.json");
  ASSERT_EQ(mkfifo((pipe + "/job.json").c_str(), 0600), 0);
  const std::vector<FoundFolder> found = find_job_folders({base_, base_ + "/none"}, std::nullopt);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, good);
  EXPECT_TRUE(find_job_folders({base_}, geteuid() + 1).empty());
}

TEST_F(JobFolders, AreCollectedWhenNobodyComesBack) {
  JobNote dead = note("dead");
  dead.maker.start_ticks += 1;  // an earlier process of that number
  const std::string unused = open_job_folder(base_, dead, "").value();
  EXPECT_FALSE(nobody_comes_back(unused));  // its job may not have started yet
  age(unused, 25 * 3600);
  EXPECT_TRUE(nobody_comes_back(unused));

  const std::string used = open_job_folder(base_, {"used", true, dead.maker}, "").value();
  leave_socket(used + "/probe-12-0123abcd");
  EXPECT_TRUE(nobody_comes_back(used));
  EXPECT_FALSE(fs::exists(used + "/probe-12-0123abcd"));
  EXPECT_TRUE(remove_job_folder(used));  // that it was used is known without the socket
  EXPECT_FALSE(fs::exists(used));

  const std::string ended = open_job_folder(base_, {"ended", true, dead.maker}, "").value();
  mark_used(ended);
  EXPECT_TRUE(nobody_comes_back(ended));
  const Result<DatagramSocket> alive = DatagramSocket::bind(ended + "/probe-13-0123abcd", 100);
  EXPECT_FALSE(nobody_comes_back(ended));  // a rank lives

  const std::string mine = open_job_folder(base_, note("mine"), "").value();
  mark_used(mine);
  age(mine, 25 * 3600);
  EXPECT_FALSE(nobody_comes_back(mine));  // the shell that made it may start another job

  JobNote elsewhere = note("elsewhere");
  elsewhere.maker.pid_namespace = "pid:[1]";
  const std::string foreign = open_job_folder(base_, elsewhere, "").value();
  mark_used(foreign);
  EXPECT_FALSE(nobody_comes_back(foreign));  // nothing is known of a process in another container
}

TEST_F(JobFolders, AreNotRemovedFromUnderANewJob) {
  JobNote dead = note("job7");
  dead.maker.start_ticks += 1;
  const std::string path = open_job_folder(base_, dead, "").value();
  mark_used(path);
  ASSERT_TRUE(nobody_comes_back(path));
  EXPECT_EQ(open_job_folder(base_, note("job7"), "").value(), path);  // just before it is removed
  EXPECT_FALSE(remove_job_folder(path));
  EXPECT_TRUE(fs::exists(path + "/job.json"));
  EXPECT_EQ(open_job_folder(base_, dead, "").value(), path);
  EXPECT_TRUE(remove_job_folder(path));
  EXPECT_TRUE(fs::is_empty(base_));
}

TEST_F(JobFolders, SocketsOfTheDeadAreRemovedAndOthersAreNot) {
  const std::string path = open_job_folder(base_, note("job7"), "").value();
  const Result<DatagramSocket> alive = DatagramSocket::bind(path + "/probe-1-00000001", 100);
  leave_socket(path + "/probe-2-00000002");
  leave_socket(path + "/steps-2-00000002");
  std::ofstream(path + "/stacks-2-00000002") << "x";
  std::ofstream(path + "/stacks-1-00000001") << "x";
  leave_socket(path + "/dynoconfigclient1234");
  EXPECT_EQ(remove_left_sockets(path), 1U);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("job.json", "kineto.conf", "traces", "probe-1-00000001",
                                                     "stacks-1-00000001"));
}

TEST(JobNote, ComesBackAsItWas) {
  const JobNote note{"job7", false, {12, 345, "pid:[4026531836]"}};
  const std::optional<JobNote> back = decode_note(encode_note(note));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->job, "job7");
  EXPECT_FALSE(back->profiling);
  EXPECT_EQ(back->maker, note.maker);
}

TEST(JobNote, BrokenOnesAreNone) {
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"schema":"eroica.job/1"})", R"({"schema":"eroica.job/1","job":"a/b"})",
        R"({"schema":"eroica.job/1","job":"../x"})", R"({"schema":"eroica.job/2","job":"a"})"}) {
    EXPECT_FALSE(decode_note(text)) << text;
  }
  EXPECT_EQ(decode_note(R"({"schema":"eroica.job/1","job":"a","maker":{"pid":1e30}})")->maker.pid, -1);
}

TEST(JobNote, ProcessesAreKnownByMoreThanTheirNumber) {
  ProcessMark mark = mark_of(getpid());
  EXPECT_EQ(liveness(mark), Liveness::kAlive);
  ++mark.start_ticks;
  EXPECT_EQ(liveness(mark), Liveness::kDead);
  mark.pid_namespace = "another";
  EXPECT_EQ(liveness(mark), Liveness::kUnknown);
  EXPECT_EQ(liveness({}), Liveness::kUnknown);
}

TEST(JobBases, AreShortEnoughForSockets) {
  std::map<std::string, std::string> variables;
  const Environment environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  EXPECT_THAT(job_bases(environment), ::testing::ElementsAre("/tmp"));
  variables["XDG_RUNTIME_DIR"] = "/" + std::string(60, 'x');
  EXPECT_THAT(job_bases(environment), ::testing::ElementsAre("/tmp"));
  variables["XDG_RUNTIME_DIR"] = "/var/tmp";
  EXPECT_THAT(job_bases(environment), ::testing::ElementsAre("/tmp", "/var/tmp"));
  variables["EROICA_JOBS_DIR"] = "/dev/shm";
  EXPECT_THAT(job_bases(environment), ::testing::ElementsAre("/dev/shm"));
}

TEST(JobEnvironment, DoesNotGrowWhenItIsSetTwice) {
  std::map<std::string, std::string> variables = {{"PYTHONPATH", "/mine"}};
  const Environment environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  const JobVariables job{"j", "/s", "/t", "/k", "/probe", true};
  for (int i = 0; i < 2; ++i) {
    for (const auto& [name, value] : job_environment(job, environment)) variables[name] = value;
    EXPECT_EQ(variables["PYTHONPATH"], "/probe/site:/mine");
  }
}

TEST(JobEnvironment, NcclsPluginIsTheUsersOwnWhereThereIsOne) {
  std::string users;
  const Environment environment = [&](const char* name) {
    return std::string_view(name) == "NCCL_PROFILER_PLUGIN" && !users.empty() ? users.c_str() : nullptr;
  };
  JobVariables job{"j", "/s", "/t", "/k", "/probe", true, "/lib/plugin.so"};
  const auto plugin = [&] {
    for (const auto& [name, value] : job_environment(job, environment)) {
      if (name == "NCCL_PROFILER_PLUGIN") return value;
    }
    return std::string();
  };
  EXPECT_EQ(plugin(), "/lib/plugin.so");
  users = "inspector";
  EXPECT_EQ(plugin(), "");
  users.clear();
  job.profiling = false;
  EXPECT_EQ(plugin(), "");
  job = {"j", "/s", "/t", "/k", "/probe", true};
  EXPECT_EQ(plugin(), "");
}

}  // namespace
}  // namespace eroica::testing
