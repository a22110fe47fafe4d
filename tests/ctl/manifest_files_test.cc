#include "ctl/manifest_files.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "base/fs.h"
#include "base/text.h"
#include "pipe.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::manifest_files_test {
namespace {

struct FindCase {
  std::string name;
  std::vector<std::string> words;  // below the folder, but "-"
  std::string found;               // those that are named by themselves with a "!"
  std::string mistake;             // in the only one; empty: none
};

class Found : public testing::TestWithParam<FindCase> {
 protected:
  Found() {
    for (const char* file : {"a.yaml", "b.json", "notes.txt", "deep/c.yml", ".git/d.yaml", "deep/.e.yaml",
                             "empty/notes.txt", "[x].yaml"}) {
      dir_.Write(file, "");
    }
  }
  tests::TempDir dir_;
};

TEST_P(Found, OnceAndInOrder) {
  std::vector<std::string> words, mistakes;
  for (const std::string& word : GetParam().words) words.push_back(word == "-" ? word : dir_ / word);
  std::vector<std::string> found;
  for (const ManifestPath& path : FindFiles(words, mistakes)) {
    std::string name =
        path.path.starts_with(dir_.path()) ? path.path.substr(dir_.path().size() + 1) : path.path;
    found.push_back((path.explicitly_named ? "!" : "") + name);
  }
  EXPECT_EQ(base::Join(found, " "), GetParam().found);
  EXPECT_EQ(mistakes.size(), GetParam().mistake.empty() ? 0U : 1U) << base::Join(mistakes, "\n");
  if (!mistakes.empty()) {
    EXPECT_NE(mistakes[0].find(GetParam().mistake), std::string::npos) << mistakes[0];
  }
}

TEST_ROWS(Rows, Found, {"File", {"notes.txt"}, "!notes.txt", ""}, {"StandardInput", {"-"}, "!-", ""},
          {"Folder", {""}, "[x].yaml a.yaml b.json deep/c.yml", ""},
          {"FolderOfNothing", {"empty"}, "", "no file to read is below this folder"},
          {"HiddenByName", {".git/d.yaml"}, "!.git/d.yaml", ""},
          {"Pattern", {"*.yaml"}, "[x].yaml a.yaml", ""}, {"PatternOfAFolder", {"dee*"}, "deep/c.yml", ""},
          {"PatternThatIsAFile", {"[x].yaml"}, "![x].yaml", ""},
          {"PatternOfNothing", {"*.toml"}, "", "no file matches this pattern"},
          {"NotThere", {"z.yaml"}, "", "there is no such file or folder"},
          {"Twice", {"a.yaml", "./a.yaml", "*.yaml"}, "!a.yaml [x].yaml", ""});

TEST_F(Found, BesideLinks) {
  for (const auto& [to, name] : {std::pair("none.yaml", "nowhere.yaml"),
                                 {"none.txt", "nowhere.txt"},
                                 {"deep", "folder.yaml"},
                                 {"a.yaml", "file.yaml"}}) {
    ASSERT_EQ(::symlink(to, (dir_ / name).c_str()), 0);
  }
  std::vector<std::string> mistakes;
  EXPECT_EQ(FindFiles({dir_.path()}, mistakes, [](const std::string&) { return true; }).size(), 7U);
  EXPECT_EQ(mistakes, std::vector<std::string>{dir_ / "nowhere.yaml" + ": No such file or directory"});
}

// Another user's folder is named, and does not end the walk.
TEST_F(Found, BehindAFolderThatCannotBeRead) {
  dir_.Write("closed/f.yaml", "");
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir_ / "closed").c_str(), 0700), 0);
  std::vector<std::string> mistakes;
  ::setfsuid(65534);
  ASSERT_EQ(::setfsuid(-1), 65534) << "the tests run as root";
  const std::size_t found = FindFiles({dir_.path()}, mistakes).size();
  ::setfsuid(0);
  EXPECT_EQ(found, 4U);
  EXPECT_EQ(mistakes, std::vector<std::string>{dir_ / "closed" + ": Permission denied"});
}

