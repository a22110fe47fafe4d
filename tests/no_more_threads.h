// NoMoreThreads: as long as it lives, no thread can be made, as by a container's limit.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <system_error>
#include <thread>

namespace prefetch::tests {

// The stack of a thread would be larger than all memory.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
    EXPECT_THROW(std::thread([] {}), std::system_error);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

}  // namespace prefetch::tests
