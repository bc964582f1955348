#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "store/schema.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    std::string folder = (fs::temp_directory_path() / "eroica-store-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    path_ = folder_ + "/a.db";
  }
  ~StoreTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Store> open() {
    Result<std::unique_ptr<Store>> store = Store::open(path_);
    EXPECT_TRUE(store.ok()) << (store ? "" : store.error().message);
    return std::move(*store);
  }
  static Incident incident(int64_t id, const std::string& tenant = "t") {
    Incident one;
    one.id = id;
    one.tenant = tenant;
    one.job = "j";
    one.detected_unix_ns = one.told_unix_ns = id * 10 * kSecond;
    return one;
  }
  static StoredDocument document(int64_t id, int64_t incident, size_t bytes) {
    std::string json(bytes, 'x');
    uint32_t dice = static_cast<uint32_t>(id);
    for (char& c : json) c = static_cast<char>('a' + (dice = dice * 1664525 + 1013904223) / (1U << 28));
    return {id, "t", "j", "h", incident, id * kSecond, false, json};
  }

  std::string folder_;
  std::string path_;
};

TEST_F(StoreTest, KeepsWhatWasWritten) {
  {
    const auto store = open();
    StoreBatch batch;
    batch.jobs.push_back({"t", "j", 1, 2, 8});
    batch.incidents.push_back(incident(1));
    batch.documents.push_back(document(1, 1, 1000));
    batch.senders.push_back({"t", "s", 17, 5});
    ASSERT_TRUE(store->write(batch).ok());
    ASSERT_TRUE(store->add_feedback({1, 5, "me", Verdict::kOtherCause, "gpu.ecc", "it was \"this\""}).ok());
    ASSERT_TRUE(store->add_change({0, "t", 5, "me", "driver", {"j", "k*"}, "https://t", 0}, std::nullopt).ok());
    ASSERT_TRUE(store->add_token({"hash", "me", "admin", "", 1, 0}).ok());
    ASSERT_TRUE(store->set_policy("t", {"a = 1", "me", 3}).ok());
  }
  const auto store = open();
  EXPECT_EQ(store->incident(1)->value().job, "j");
  EXPECT_EQ(store->document(1)->value().json, document(1, 1, 1000).json);
  EXPECT_EQ(store->documents("t", "j", 1, 10)->size(), 1U);
  EXPECT_EQ(store->senders()->at(0).number, 17);
  EXPECT_EQ(store->feedback(1)->at(0).verdict, Verdict::kOtherCause);
  EXPECT_EQ(store->changes("t", 0, 10, 9)->at(0).jobs, (std::vector<std::string>{"j", "k*"}));
  EXPECT_EQ(store->token("hash")->value().name, "me");
  EXPECT_EQ(store->policy("t")->value().toml, "a = 1");
  EXPECT_EQ(*store->next_incident(), 2);
  EXPECT_EQ(*store->next_document(), 2);
  EXPECT_FALSE(store->incident(2)->has_value());
}

TEST_F(StoreTest, IsItsOwnersAlone) {
  const auto store = open();
  for (const auto& file : fs::directory_iterator(folder_)) {
    struct stat status {};
    ASSERT_EQ(stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0U) << file.path();
  }
}

TEST_F(StoreTest, ABatchIsWrittenWholeOrNotAtAll) {
  const auto store = open();
  StoreBatch batch;
  batch.documents.push_back(document(1, 0, 10));
  ASSERT_TRUE(store->write(batch).ok());
  batch.incidents.push_back(incident(1));
  EXPECT_FALSE(store->write(batch).ok());  // the document's number is taken
  EXPECT_FALSE(store->incident(1)->has_value());
  batch.documents.clear();
  EXPECT_TRUE(store->write(batch).ok());
}

TEST_F(StoreTest, ALockedFileIsAnErrorThatPasses) {
  const auto store = open();
  StoreBatch batch;
  batch.incidents.push_back(incident(1));
  {
    auto other = Database::open(path_, 0).value();
    Transaction holding(*other);
    const Status status = store->write(batch);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("locked"));
    EXPECT_EQ(status.error().kind, Error::Kind::kWrite);
    EXPECT_TRUE(store->incident(1).ok());
  }
  EXPECT_TRUE(store->write(batch).ok());
}

