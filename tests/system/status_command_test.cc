// `prefetchctl status --watch` against an agent that says what the test wants.

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "base/fs.h"
#include "base/text.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/expect_ok.h"
#include "system/fake_agent.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::system::status_command_test {
namespace {

using sample::Pulling;
using sample::Ready;
using std::chrono::seconds;

class StatusCommand : public testing::Test {
 protected:
  rig::Command Watch() const {
    return {{rig::Prefetchctl(), "status", "--watch", "--agent", agent_.Url()},
            {{"NO_COLOR", "1"}, {"TERM", "xterm"}}};
  }
  std::string Log() const { return tests::TextSoFar(dir_ / "log"); }

  // The command's output on a terminal of 80 × 12, until it has drawn a few times.
  std::string OnATerminal(const rig::Command& command) {
    int master = -1, slave = -1;
    winsize size{.ws_row = 12, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
    base::Fd screen(master), terminal(slave);
    rig::Process watching;
    EXPECT_OK(watching.Start(command, terminal.get(), terminal.get()));
    EXPECT_TRUE(agent_.IsAskedAgain(3));
    watching.Signal(SIGINT);
    EXPECT_EQ(watching.Wait(seconds(20)), (rig::Exit{130, 0}));
    std::string text(65536, '\0');
    ssize_t n = ::read(screen.get(), text.data(), text.size());
    EXPECT_GT(n, 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return text;
  }

  tests::TempDir dir_;
  FakeAgent agent_;
};

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

// The connection to the agent must not get the number of the closed output, and what is printed.
TEST_F(StatusCommand, AClosedOutputIsNoSuccess) {
  agent_.Says(status::StatusJson(sample::Node({})));
  const std::string line = rig::Prefetchctl() + " status --agent " + agent_.Url() + " >&-";
  const auto ran = tests::Must(rig::RunProgram({{"/bin/sh", "-c", line}, {}}, seconds(20)));
  EXPECT_EQ(ran->exit, (rig::Exit{4, 0}));
  EXPECT_EQ(ran->err, "prefetchctl: standard output cannot be written to: is the disk full?\n");
}

TEST_F(StatusCommand, VersionComparesTheProgramWithTheAgent) {
  const rig::Command command{{rig::Prefetchctl(), "version", "--agent", agent_.Url()}, {}};
  const std::string status = status::StatusJson(sample::Node({}));
  agent_.Says(status);
  auto same = tests::Must(rig::RunProgram(command, seconds(20)));
  EXPECT_EQ(same->exit, (rig::Exit{0, 0})) << same->err;
  EXPECT_EQ(same->out, "prefetchctl " PREFETCH_VERSION "\nagent " PREFETCH_VERSION "\n");
  agent_.Says(base::ReplaceAll(status, R"("agentVersion":")" PREFETCH_VERSION, R"("agentVersion":"0.0.1)"));
  auto other = tests::Must(rig::RunProgram(command, seconds(20)));
  EXPECT_EQ(other->exit, (rig::Exit{1, 0})) << other->err;
  EXPECT_EQ(other->out, "prefetchctl " PREFETCH_VERSION "\nagent 0.0.1\n");
}

TEST_F(StatusCommand, ALogGetsAScreenForEachChangeAndAnAgentThatRestartsComesBack) {
  agent_.Says({Pulling("a/b:1", 10, 100, 1)});
  rig::Process watching;
  ASSERT_OK(watching.Start(Watch(), dir_ / "log"));
  ASSERT_TRUE(agent_.IsAskedAgain(3));
  agent_.HasNoContent();
  ASSERT_TRUE(agent_.IsAskedAgain(3));
  agent_.Says({Ready("a/b:1", 100)});
  ASSERT_TRUE(agent_.IsAskedAgain(3));
  watching.Signal(SIGINT);
  EXPECT_EQ(watching.Wait(seconds(20)), (rig::Exit{130, 0}));
  std::string text = Log();
  EXPECT_EQ(Count(text, "node ci-7"), 2U) << text;
  EXPECT_EQ(Count(text, "503"), 1U) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST_F(StatusCommand, APageIsNotWatched) {
  rig::Command command = Watch();
  command.argv.insert(command.argv.end(), {"-o", "html"});
  auto ran = tests::Must(rig::RunProgram(command, seconds(20)));
  EXPECT_EQ(ran->exit, (rig::Exit{2, 0}));
  EXPECT_NE(ran->err.find("--watch cannot draw a page"), std::string::npos) << ran->err;
}

TEST_F(StatusCommand, ATerminalShowsTheTopOfItAndKeepsWhatItScrolledAway) {
  std::vector<plan::ImageState> images = {
      sample::Failing("quay.io/acme/gone:v2", plan::Reason::kNotFound, "quay.io has no such tag", 1)};
  for (int i = 0; i < 30; i++) images.push_back(sample::Queued("a/b" + std::to_string(i) + ":1"));
  agent_.Says(images);
  std::string text = OnATerminal(Watch());
  EXPECT_EQ(text.find("\x1b[3J"), std::string::npos) << "what a person did before is not ours to erase";
  std::string first = text.substr(0, text.find("\x1b[J"));
  EXPECT_TRUE(first.starts_with("\x1b[2J\x1b[H")) << first;
  EXPECT_EQ(Count(first, "\n"), 11U) << first;
  EXPECT_NE(first.find("node ci-7"), std::string::npos);
  EXPECT_NE(first.find("quay.io/acme/gone:v2"), std::string::npos);
  EXPECT_NE(first.find("more lines (without --watch all are shown)"), std::string::npos);
}

// A terminal whose locale is not UTF-8 gets other characters, column by column.
TEST_F(StatusCommand, ATerminalWithoutUtf8GetsAscii) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < 30; i++) images.push_back(sample::Queued("a/b" + std::to_string(i) + ":1"));
  agent_.Says(images);
  rig::Command command = Watch();
  command.env.emplace_back("LC_ALL", "C");
  const std::string text = OnATerminal(command);
  EXPECT_NE(text.find("~ "), std::string::npos) << text;
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 128;
  })) << text;
  command.env.back().second = "C.UTF-8";
  EXPECT_NE(OnATerminal(command).find("… "), std::string::npos);
}

// A change of colours is no column: each of these lines is one row of the terminal.
TEST_F(StatusCommand, ColoursTakeNoRoom) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < 9; i++)
    images.push_back(Pulling(std::string(60, 'a') + std::to_string(i) + ":1", 1, 100, 1));
  agent_.Says(images);
  rig::Command command = Watch();
  command.env = {{"NO_COLOR", ""}, {"TERM", "xterm"}};
  std::string text = OnATerminal(command);
  std::string first = text.substr(0, text.find("\x1b[J"));
  EXPECT_NE(first.find("\x1b[33m"), std::string::npos) << first;
  EXPECT_EQ(Count(first, "\n"), 11U) << first;
}

}  // namespace
}  // namespace prefetch::system::status_command_test
