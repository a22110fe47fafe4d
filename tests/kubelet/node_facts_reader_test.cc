#include "kubelet/node_facts_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "kubelet/kubelet_node.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::kubelet::node_facts_reader_test {
namespace {

namespace fs = std::filesystem;
using kubelet_node::kHead;
using kubelet_node::Low;
using kubelet_node::LowOf;
using kubelet_node::Node;
using kubelet_node::Source;

// How often this process called read(2) since it began (proc(5), /proc/pid/io).
std::uint64_t ReadCalls() {
  auto io = base::ReadFile("/proc/self/io", 4096);
  EXPECT_TRUE(io.ok());
  if (!io) return 0;
  std::size_t at = io->find("syscr: ");
  return std::strtoull(io->c_str() + at + 7, nullptr, 10);
}

struct NodeFactsReaderTest : testing::Test {
  Node node;
};
using DropIns = NodeFactsReaderTest;

TEST_F(NodeFactsReaderTest, NothingNamedAndNothingUsualIsNoProblem) {
  for (const NodeFacts& facts : {node.Reader().Read(), NodeFactsReader({}, "", {}).Read()}) {
    EXPECT_TRUE(facts.problems.empty());
    EXPECT_FALSE(facts.gc);
    EXPECT_FALSE(facts.settings.configuration_known);
  }
}

TEST_F(NodeFactsReaderTest, CommandLineNamesFilesOfTheHost) {
  node.Write("host/c", Low(70));
  node.Write("host/d/1.conf", kHead + "maxPods: 5\nimageGCHighThresholdPercent: 75\n");
  node.AddProcess("1", {"/sbin/init"}, "systemd");
  node.AddProcess("77", {"/usr/bin/kubelet", "--config=/c", "--config-dir", "/d", "--root-dir=/r"});
  NodeFactsReader reader = node.Reader();
  NodeFacts facts = reader.Read();
  EXPECT_EQ(base::Join(facts.problems, "\n"), "");
  EXPECT_EQ(facts.gc, (GcRules{.high_percent = 75, .low_percent = 70}));
  EXPECT_EQ(facts.root, node / "host/r");
  EXPECT_EQ(Source(facts, "verification"), node / "host/c");
  EXPECT_EQ(Source(facts, "configFile"), "command line");
  EXPECT_EQ(Source(facts, "imageGC"), node / "host/d/1.conf");
  ASSERT_TRUE(reader.command_line());
  EXPECT_EQ(reader.command_line()->config, "/c");
}

TEST_F(NodeFactsReaderTest, DeclaredPathsAreOursAndTheRestIsTheCommandLines) {
  node.Write("ours", Low(60));
  node.Write("host/c", Low(70));
  node.Write("host/d/1.conf", kHead + "imageMaximumGCAge: 24h\n");
  node.AddProcess("77", {"kubelet", "--config=/c", "--config-dir=/d"});
  NodeFacts facts = node.Reader({.config_file = node / "ours"}).Read();
  EXPECT_EQ(LowOf(facts), "60");
  EXPECT_EQ(facts.gc->maximum_age, std::chrono::hours(24));
  EXPECT_EQ(Source(facts, "configFile"), "declared");
  EXPECT_EQ(facts.contradictions.size(), 1U);
}

TEST_F(NodeFactsReaderTest, RelativePathsAreBelowKubeletsWorkingDirectory) {
  node.Write("host/work/c", Low(70));
  node.AddProcess("77", {"kubelet", "--config=c"});
  NodeFacts without = node.Reader().Read();
  ASSERT_EQ(without.problems.size(), 1U);
  EXPECT_NE(without.problems[0].find("relative path c"), std::string::npos) << without.problems[0];
  fs::create_symlink("/work", node / "proc/77/cwd");
  EXPECT_EQ(LowOf(node.Reader().Read()), "70");
}

// kubelet runs as process 77 with "/a", whose low threshold is 70; "/b" has 60.
NodeFactsReader ReaderOfTwoFiles(Node& node) {
  node.Write("host/a", Low(70));
  node.Write("host/b", Low(60));
  node.AddProcess("77", {"kubelet", "--config=/a"});
  NodeFactsReader reader = node.Reader();
  EXPECT_EQ(LowOf(reader.Read()), "70");
  return reader;
}

// An upgrade: stopped, and started half a minute later. There is a look every two seconds.
TEST(NodeFactsReader, AKubeletThatComesBackIsFoundByTheNextLook) {
  for (int looks_away : {1, 3, 15, 29, 55}) {
    SCOPED_TRACE(looks_away);
    Node node;
    NodeFactsReader reader = ReaderOfTwoFiles(node);
    node.RemoveProcess("77");
    for (int i = 0; i < looks_away; i++) reader.Read();
    node.AddProcess("78", {"kubelet", "--config=/b"}, "kubelet", "9000");
    EXPECT_EQ(LowOf(reader.Read()), "60");
  }
}

struct FoundCase {
  std::string name;
  std::vector<std::string> arguments;
  std::string process_name;
  std::string uid;
  std::string pids;
  char state;
  bool found;
};

TEST_TABLE(KubeletFound, OrNot, FoundCase) {
  Node node;
  node.AddProcess("77", row.arguments, row.process_name);
  node.SetStat("77", row.process_name, row.state, "4242");
  node.SetStatus("77", row.uid, row.pids);
  NodeFactsReader reader = node.Reader();
  EXPECT_TRUE(reader.Read().problems.empty());
  EXPECT_EQ(reader.command_line().has_value(), row.found);
}

const std::string kMe = std::to_string(::geteuid());
const std::string kUntrusted = std::to_string(::geteuid() + 1000);

TEST_ROWS(Processes, KubeletFound, {"Kubelet", {"/usr/bin/kubelet"}, "kubelet", "0", "77", 'S', true},
          {"OfOurUser", {"kubelet"}, "kubelet", kMe, "77", 'R', true},
          {"Hyperkube", {"/hyperkube", "kubelet"}, "hyperkube", "0", "77", 'S', true},
          {"Dead", {}, "kubelet", "0", "77", 'Z', false},
          {"OfSomebody", {"kubelet"}, "kubelet", kUntrusted, "77", 'S', false},
          {"InAContainer", {"kubelet"}, "kubelet", "0", "77\t1", 'S', false},
          {"OnlyItsVersion", {"kubelet", "--version"}, "kubelet", "0", "77", 'S', false},
          {"OtherProgram", {"kubelet"}, "sh", "0", "77", 'S', false},
          {"OtherArguments", {"sh"}, "kubelet", "0", "77", 'S', false},
          {"NameWithBrackets", {"kubelet"}, "kubelet) S 1 (", "0", "77", 'S', false});

TEST_F(NodeFactsReaderTest, CommandLineWithoutFilesMeansDefaultsAndNoGuess) {
  node.Write("host/var/lib/kubelet/config.yaml", Low(70));
  EXPECT_EQ(LowOf(node.Reader().Read()), "70");
  node.AddProcess("77", {"kubelet", "--image-gc-high-threshold=90"});
  NodeFacts facts = node.Reader().Read();
  EXPECT_EQ(facts.gc, (GcRules{.high_percent = 90, .low_percent = 80}));
}

// Around its restart, and when it begins a mount or a probe, a second process looks like it for a moment.
TEST_F(NodeFactsReaderTest, AProcessThatIsJustBegunIsNoSecondKubelet) {
  const std::string ticks = std::to_string(::sysconf(_SC_CLK_TCK) * 1000);
  node.Write("proc/uptime", "1000.40 3000.00\n");
  node.Write("host/a", Low(70));
  node.Write("host/b", Low(60));
  NodeFactsReader reader = node.Reader();
  node.AddProcess("77", {"kubelet", "--config=/a"}, "kubelet", "100");
  node.AddProcess("78", {"kubelet", "--config=/b"}, "kubelet", ticks);
  EXPECT_EQ(LowOf(reader.Read()), "70") << "the second is 0.4 s old";
  node.RemoveProcess("77");
  EXPECT_EQ(LowOf(reader.Read()), "60") << "the first has ended";
  // Both are young: nobody knows yet, and the next look does.
  node.RemoveProcess("78");
  node.AddProcess("79", {"kubelet", "--config=/a"}, "kubelet", ticks);
  node.AddProcess("80", {"kubelet", "--config=/a"}, "kubelet", ticks);
  EXPECT_EQ(LowOf(reader.Read()), "60") << "what it ran with last stands";
  node.RemoveProcess("80");
  EXPECT_EQ(LowOf(reader.Read()), "70");
}

TEST_F(NodeFactsReaderTest, AChildOfKubeletIsNoSecondKubelet) {
  node.Write("proc/uptime", "1000.40 3000.00\n");
  node.Write("host/a", Low(70));
  node.AddProcess("77", {"kubelet", "--config=/a"}, "kubelet", "100");
  node.AddProcess("78", {"kubelet", "--config=/a"}, "kubelet", "200");
  node.SetStat("78", "kubelet", 'S', "200", "77");
  EXPECT_EQ(LowOf(node.Reader().Read()), "70");
}

TEST_F(NodeFactsReaderTest, SeveralKubeletsAreAProblemUntilOneIsDeclared) {
  node.Write("host/var/lib/kubelet/config.yaml", Low(70));
  node.Write("ours", Low(60));
  node.AddProcess("77", {"kubelet", "--config=/a"});
  node.AddProcess("78", {"kubelet", "--config=/b"});
  NodeFacts facts = node.Reader().Read();
  EXPECT_EQ(facts.problems.size(), 1U);
  EXPECT_NE(facts.problems[0].find("2 kubelets run here, as processes 77 and 78"), std::string::npos);
  EXPECT_FALSE(facts.gc);
  EXPECT_EQ(LowOf(node.Reader({.config_file = node / "ours"}).Read()), "60");
}

TEST_F(NodeFactsReaderTest, TheDeclaredRootChoosesAmongSeveralKubelets) {
  node.Write("host/a", Low(70));
  node.Write("host/b", Low(60));
  node.Write("host/d", Low(50));
  node.AddProcess("77", {"kubelet", "--config=/a", "--root-dir=/r/a"});
  node.AddProcess("78", {"kubelet", "--config=/b", "--root-dir=/r/b/"});
  node.AddProcess("79", {"kubelet", "--config=/d"});
  struct Case {
    std::string root, low;
  };
  for (const Case& each :
       {Case{"/r/a", "70"}, Case{"/r/a/", "70"}, Case{"/r/b", "60"}, Case{"/r/x/../b", "60"},
        Case{"/var/lib/kubelet", "50"}, Case{"/other", "problem"}}) {
    EXPECT_EQ(LowOf(node.Reader({.root = node / ("host" + each.root)}).Read()), each.low) << each.root;
  }
}

// In any order of their starts, and while it restarts.
TEST_F(NodeFactsReaderTest, TheKubeletOfTheDeclaredRootIsNotMistakenForItsNeighbour) {
  node.Write("host/a", Low(70));
  node.Write("host/b", Low(60));
  NodeFactsReader reader = node.Reader({.root = node / "host/r/b"});
  node.AddProcess("77", {"kubelet", "--config=/a", "--root-dir=/r/a"});
  reader.Read();
  ASSERT_TRUE(reader.command_line());
  EXPECT_EQ(reader.command_line()->config, "/a") << "alone, it is the node's";
  node.AddProcess("78", {"kubelet", "--config=/b", "--root-dir=/r/b"});
  EXPECT_EQ(LowOf(reader.Read()), "60");
  node.RemoveProcess("78");
  for (int i = 0; i < 20; i++) EXPECT_EQ(LowOf(reader.Read()), "60") << "what it ran with last stands";
  node.Write("host/b", Low(55));
  node.AddProcess("80", {"kubelet", "--config=/b", "--root-dir=/r/b"});
  EXPECT_EQ(LowOf(reader.Read()), "55");
}

// An idle agent looks every two seconds.
TEST_F(NodeFactsReaderTest, ProcessesThatAreNoKubeletAreNotReadAtEachLook) {
  for (int pid = 100; pid < 150; pid++) node.AddProcess(std::to_string(pid), {"sh"}, "sh");
  NodeFactsReader reader = node.Reader();
  for (int i = 0; i < 17; i++) reader.HasChanged();
  const std::uint64_t before = ReadCalls();
  for (int i = 0; i < 10; i++) reader.HasChanged();
  EXPECT_LT(ReadCalls() - before, 50U);
}

TEST_F(NodeFactsReaderTest, NoFileCanBlockIt) {
  node.Write("host/c", Low(70));
  fs::create_directories(node / "host/d");
  ASSERT_EQ(::mkfifo((node / "host/d/1.conf").c_str(), 0600), 0);
  NodeFacts facts =
      NodeFactsReader({.config_file = node / "host/c", .config_dir = node / "host/d"}, "", {}).Read();
  ASSERT_EQ(facts.problems.size(), 1U);
  EXPECT_NE(facts.problems[0].find("is not a regular file"), std::string::npos) << facts.problems[0];
}

TEST_F(NodeFactsReaderTest, EveryChangeIsSeenByTheNextRead) {
  node.AddProcess("77", {"kubelet", "--config=/c", "--config-dir=/d"});
  fs::create_directories(node / "host/d");
  NodeFactsReader reader = node.Reader();
  EXPECT_EQ(LowOf(reader.Read()), "problem");
  node.Write("host/c", Low(70));
  EXPECT_EQ(LowOf(reader.Read()), "70");
  EXPECT_EQ(LowOf(reader.Read()), "70");
  node.Write("host/c", Low(71));  // in place, with the same size, within the same tick
  EXPECT_EQ(LowOf(reader.Read()), "71");
  node.Write("host/d/1.conf", Low(60));
  EXPECT_EQ(LowOf(reader.Read()), "60");
  node.Write("host/d/1.conf", Low(61));
  EXPECT_EQ(LowOf(reader.Read()), "61");
  node.Write("host/d/0/x.conf", Low(50));
  EXPECT_EQ(LowOf(reader.Read()), "61");
  fs::rename(node / "host/d/1.conf", node / "host/d/1.old");
  EXPECT_EQ(LowOf(reader.Read()), "50");
  node.Write("new", "kind: Nothing\n");
  fs::rename(node / "new", node / "host/c");
  EXPECT_EQ(LowOf(reader.Read()), "problem");
  fs::remove(node / "host/c");
  EXPECT_EQ(LowOf(reader.Read()), "problem");
  node.Write("host/c", kHead);
  EXPECT_EQ(LowOf(reader.Read()), "50");
}

TEST_F(NodeFactsReaderTest, KubeletThatStartsAnewIsReadAnew) {
  NodeFactsReader reader = ReaderOfTwoFiles(node);
  // Not looked at again while it is the same process.
  node.Write("proc/77/cmdline", std::string("kubelet\0--config=/b\0", 20));
  EXPECT_EQ(LowOf(reader.Read()), "70");
  // The same number, another process.
  node.SetStat("77", "kubelet", 'S', "5000");
  EXPECT_EQ(LowOf(reader.Read()), "60");
  node.AddProcess("90", {"kubelet", "--config=/a"});
  EXPECT_EQ(LowOf(reader.Read()), "60") << "a second one was looked for";
  node.RemoveProcess("77");
  EXPECT_EQ(LowOf(reader.Read()), "70");
}

TEST_F(NodeFactsReaderTest, WhileKubeletIsAwayWhatItLastSaidStands) {
  node.Write("host/c", Low(70));
  node.AddProcess("77", {"kubelet", "--config=/c"});
  NodeFactsReader reader = node.Reader();
  NodeFacts before = reader.Read();
  node.SetStat("77", "kubelet", 'Z', "4242");
  EXPECT_EQ(reader.Read(), before);
  node.RemoveProcess("77");
  for (int i = 0; i < 40; i++) EXPECT_EQ(reader.Read(), before);
  // The files are still read.
  node.Write("host/c", Low(60));
  EXPECT_EQ(LowOf(reader.Read()), "60");
}

// However long there was none: a node may boot for minutes.
TEST_F(NodeFactsReaderTest, WhereNoKubeletRunsNothingChanges) {
  NodeFactsReader reader = node.Reader();
  reader.Read();
  EXPECT_FALSE(reader.HasChanged());
}

TEST(NodeFactsReader, AStartingKubeletIsFoundByTheNextLook) {
  for (int looks : {0, 1, 2, 3, 7, 15, 16, 40, 100}) {
    SCOPED_TRACE(looks);
    Node node;
    node.Write("host/c", Low(70));
    node.AddProcess("1", {"/sbin/init"}, "systemd");
    NodeFactsReader reader = node.Reader();
    for (int i = 0; i < looks; i++) EXPECT_EQ(LowOf(reader.Read()), "unknown");
    node.AddProcess("77", {"kubelet", "--config=/c"});
    EXPECT_EQ(LowOf(reader.Read()), "70");
  }
}

// As a script that waits and then calls exec.
TEST(NodeFactsReader, AProcessThatBecomesKubeletIsFound) {
  struct Case {
    int looks_before, within;
  };
  for (const Case& each : {Case{2, 1}, Case{30, 16}}) {
    SCOPED_TRACE(each.looks_before);
    Node node;
    node.Write("host/c", Low(70));
    node.AddProcess("77", {"sh", "start-kubelet"}, "sh");
    NodeFactsReader reader = node.Reader();
    for (int i = 0; i < each.looks_before; i++) EXPECT_EQ(LowOf(reader.Read()), "unknown");
    node.AddProcess("77", {"kubelet", "--config=/c"});
    int reads = 1;
    while (LowOf(reader.Read()) == "unknown" && reads < 100) reads++;
    EXPECT_LE(reads, each.within);
  }
}

// A shell that is called kubelet, has flags, and waits on its input.
TEST_F(NodeFactsReaderTest, ReadsARealProcess) {
  node.Write("host/c", Low(70));
  fs::copy_file(fs::canonical("/bin/sh"), node / "kubelet");
  std::string program = node / "kubelet", script = "echo up; read line", flag = "--config=/c";
  char dash_c[] = "-c";
  char* arguments[] = {program.data(), dash_c, script.data(), flag.data(), nullptr};
  int input[2], output[2];
  ASSERT_EQ(::pipe2(input, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(output, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  pid_t pid = 0;
  ASSERT_EQ(::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  // posix_spawn may return before the kernel has given the child its new name and arguments.
  char up[3];
  ASSERT_EQ(::read(output[0], up, sizeof up), static_cast<ssize_t>(sizeof up));
  // Only this process: others of such a name may run here.
  fs::create_directories(node / "proc");
  fs::create_directory_symlink("/proc/" + std::to_string(pid), node / ("proc/" + std::to_string(pid)));
  NodeFactsReader reader = node.Reader();
  EXPECT_EQ(LowOf(reader.Read()), "70");
  EXPECT_EQ(LowOf(reader.Read()), "70");
  ::close(input[1]);
  ::close(input[0]);
  ::close(output[0]);
  ::close(output[1]);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(LowOf(reader.Read()), "70");
}

TEST_F(NodeFactsReaderTest, AGlanceTellsWhatAReadingWouldSee) {
  const char* testdata = std::getenv("PREFETCH_TESTDATA");
  ASSERT_NE(testdata, nullptr) << "run by meson test";
  // Files of the source tree have lain still for long; one that was just written is read again in any case.
  const fs::path files = fs::path(testdata) / "kubelet/node";
  auto link = [&](const std::string& name, const std::string& file) {
    fs::create_directories(fs::path(node / name).parent_path());
    fs::remove(node / name);
    fs::create_symlink(files / file, node / name);
  };
  auto runs = [&](const std::vector<std::string>& arguments, const std::string& started) {
    node.AddProcess("77", arguments, "kubelet", started);
  };
  struct Case {
    const char* name;
    std::function<void()> act;
  };
  const std::vector<Case> cases = {
      {"another file", [&] { link("host/c", "config.d/50-cloud/pods.conf"); }},
      {"a drop-in", [&] { link("host/d/1.conf", "config.d/10-images.conf"); }},
      {"one below", [&] { link("host/d/more/2.conf", "config.d/50-cloud/pods.conf"); }},
      {"a drop-in goes", [&] { fs::remove(node / "host/d/1.conf"); }},
      {"the file goes", [&] { fs::remove(node / "host/c"); }},
      {"it comes back", [&] { link("host/c", "config.yaml"); }},
      {"a restart",
       [&] {
         runs({"kubelet", "--config=/c", "--config-dir=/d"}, "9999");
       }},
      {"other flags",
       [&] {
         runs({"kubelet", "--config=/c"}, "99999");
       }},
  };
  link("host/c", "config.yaml");
  fs::create_directories(node / "host/d");
  runs({"kubelet", "--config=/c", "--config-dir=/d"}, "4242");
  NodeFactsReader reader = node.Reader();
  EXPECT_TRUE(reader.HasChanged()) << "nothing was read yet";
  for (const Case& each : cases) {
    reader.Read();
    EXPECT_FALSE(reader.HasChanged()) << each.name;
    each.act();
    EXPECT_TRUE(reader.HasChanged()) << each.name;
    EXPECT_TRUE(reader.HasChanged()) << "until it is read: " << each.name;
  }
}

TEST_F(NodeFactsReaderTest, UnchangedFilesAreNotReadAgain) {
  const char* testdata = std::getenv("PREFETCH_TESTDATA");
  ASSERT_NE(testdata, nullptr) << "run by meson test";
  // Files of the source tree have lain still for long.
  const std::string folder = std::string(testdata) + "/kubelet/node";
  node.AddProcess("77", {"kubelet", "--config=/c"});
  KubeletDeclarations declared{.version = image::KubeletVersion{1, 36},
                               .config_file = folder + "/config.yaml",
                               .config_dir = folder + "/config.d"};
  NodeFactsReader reader = node.Reader(declared);
  NodeFacts facts = reader.Read();
  EXPECT_EQ(base::Join(facts.problems, "\n"), "");
  EXPECT_EQ(facts.gc, (GcRules{.high_percent = 75, .low_percent = 65}));
  EXPECT_EQ(facts.settings.policy, VerificationPolicy::kNeverVerifyAllowlistedImages);
  EXPECT_EQ(Source(facts, "verification"), folder + "/config.d/10-images.conf");
  EXPECT_EQ(Source(facts, "imageGC"), folder + "/config.d/50-cloud/pods.conf");
  std::uint64_t first = ReadCalls();
  std::uint64_t second = ReadCalls();
  EXPECT_EQ(reader.Read(), facts);
  std::uint64_t third = ReadCalls();
  // Only kubelet's stat, up to its end.
  EXPECT_EQ(third - second, second - first + 2);
}

// By it a Node that the new kubelet has written is told from one of the kubelet before.
TEST_F(NodeFactsReaderTest, TellsWhenTheProcessBegan) {
  NodeFactsReader reader = node.Reader();
  reader.Read();
  EXPECT_EQ(reader.process_started_at(), std::nullopt) << "no process";
  const auto second = static_cast<unsigned long>(::sysconf(_SC_CLK_TCK));
  node.AddProcess("77", {"kubelet"}, "kubelet", std::to_string(90 * second + second / 2));
  NodeFactsReader second_reader = node.Reader();
  second_reader.Read();
  EXPECT_EQ(second_reader.process_started_at(), std::nullopt) << "the boot time is not known";
  node.Write("proc/stat", "cpu  1 2 3\nbtime 1700000000\nprocesses 5\n");
  EXPECT_EQ(second_reader.process_started_at(), base::WallTime(std::chrono::milliseconds(1700000090'500)));
  node.Write("proc/stat", "btime soon\n");
  EXPECT_EQ(second_reader.process_started_at(), std::nullopt);
}

// The paths below the folder, in their order.
std::vector<std::string> Names(const std::string& folder) {
  auto found = ListDropIns(folder);
  EXPECT_TRUE(found.ok());
  std::vector<std::string> names;
  if (!found) return names;
  for (const DropIn& drop_in : *found) names.push_back(drop_in.path.substr(folder.size() + 1));
  return names;
}

using List = std::vector<std::string>;

// K48.
TEST(DropIns, AreListedByNameOnEachLevel) {
  tests::TempDir dir;
  for (const char* name : {"d/20.conf", "d/10.conf", "d/15/b.conf", "d/15/a.conf", "d/15.conf", "d/9.conf",
                           "d/Z.conf", "d/a/deep/er/x.conf"}) {
    dir.Write(name, "");
  }
  EXPECT_EQ(Names(dir / "d"), (List{"10.conf", "15/a.conf", "15/b.conf", "15.conf", "20.conf", "9.conf",
                                    "Z.conf", "a/deep/er/x.conf"}));
}

TEST(DropIns, OnlyConfCounts) {
  tests::TempDir dir;
  for (const char* name :
       {"d/a.conf", "d/b.yaml", "d/c.conf.bak", "d/d.CONF", "d/conf", "d/.conf", "d/.e.conf"}) {
    dir.Write(name, "");
  }
  dir.Write("d/f.conf/g.conf", "");  // a directory of that name is a directory
  EXPECT_EQ(Names(dir / "d"), (List{".conf", ".e.conf", "a.conf", "f.conf/g.conf"}));
}

TEST(DropIns, LinksToFilesAreFollowedThoseToDirectoriesAreNot) {
  tests::TempDir dir;
  dir.Write("elsewhere/x.conf", "content");
  dir.Write("d/a.conf", "");
  fs::create_symlink("../elsewhere/x.conf", dir / "d/b.conf");
  fs::create_directory_symlink("../elsewhere", dir / "d/c");
  fs::create_directory_symlink("..", dir / "d/loop");
  fs::create_directory_symlink(".", dir / "d/loop2");
  EXPECT_EQ(Names(dir / "d"), (List{"a.conf", "b.conf"}));
  auto found = ListDropIns(dir / "d");
  EXPECT_EQ(found->back().stamp, base::StampOf(dir / "elsewhere/x.conf"));
  EXPECT_EQ(found->back().stamp.size, 7U);
}

TEST(DropIns, FolderThatIsALinkIsNotWalked) {
  tests::TempDir dir;
  dir.Write("d/a.conf", "");
  fs::create_directory_symlink("d", dir / "link");
  EXPECT_EQ(Names(dir / "link"), List());
  EXPECT_EQ(ListDropIns(dir / "link/")->size(), 1U);  // but with a slash it is, as kubelet does
}

// kubelet's own ConfigMap volumes: the hidden directory is walked, its link is not.
TEST(DropIns, ConfigMapVolumeIsWalkedAsKubeletDoes) {
  tests::TempDir dir;
  dir.Write("d/..2026_01/a.conf", "");
  fs::create_directory_symlink("..2026_01", dir / "d/..data");
  fs::create_symlink("..data/a.conf", dir / "d/a.conf");
  EXPECT_EQ(Names(dir / "d"), (List{"..2026_01/a.conf", "a.conf"}));
}

TEST(DropIns, WhatIsMissingOrTooMuchIsAnError) {
  tests::TempDir dir;
  EXPECT_EQ(ListDropIns(dir / "none").error().code(), base::Code::kNotFound);
  std::string deep = "deep";
  for (int i = 0; i < 17; i++) deep += "/d";
  dir.Write(deep + "/a.conf", "");
  EXPECT_EQ(ListDropIns(dir / "deep").error().code(), base::Code::kResourceExhausted);
  for (int i = 0; i < 1001; i++) dir.Write("many/" + std::to_string(i), "");
  EXPECT_EQ(ListDropIns(dir / "many").error().code(), base::Code::kResourceExhausted);
  for (int i = 0; i < 600; i++) dir.Write("more/" + std::to_string(i % 2) + "/" + std::to_string(i), "");
  EXPECT_TRUE(ListDropIns(dir / "more").ok());
  for (int i = 0; i < 1200; i++) dir.Write("more/" + std::to_string(i % 2) + "/" + std::to_string(i), "");
  EXPECT_EQ(ListDropIns(dir / "more").error().code(), base::Code::kResourceExhausted);
}

TEST(DropIns, StampTellsChanges) {
  tests::TempDir dir;
  EXPECT_EQ(base::StampOf(dir / "a").error, ENOENT);
  dir.Write("a", "1");
  base::FileStamp before = base::StampOf(dir / "a");
  EXPECT_EQ(before.error, 0);
  EXPECT_EQ(before, base::StampOf(dir / "a"));
  dir.Write("b", "1");
  fs::rename(dir / "b", dir / "a");
  EXPECT_NE(before, base::StampOf(dir / "a"));
}

TEST(StartFileOf, IsTheSocketOfK3sAlone) {
  EXPECT_EQ(StartFileOf("/run/k3s/containerd/containerd.sock"), "/run/k3s/containerd/containerd.sock");
  EXPECT_EQ(StartFileOf("/var/run/k3s/containerd/containerd.sock"),
            "/var/run/k3s/containerd/containerd.sock");
  EXPECT_EQ(StartFileOf("/run/containerd/containerd.sock"), "");
  EXPECT_EQ(StartFileOf("/run/k0s/containerd.sock"), "");
}

TEST(StartFile, TellsWhenItIsMadeAnew) {
  tests::TempDir dir;
  StartFile file(dir / "a.sock");
  EXPECT_FALSE(file.Poll());
  EXPECT_EQ(file.seen(), "");
  EXPECT_FALSE(file.CreatedAt());
  const std::string path = dir.Write("a.sock", "");
  EXPECT_TRUE(file.Poll());
  const std::string first = file.seen();
  EXPECT_LE(*file.CreatedAt(), std::chrono::system_clock::now());
  EXPECT_GE(*file.CreatedAt(), std::chrono::system_clock::now() - std::chrono::minutes(1));
  EXPECT_FALSE(file.Poll());
  ::chmod(path.c_str(), 0700);
  EXPECT_FALSE(file.Poll()) << "who has made it changes its mode";
  std::remove(path.c_str());
  EXPECT_FALSE(file.Poll()) << "it is away for a moment";
  EXPECT_EQ(file.seen(), first);
  dir.Write("other", "");
  std::rename((dir / "other").c_str(), path.c_str());
  EXPECT_TRUE(file.Poll());
  EXPECT_NE(file.seen(), first);
}

TEST(StartFile, WithoutAPathThereIsNone) {
  StartFile none("");
  EXPECT_FALSE(none.Poll());
  EXPECT_EQ(none.seen(), "");
}

// Which files are kubelet's configuration: those that are named, or the usual ones.

struct UsualCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;  // below the host's root
  std::string low;
};

TEST_TABLE(UsualFiles, AreTried, UsualCase) {
  Node node;
  for (const auto& [file, text] : row.files) node.Write("host" + file, text);
  EXPECT_EQ(LowOf(node.Reader().Read()), row.low);
}

const std::string kKubeconfig = "apiVersion: v1\nkind: Config\nclusters: []\n";

// K50.
TEST_ROWS(Spec54, UsualFiles,
          {"Kubeadm",
           {{"/var/lib/kubelet/config.yaml", Low(61)}, {"/etc/kubernetes/kubelet.conf", kKubeconfig}},
           "61"},
          {"Gke", {{"/home/kubernetes/kubelet-config.yaml", Low(62)}}, "62"},
          {"Eks", {{"/etc/kubernetes/kubelet/config.json", Low(63)}}, "63"},
          {"EksDropIns",
           {{"/etc/kubernetes/kubelet/config.json", Low(63)},
            {"/etc/kubernetes/kubelet/config.json.d/40.conf", Low(64)}},
           "64"},
          {"EksDropInsAlone", {{"/etc/kubernetes/kubelet/config.json.d/40.conf", Low(64)}}, "unknown"},
          {"Bottlerocket", {{"/etc/kubernetes/kubelet/config", Low(65)}}, "65"},
          {"Aks", {{"/etc/default/kubeletconfig.json", Low(66)}}, "66"},
          {"Talos", {{"/etc/kubernetes/kubelet.yaml", Low(67)}}, "67"},
          {"Microshift", {{"/var/lib/microshift/resources/kubelet/config/config.yaml", Low(67)}}, "67"},
          {"OpenShift",
           {{"/etc/kubernetes/kubelet.conf", Low(68)}, {"/etc/openshift/kubelet.conf.d/1.conf", Low(69)}},
           "69"},
          {"K3s", {{"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf", Low(71)}}, "71"},
          {"Rke2", {{"/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00.conf", Low(72)}}, "72"},
          {"Kubeconfig", {{"/etc/kubernetes/kubelet.conf", kKubeconfig}}, "unknown"},
          {"NoYaml", {{"/etc/kubernetes/kubelet.conf", "[Service]\nx=y\n"}}, "unknown"},
          {"KubeconfigIsPassedOver",
           {{"/etc/kubernetes/kubelet.conf", kKubeconfig},
            {"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf", Low(71)}},
           "71"},
          {"FirstCounts",
           {{"/var/lib/kubelet/config.yaml", Low(61)}, {"/etc/default/kubeletconfig.json", Low(66)}},
           "61"},
          {"WhatIsKubeletsAndWrongIsAProblem",
           {{"/var/lib/kubelet/config.yaml", Low(610)}, {"/etc/default/kubeletconfig.json", Low(66)}},
           "problem"},
          {"EmptyFolderOfK3s", {{"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/x", ""}}, "unknown"});

struct NamedCase {
  std::string name;
  std::string file;     // its text; "-": it is not there
  std::string drop_in;  // its text; "-": the folder is not there; "": the folder is empty
  std::string says;     // in the problems; empty: there is none
};

TEST_TABLE(NamedFiles, MustBeThereAndBeRight, NamedCase) {
  Node node;
  if (row.file != "-") node.Write("host/c", row.file);
  if (row.drop_in != "-") fs::create_directories(node / "host/d");
  if (row.drop_in != "-" && !row.drop_in.empty()) node.Write("host/d/1.conf", row.drop_in);
  node.AddProcess("77", {"kubelet", "--config=/c", "--config-dir=/d"});
  NodeFacts seen = node.Reader().Read();
  NodeFacts declared =
      NodeFactsReader({.config_file = node / "host/c", .config_dir = node / "host/d"}, "", {}).Read();
  for (const NodeFacts& facts : {seen, declared}) {
    std::string problems = base::Join(facts.problems, "\n");
    EXPECT_EQ(problems.empty(), row.says.empty()) << problems;
    EXPECT_NE(problems.find(row.says), std::string::npos) << problems;
    EXPECT_EQ(facts.gc.has_value(), row.says.empty());
  }
}

TEST_ROWS(Problems, NamedFiles, {"Good", Low(70), Low(60), ""}, {"EmptyFolder", Low(70), "", ""},
          {"NoFile", "-", "", "/host/c: No such file"}, {"NoFolder", Low(70), "-", "/host/d: "},
          {"EmptyFile", "", "", "/host/c:1:1: must be a mapping"},
          {"Kubeconfig", kKubeconfig, "", "/host/c:"},
          {"DropInWithoutKind", Low(70), "maxPods: 5\n", "/host/d/1.conf:"},
          {"TooLong", Low(70), std::string(2 << 20, '#'), "/host/d/1.conf is longer than"});

}  // namespace
}  // namespace prefetch::kubelet::node_facts_reader_test