// A long file of data in a folder is passed over, as a short one is; a manifest is not.
TEST(ManifestFiles, ThatAreLongAndNoManifestsAreLeftOut) {
  tests::TempDir dir;
  dir.Write("data.json", R"({"packages": {"a": ")" + std::string(1000, 'a') + "\"}}");
  dir.Write("list.json",
            R"({"apiVersion": "v1", "kind": "List", "items": [{"a": ")" + std::string(1000, 'a') + "\"}]}");
  std::vector<std::string> mistakes;
  const std::vector<ManifestPath> paths = FindFiles({dir.path()}, mistakes);
  manifest::ReadOptions options;
  options.limits.bytes = 500;
  ReadManifestFiles(
      {}, paths, options,
      [&](const ManifestFile& file) {
        mistakes.insert(mistakes.end(), file.mistakes.begin(), file.mistakes.end());
      },
      mistakes);
  EXPECT_FALSE(mistakes.empty());
  for (const std::string& mistake : mistakes) EXPECT_TRUE(mistake.starts_with(dir / "list.json:")) << mistake;
}

TEST(ManifestFiles, ComeInTheirOrderWithTheirMistakes) {
  tests::TempDir dir;
  std::vector<ManifestPath> paths;
  for (int i = 0; i < 200; i++) {
    const std::string name = std::to_string(1000 + i) + ".yaml";
    paths.push_back({dir.Write(name, i == 100 ? "kind: [\n" : "apiVersion: v1\nkind: ConfigMap\n")});
  }
  std::vector<std::string> names, mistakes, of_paths;
  ReadManifestFiles(
      {}, paths, {},
      [&](const ManifestFile& file) {
        names.push_back(file.name);
        mistakes.insert(mistakes.end(), file.mistakes.begin(), file.mistakes.end());
      },
      of_paths);
  EXPECT_TRUE(of_paths.empty()) << base::Join(of_paths, "\n");
  ASSERT_EQ(names.size(), paths.size());
  for (std::size_t i = 0; i < names.size(); i++) EXPECT_EQ(names[i], paths[i].path);
  ASSERT_EQ(mistakes.size(), 1U) << base::Join(mistakes, "\n");
  EXPECT_TRUE(mistakes[0].starts_with(dir / "1100.yaml:")) << mistakes[0];
}

// Writes `text` into a pipe on a thread of its own.
class Writer {
 public:
  explicit Writer(const std::string& text) : ends_(tests::Pipe()), thread_([this, &text] { Write(text); }) {}
  ~Writer() { thread_.join(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  std::string path() const { return tests::PathOf(ends_.first); }

 private:
  void Write(const std::string& text) {
    std::ofstream(tests::PathOf(ends_.second)) << text;
    ends_.second.Close();
  }

  std::pair<base::Fd, base::Fd> ends_;
  std::thread thread_;
};

TEST(ManifestFiles, APipeIsReadOnce) {
  std::string text;
  for (int i = 0; i < 2000; i++)
    text += "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: r.io/a:v" +
            std::to_string(i) + "}]}\n---\n";
  for (std::size_t most : {text.size(), std::size_t{1000}}) {
    manifest::ReadOptions options;
    options.limits.bytes = most;
    Writer pipe(text);
    std::size_t pods = 0;
    std::vector<std::string> mistakes;
    ReadManifestFiles(
        {}, {{pipe.path(), true}}, options,
        [&](const ManifestFile& file) {
          pods += file.manifests.pods;
          mistakes.insert(mistakes.end(), file.mistakes.begin(), file.mistakes.end());
        },
        mistakes);
    EXPECT_EQ(pods, 2000U) << most;
    EXPECT_TRUE(mistakes.empty()) << base::Join(mistakes, "\n");
  }
  Writer pipe(text);
  auto read = ReadFileOrStdin(pipe.path(), text.size());
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->size(), text.size());
}

// Nobody may ever write to it.
TEST(ManifestFiles, AFifoByItsNameIsNotOpened) {
  tests::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "a.yaml").c_str(), 0600), 0);
  EXPECT_FALSE(ReadFileOrStdin(dir / "a.yaml", 100));
  std::vector<std::string> mistakes;
  ReadManifestFiles(
      {}, {{dir / "a.yaml", true}}, {},
      [&](const ManifestFile& file) { EXPECT_EQ(file.mistakes.size(), 1U); }, mistakes);
}

TEST(ManifestFiles, AStopEndsThem) {
  tests::TempDir dir;
  std::stop_source stop;
  stop.request_stop();
  base::Call call;
  call.stop = stop.get_token();
  int taken = 0;
  std::vector<std::string> mistakes;
  ReadManifestFiles(
      call, {{dir.Write("a.yaml", "")}}, {}, [&](const ManifestFile&) { taken++; }, mistakes);
  EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace prefetch::ctl::manifest_files_test