TEST_F(StoreTest, AFileThatCannotGrowIsAnErrorThatPasses) {
  const auto made = open();
  auto file = Database::open(path_, 0).value();
  file->run("PRAGMA max_page_count = 1; CREATE TABLE large (x TEXT)");
  Statement(*file, "INSERT INTO large VALUES (?)").bind(std::string_view("a")).step();
  {
    Transaction transaction(*file);
    Statement(*file, "INSERT INTO large VALUES (?)").bind(std::string(1 << 20, 'x')).step();
    const Status status = transaction.commit();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("full"));
  }
  file->run("PRAGMA max_page_count = 1000000");
  Transaction transaction(*file);
  file->run("CREATE TABLE later (x TEXT)");
  EXPECT_TRUE(transaction.commit().ok());
}

TEST_F(StoreTest, SaysWhatIsWrongWithAFile) {
  std::ofstream(path_) << "this is a diary, and no database of anything at all";
  Result<std::unique_ptr<Store>> store = Store::open(path_);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("no database"));
  EXPECT_FALSE(Store::open(folder_).ok());
  EXPECT_FALSE(Store::open(folder_ + "/none/a.db").ok());
}

TEST_F(StoreTest, ADamagedFileIsNoticedAtTheStart) {
  {
    const auto store = open();
    StoreBatch batch;
    for (int64_t id = 1; id <= 50; ++id) batch.documents.push_back(document(id, 0, 20'000));
    ASSERT_TRUE(store->write(batch).ok());
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  const auto size = static_cast<int64_t>(fs::file_size(path_));
  for (int64_t at = 8192; at < size; at += 4096) {  // each page but the first
    file.seekp(at);
    file.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
  }
  file.close();
  const Result<std::unique_ptr<Store>> store = Store::open(path_);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("damaged"));
}

TEST_F(StoreTest, AFileOfANewerVersionIsLeftAlone) {
  open();
  auto file = Database::open(path_, 0).value();
  file->run("PRAGMA user_version = 1000");
  ASSERT_TRUE(file->status().ok());
  const Result<std::unique_ptr<Store>> store = Store::open(path_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, Error::Kind::kUnsupported);
}

TEST_F(StoreTest, ForgetsByAge) {
  const auto store = open();
  StoreBatch batch;
  for (int64_t id = 1; id <= 500; ++id) {
    Incident one = incident(id);
    one.closed_unix_ns = id == 100 ? 0 : id * kSecond;
    batch.incidents.push_back(one);
    batch.documents.push_back(document(id, id, 10));
  }
  ASSERT_TRUE(store->write(batch).ok());
  Retention retention;
  retention.most_age_ns = 100 * kSecond;
  while (*store->forget(retention, 500 * kSecond) > 0) {
  }
  EXPECT_FALSE(store->incident(399)->has_value());
  EXPECT_TRUE(store->incident(100)->has_value()) << "it is not closed";
  EXPECT_TRUE(store->incident(400)->has_value());
  EXPECT_FALSE(store->document(399)->has_value());
  EXPECT_TRUE(store->document(400)->has_value());
}

TEST_F(StoreTest, ForgetsTheOldestBeyondASize) {
  const auto store = open();
  StoreBatch batch;
  for (int64_t id = 1; id <= 600; ++id) batch.documents.push_back(document(id, 0, 10'000));
  ASSERT_TRUE(store->write(batch).ok());
  const int64_t before = *store->bytes();
  Retention retention;
  retention.most_bytes = before / 2;
  while (*store->forget(retention, 601 * kSecond) > 0) {
  }
  EXPECT_LE(*store->bytes(), before / 2);
  EXPECT_TRUE(store->document(600)->has_value());
  EXPECT_FALSE(store->document(1)->has_value());
  EXPECT_EQ(*store->next_document(), 601);
}

TEST_F(StoreTest, TenantsSeeTheirOwn) {
  const auto store = open();
  StoreBatch batch;
  batch.incidents = {incident(1, "a"), incident(2, "b"), incident(3, "a")};
  ASSERT_TRUE(store->write(batch).ok());
  IncidentFilter filter;
  filter.tenant = "a";
  EXPECT_EQ(store->incidents(filter)->size(), 2U);
  filter.before_id = 3;
  EXPECT_EQ(store->incidents(filter)->at(0).id, 1);
  ASSERT_TRUE(store->add_change({0, "b", 5, "me", "x", {}, "", 0}, std::nullopt).ok());
  ASSERT_TRUE(store->add_change({0, "", 6, "me", "y", {}, "", 0}, std::nullopt).ok());
  EXPECT_EQ(store->changes("a", 0, 10, 9)->size(), 1U);
}

}  // namespace
}  // namespace eroica
