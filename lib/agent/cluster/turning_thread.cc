#include "agent/cluster/turning_thread.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace prefetch::agent {

TurningThread::TurningThread(std::function<base::TimePoint(const base::Call&)> turn)
    : thread_([turn = std::move(turn)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          base::TimePoint next = turn(base::Call{.stop = stop});
          wake.wait_until(lock, stop, next, [] { return false; });
        }
      }) {}

TurningThread::~TurningThread() {
  thread_.request_stop();
  thread_.join();
}

}  // namespace prefetch::agent
