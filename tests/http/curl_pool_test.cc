// Which connections a client keeps between requests.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "http/curl_client.h"
#include "raw_socket.h"

namespace prefetch::http::curl_pool_test {
namespace {

using tests::ScriptedServer;

constexpr int kStreams = 16;

// Answers once that many requests are under way, so that each of them has a connection of its own.
class BusyServer {
 public:
  void AnswerTogether(int requests) {
    std::lock_guard lock(mutex_);
    together_ = requests;
  }
  std::string Url() const { return server_.Url(); }
  int accepted() const { return server_.accepted(); }
  // False: for 20 seconds there were more or fewer.
  bool AwaitOpen(int connections) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_ == connections; });
  }
  bool AwaitAtMost(int connections) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_ <= connections; });
  }

 private:
  void Serve(int fd) {
    while (ScriptedServer::ReadRequest(fd)) {
      {
        std::unique_lock lock(mutex_);
        const int all = (arrived_++ / together_ + 1) * together_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return arrived_ >= all; });
      }
      ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    std::lock_guard lock(mutex_);
    open_--;
    changed_.notify_all();
  }
  void Add(int fd) {
    std::lock_guard lock(mutex_);
    open_++;
    connections_.emplace_back([this, own = base::Fd(::dup(fd))] { Serve(own.get()); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int together_ = 1, arrived_ = 0, open_ = 0;
  std::list<std::jthread> connections_;
  ScriptedServer server_{[this](int fd, int) { Add(fd); }};
};

int AskTogether(CurlClient& client, const std::string& url, int count) {
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; i++) {
      threads.emplace_back(
          [&] { good += client.Send(base::Call{}.Within(std::chrono::seconds(20)), {.url = url}) ? 1 : 0; });
    }
  }
  return good;
}

TEST(CurlPool, EachStreamKeepsItsConnection) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  CurlClient client;
  for (int round = 0; round < 3; round++) EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  EXPECT_EQ(server.accepted(), kStreams);
  EXPECT_TRUE(server.AwaitOpen(kStreams));
}

TEST(CurlPool, WhatNobodyUsesAnyMoreIsClosed) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  CurlClient client({.idle_timeout = std::chrono::milliseconds(0)});
  EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  server.AnswerTogether(1);
  EXPECT_EQ(AskTogether(client, server.Url(), 1), 1);
  EXPECT_TRUE(server.AwaitOpen(1));
}

TEST(CurlPool, AClientThatRestsKeepsFew) {
  // Three end in time, too: they are one more than stay.
  for (const int streams : {kStreams, 3}) {
    BusyServer server;
    server.AnswerTogether(streams);
    CurlClient client({.idle_timeout = std::chrono::milliseconds(100)});
    for (int round = 0; round < 2; round++) {
      EXPECT_EQ(AskTogether(client, server.Url(), streams), streams);
      EXPECT_TRUE(server.AwaitAtMost(2)) << streams;
    }
  }
}

TEST(CurlPool, AClientThatEndsDoesNotWait) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  {
    CurlClient client({.idle_timeout = std::chrono::hours(1)});
    EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  }
  EXPECT_TRUE(server.AwaitOpen(0));
}

TEST(CurlPool, ItHasABound) {
  BusyServer server;
  server.AnswerTogether(2 * kStreams);
  CurlClient client;
  EXPECT_EQ(AskTogether(client, server.Url(), 2 * kStreams), 2 * kStreams);
  EXPECT_TRUE(server.AwaitOpen(24));
}

}  // namespace
}  // namespace prefetch::http::curl_pool_test
