// `prefetchctl wait` against an agent that says what the test wants: how it ends, and what it says meanwhile.

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/fs.h"
#include "base/text.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "screen/text_layout.h"
#include "system/fake_agent.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::system::wait_command_test {
namespace {

using rig::ExpectHas;
using sample::Pulling;
using sample::Ready;
using std::chrono::seconds;

constexpr const char* kRunner = "ghcr.io/acme/runner:v3";

plan::ImageState Gone() {
  plan::ImageState image =
      sample::Failing("quay.io/acme/gone:v2", plan::Reason::kNotFound, "quay.io has no such tag", 1);
  image.settled = true;
  return image;
}

class WaitCommand : public testing::Test {
 protected:
  void Says(std::vector<plan::ImageState> images) { agent_.Says(std::move(images)); }
  bool IsAsked(int times) { return agent_.IsAsked(times); }
  rig::Command Command(std::vector<std::string> words) const {
    words.insert(words.begin(), {rig::Prefetchctl(), "wait", "--agent", agent_.Url()});
    return {words, {{"NO_COLOR", "1"}, {"TERM", "xterm"}}};
  }
  std::string Out(int exit, const std::vector<std::string>& words) const {
    const auto ran = tests::Must(rig::RunProgram(Command(words), seconds(30)));
    EXPECT_EQ(ran->exit, (rig::Exit{exit, 0})) << ran->out << ran->err;
    return ran->out + ran->err;
  }
  std::string ListOf(const std::string& entries) const {
    return dir_.Write("images.yaml",
                      "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n" + entries);
  }

  tests::TempDir dir_;
  FakeAgent agent_;
};

TEST_F(WaitCommand, EndsByWhatIsAskedFor) {
  std::string runner = ListOf("- image: " + std::string(kRunner) + "\n");
  Says({Ready(kRunner, 1), Pulling("a/b:1", 10, 100, 1), Gone()});
  ExpectHas(Out(0, {"--list", runner}), {"ready: 1 of 1 ready on node ci-7"});
  ExpectHas(Out(3, {"--timeout", "1s"}),
            {"timed out after 1 s: 1 of 3 ready", "not found    quay.io/acme/gone"});
  ExpectHas(Out(1, {"--fail-fast"}), {"an image keeps failing", "quay.io has no such tag"});
  ExpectHas(Out(3, {"--list", ListOf("- image: ghcr.io/acme/new:v1\n"), "--timeout", "1s"}),
            {"0 of 1 ready", "not on the agent's list (yet)"});
  Says({Ready(kRunner, 1), Gone()});
  ExpectHas(Out(3, {"--timeout", "1s"}), {"timed out after 1 s: 1 of 2 ready", "quay.io has no such tag"});
  Out(2, {"--list", ListOf("- image: A\n")});
  Out(2, {"--list", runner, "--hash", "sha256:" + std::string(64, '1')});
  const std::string empty = dir_.Write("empty.txt", "");
  const std::string one = dir_.Write("one.txt", std::string(kRunner) + "\n");
  ExpectHas(Out(0, {"--list", one, empty, "--timeout", "5s"}), {"ready: 1 of 1 ready on node ci-7"});
  ExpectHas(Out(0, {"--list", empty}), {"warning: empty.txt: lists no images", "ready: "});
  ExpectHas(Out(2, {"--timeout", "0"}), {"prefetchctl: --timeout must be a duration"});
}

// Whether an agent can do what a list asks for is the agent's to say.
TEST_F(WaitCommand, AListForAgentsThatTouchIsWaitedForLikeAnyOther) {
  Says({Ready(kRunner, 1)});
  ExpectHas(Out(0, {"--list", ListOf("- image: " + std::string(kRunner) + "\n  open: Always\n")}),
            {"ready: 1 of 1 ready"});
  ExpectHas(Out(2, {"--list", ListOf("- image: Not/A/Name\n- image: x\n  open: Sometimes\n")}),
            {"images.yaml:4:10", "images.yaml:6:9"});
}

TEST_F(WaitCommand, AnAgentThatWasNeverThereIsNotATimeout) {
  ExpectHas(Out(4, {"--timeout", "1s"}), {"503"});
}

// The last words are about why nothing is known, and not about a time that was too short.
TEST_F(WaitCommand, AnAgentThatIsGoneAtTheEndIsNoTimeout) {
  Says({Pulling(kRunner, 10, 100, 1)});
  rig::Process waiting;
  ASSERT_OK(waiting.Start(Command({"--timeout", "3s"}), dir_ / "log"));
  ASSERT_TRUE(IsAsked(2));
  agent_.GoesAway();
  EXPECT_EQ(waiting.Wait(seconds(20)), (rig::Exit{4, 0}));
}

TEST_F(WaitCommand, ALogGetsALineForAChangeAndNotForBytes) {
  Says({Pulling(kRunner, 10, 100, 1)});
  rig::Process waiting;
  ASSERT_OK(waiting.Start(Command({"--timeout", "60s"}), dir_ / "log"));
  ASSERT_TRUE(IsAsked(4));
  Says({Pulling(kRunner, 60, 100, 1)});
  ASSERT_TRUE(IsAsked(8));
  Says({Ready(kRunner, 100)});
  EXPECT_EQ(waiting.Wait(seconds(20)), (rig::Exit{0, 0}));
  std::string text = tests::TextOf(dir_ / "log");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  ExpectHas(text, {"0 of 1 ready, 1 pulling (10 of 100 B", "\nready: 1 of 1 ready"});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST_F(WaitCommand, ATerminalGetsAViewThatIsDrawnAnew) {
  Says({Pulling(kRunner, 10, 100, 1), Gone()});
  int master = -1, slave = -1;
  winsize size{.ws_row = 24, .ws_col = 70, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
  base::Fd screen(master), terminal(slave);
  rig::Process waiting;
  ASSERT_OK(waiting.Start(Command({"--timeout", "60s"}), terminal.get(), terminal.get()));
  ASSERT_TRUE(IsAsked(3));
  Says({Ready(kRunner, 100), Ready("quay.io/acme/gone:v2", 100)});
  EXPECT_EQ(waiting.Wait(seconds(20)), (rig::Exit{0, 0}));
  // A read of a terminal gives a part; behind the last one comes an error, since nobody writes any more.
  terminal.Close();
  std::string text;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(screen.get(), part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(n));
  }
  ExpectHas(text, {"0 of 2 ready, 1 pulling (10 of 100 B", "\r\n  not found    quay.io/acme/gone:v2",
                   "\r\n  pulling      ghcr.io/acme/runner:v3", "\r\x1b[2A\x1b[J", "ready: 2 of 2 ready"});
  // The drawn lines fit: otherwise going up by their number would not remove all of them.
  std::string drawn = base::ReplaceAll(base::ReplaceAll(text, "\r\x1b[2A\x1b[J", "\n"), "\r", "");
  for (std::string_view line : base::Split(drawn, '\n')) EXPECT_LE(screen::DisplayWidth(line), 70U) << line;
}

}  // namespace
}  // namespace prefetch::system::wait_command_test
